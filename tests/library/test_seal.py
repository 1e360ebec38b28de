"""The seal of a run: what was changed after its end is named, by whomever, unless they have the
key.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import stat
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.library.test_verify import RAW, WHOLE, change_json
from tui.analysis.setup_differences import differences
from tui.cli.main import main
from tui.library import seal as seals
from tui.library.additions import keep_note
from tui.library.build import write_record
from tui.library.load import load_record
from tui.library.runs import INDEX_FILE, Index, list_directory, stamp_of
from tui.library.seal import check_seal, seal
from tui.library.summary import summarize
from tui.library.verify import unpack, verify_run
from tui.model.rundir import own_begun_utc
from tui.text.comparison_texts import NOT_AS_SEALED


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return tmp_path / "home" / "seal_key"


@pytest.fixture
def run_dir(tmp_path: Path, key: Path) -> Path:
    """A run that was sealed at its end."""
    place = tmp_path / "home" / "runs" / "20261122T121716Z-demo-quick-f5fa"
    shutil.copytree(WHOLE, place)
    write_record(place)
    seal(place, key)
    return place


def test_an_unchanged_run_is_as_it_was_sealed(run_dir: Path, key: Path) -> None:
    who, differs = check_seal(run_dir, key)
    assert differs == [] and who.startswith("SHA256:") and who.endswith(" of this machine")


def test_the_key_is_for_its_owner_alone_and_made_once(run_dir: Path, key: Path) -> None:
    first = key.read_bytes()
    seal(run_dir, key)
    assert key.read_bytes() == first and stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_seal_of_another_machine_is_reported_as_such(run_dir: Path, tmp_path: Path) -> None:
    seal(run_dir, tmp_path / "other" / "seal_key")
    who, differs = check_seal(run_dir, tmp_path / "home" / "seal_key")
    assert differs == [] and who.endswith("not one of this machine")


def test_a_note_leaves_the_seal_whole(run_dir: Path, key: Path) -> None:
    keep_note(run_dir, "measured after the firmware update")
    assert check_seal(run_dir, key)[1] == []
    assert verify_run(run_dir, key).exit_code == 0


def changed_raw(run_dir: Path) -> None:
    text = gzip.decompress((run_dir / RAW).read_bytes())
    (run_dir / RAW).write_bytes(gzip.compress(text.replace(b'"iops" : 1', b'"iops" : 2')))


def changed_journal(run_dir: Path) -> None:
    path = run_dir / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"ios":1', b'"ios":2', 1))


def shorter_journal(run_dir: Path) -> None:
    path = run_dir / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-10])


def changed_plan(run_dir: Path) -> None:
    plan = json.loads((run_dir / "plan.json").read_text())
    plan["note"] = "another"
    (run_dir / "plan.json").write_text(json.dumps(plan))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (changed_raw, RAW),
        (changed_journal, "journal.jsonl"),
        (shorter_journal, "journal.jsonl"),
        (changed_plan, "plan.json"),
        (lambda run_dir: (run_dir / RAW).unlink(), RAW),
        (lambda run_dir: (run_dir / "raw" / "more.gz").write_bytes(b""), "raw/more.gz"),
    ],
    ids=["raw", "journal", "shorter-journal", "plan", "missing", "added"],
)
def test_what_was_changed_is_named_though_the_record_was_made_to_fit(
    run_dir: Path, key: Path, change: Callable[[Path], object], name: str
) -> None:
    change(run_dir)
    assert check_seal(run_dir, key)[1] == [f"{name}: changed since it was sealed"]
    assert verify_run(run_dir, key).exit_code == 1


@pytest.mark.parametrize("field", ["journal_sha256", "run_id", "journal_bytes", "key"])
def test_a_seal_that_was_changed_is_none(run_dir: Path, field: str, tmp_path: Path) -> None:
    path = run_dir / "seal.json"
    found = json.loads(path.read_text())
    other = tmp_path / "other" / "seal_key"
    seal(run_dir, other)
    changes = {
        "journal_sha256": "0" * 64,
        "run_id": "x",
        "journal_bytes": 1,
        "key": json.loads(path.read_text())["key"],
    }
    path.write_text(json.dumps(found | {field: changes[field]}))
    assert check_seal(run_dir) == ("", ["seal.json: signature does not match"])


def test_the_verb_says_who_sealed_it(
    run_dir: Path, key: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHTUI_HOME", str(key.parent))
    assert main(["runs", "verify", run_dir.name]) == 0
    assert f"by {check_seal(run_dir, key)[0]}" in capsys.readouterr().out


def test_a_verdict_that_was_changed_is_never_shown_as_if_it_were_the_runs_own(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not load_record(run_dir).not_as_sealed
    path = run_dir / "run.json"
    record = json.loads(path.read_text())
    assert record["findings"]
    path.write_text(json.dumps(record | {"findings": []}))
    changed = load_record(run_dir)
    assert changed.not_as_sealed
    assert main(["runs", "show", str(run_dir)]) == 0
    assert NOT_AS_SEALED in " ".join(capsys.readouterr().out.split())
    write_record(run_dir)
    assert not load_record(run_dir).not_as_sealed, "derived again it is the one that was sealed"


FIGURES = ("ios", "bytes", "iops", "bw_bytes_per_s", "mean_ns", "max_ns", "percentiles_ns")


def scaled(value: Any, names: tuple[str, ...]) -> Any:
    """Return a value with the figures of these names 1.3 times as large."""
    if isinstance(value, dict):
        return {
            name: raised(each) if name in names else scaled(each, names)
            for name, each in value.items()
        }
    return [scaled(each, names) for each in value] if isinstance(value, list) else value


def raised(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: raised(each) for name, each in value.items()}
    return type(value)(value * 1.3) if isinstance(value, int | float) else value


def change_headline(record: dict[str, Any]) -> None:
    record["headline"]["value"] *= 1.3


def word_headline(record: dict[str, Any]) -> None:
    record["headline"]["text"] = "read 300k IOPS"


def change_figure(name: str) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        before = json.dumps(record["steps"])
        record["steps"] = scaled(record["steps"], (name,))
        assert json.dumps(record["steps"]) != before

    return change


def add_operation(record: dict[str, Any]) -> None:
    record["steps"][0]["metadata"] = {
        "tool": "mdtest",
        "iterations": 1,
        "operations": {"create": {"mean": 1e6, "max": 1e6}},
    }


def forget_the_verdict(record: dict[str, Any]) -> None:
    record["verdict"] = record["checks"] = None


@pytest.mark.parametrize(
    "change",
    [change_headline, word_headline, *map(change_figure, FIGURES), add_operation,
        forget_the_verdict],
    ids=["headline", "headline-text", *FIGURES, "operation", "no-verdict"],
)  # fmt: skip
def test_figures_that_were_changed_are_never_shown_as_if_they_were_measured(
    run_dir: Path,
    key: Path,
    change: Callable[[dict[str, Any]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    change_json(run_dir / "run.json", change)
    assert main(["runs", "show", str(run_dir)]) == 0
    assert NOT_AS_SEALED in " ".join(capsys.readouterr().out.split())
    (listed,) = list_directory(run_dir.parent, [run_dir.name], run_dir.parent / "index")
    assert listed.judged.startswith("NOT SEALED:")
    assert any("differ from the sealed ones" in text for text in verify_run(run_dir, key).differs)
    write_record(run_dir)
    assert not load_record(run_dir).not_as_sealed


def add_percentile(record: dict[str, Any]) -> None:
    for dirs in record["steps"][0]["results"]["per_host"].values():
        for each in dirs.values():
            each["clat"]["percentiles_ns"]["99.999"] = 1
            each["clat"]["of_a_later_version"] = 1
            each["of_a_later_version"] = {"iops": 1}


def test_what_a_later_version_adds_to_the_figures_leaves_them_as_sealed(run_dir: Path) -> None:
    change_json(run_dir / "run.json", add_percentile)
    assert not load_record(run_dir).not_as_sealed


def test_figures_are_not_compared_with_a_seal_of_a_version_that_did_not_cover_them(
    run_dir: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        of = seals._sums_of_record
        older.setattr(seals, "_sums_of_record", lambda text: (of(text)[0], ""))
        seal(run_dir, key)
    # as such a version wrote and signed it
    change_json(run_dir / "seal.json", lambda found: found.pop("figures"))
    assert check_seal(run_dir, key)[1] == []
    change_json(run_dir / "run.json", change_headline)
    assert not load_record(run_dir).not_as_sealed


def test_a_note_leaves_the_figures_as_sealed(run_dir: Path) -> None:
    keep_note(run_dir, "measured after the firmware update")
    assert not load_record(run_dir).not_as_sealed


def test_figures_that_this_version_derives_from_the_sealed_journal_are_no_difference(
    run_dir: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        of = seals._sums_of_record
        older.setattr(seals, "_sums_of_record", lambda text: (of(text)[0], "rounded"))
        seal(run_dir, key)
    found = verify_run(run_dir, key)
    assert load_record(run_dir).not_as_sealed and found.exit_code == 0
    assert any("figures differ from the sealed ones" in text for text in found.notes)


def test_an_unpacked_run_is_as_sealed(run_dir: Path, tmp_path: Path) -> None:
    packed = tmp_path / "run.benchtui"
    assert main(["runs", "pack", str(run_dir), "--output", str(packed)]) == 0
    unpacked, _ = unpack(packed, tmp_path / "other")
    assert not load_record(unpacked).not_as_sealed
    change_json(unpacked / "run.json", change_headline)
    assert load_record(unpacked).not_as_sealed


def test_lists_and_comparisons_mark_a_verdict_that_was_changed(run_dir: Path) -> None:
    def marks() -> tuple[bool, bool]:
        (listed,), record = (
            list_directory(run_dir.parent, [run_dir.name], run_dir.parent / "index"),
            load_record(run_dir),
        )
        told = [each.text for each in differences([record], [record]) if NOT_AS_SEALED in each.text]
        assert listed.judged.startswith("NOT SEALED:") == listed.not_as_sealed
        return listed.not_as_sealed, bool(told)

    assert marks() == (False, False)
    path = run_dir / "run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"verdict": "valid", "findings": []}))
    assert marks() == (True, True)
    assert marks() == (True, True), "also from the kept summary"
    write_record(run_dir)
    assert marks() == (False, False)


def test_a_finished_run_whose_seal_was_removed_is_marked(run_dir: Path) -> None:
    (run_dir / "seal.json").unlink()
    assert not load_record(run_dir).not_as_sealed, "not a run of an engine of this machine"
    (run_dir / "engine.log").touch()
    assert load_record(run_dir).not_as_sealed


def rename_finding(record: dict[str, Any]) -> None:
    name = record["findings"][0]["id"]
    record["findings"][0]["id"] = "of-no-check"
    record["checks"] = ["of-no-check" if each == name else each for each in record["checks"]]


def raise_severity(record: dict[str, Any]) -> None:
    record["findings"][0]["severity"] = "error"
    record["checks"].append("of-no-check")


@pytest.mark.parametrize("change", [rename_finding, raise_severity])
def test_findings_are_compared_with_the_seal_though_other_checks_are_named(
    run_dir: Path, key: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    change_json(run_dir / "run.json", change)
    found = verify_run(run_dir, key)
    assert any("sealed" in text for text in found.differs) and found.exit_code == 1


def test_a_verdict_that_this_version_derives_from_the_sealed_journal_is_no_difference(
    run_dir: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        of = seals._sums_of_record
        older.setattr(seals, "_sums_of_record", lambda text: ("judged", of(text)[1]))
        seal(run_dir, key)
    found = verify_run(run_dir, key)
    assert load_record(run_dir).not_as_sealed and found.exit_code == 0
    assert any("sealed" in text for text in found.notes)


def test_a_run_without_a_seal_is_named_as_such(run_dir: Path, key: Path) -> None:
    assert not any("not sealed" in text for text in verify_run(run_dir, key).notes)
    (run_dir / "seal.json").unlink()
    assert any("not sealed" in text for text in verify_run(run_dir, key).notes)


def begin(run_dir: Path, later_s: float) -> None:
    """Move the time in the run's ID, everywhere, so that the run begins so much later."""
    (old,) = {run_dir.name, load_record(run_dir).run_id}
    begun = datetime.fromisoformat(str(load_record(run_dir).created_utc))
    new = f"{begun - timedelta(seconds=later_s):%Y%m%dT%H%M%SZ}{old[16:]}"
    for path in (run_dir / name for name in ("run.json", "journal.jsonl", "plan.json")):
        path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))
    (run_dir / "seal.json").unlink()
    run_dir.rename(run_dir.with_name(new))


@pytest.mark.parametrize(("later_s", "told"), [(-17, True), (0, False), (60, False), (3600, True)])
def test_a_run_under_the_id_of_another_began_at_another_time(
    run_dir: Path, later_s: float, told: bool
) -> None:
    begin(run_dir, later_s)
    (forged,) = run_dir.parent.glob("2026*")
    found = verify_run(forged)
    assert any(text.startswith("created_utc: ") for text in found.differs) is told
    assert found.exit_code == told


def test_the_time_of_a_sealed_run_may_differ_from_its_id_by_a_step_of_the_clock(
    run_dir: Path, key: Path
) -> None:
    begin(run_dir, -3600)
    (stepped,) = run_dir.parent.glob("2026*")
    seal(stepped, key)
    assert verify_run(stepped, key).exit_code == 0


def test_a_name_that_a_person_gave_has_no_time(run_dir: Path) -> None:
    assert own_begun_utc("20260101T000000Z-before the update") is None
    begin(run_dir, 0)
    (named,) = run_dir.parent.glob("2026*")
    change_json(named / "run.json", lambda record: record.update(run_id="baseline"))
    assert not any(text.startswith("created_utc") for text in verify_run(named).differs)


def forged_summary(run_dir: Path, *, digest: bool) -> None:
    summarize(run_dir)  # the seal is newer than the first one
    path = run_dir / "summary.json"
    text = path.read_bytes()
    kept = json.loads(text)
    kept["summary"] |= {"headline": "read 300k IOPS", "verdict": "valid"}
    if digest:
        encoded = json.dumps(kept["summary"], separators=(",", ":")).encode()
        kept["digest"] = hashlib.blake2b(encoded, digest_size=16).hexdigest()
    path.write_text(json.dumps(kept, separators=(",", ":")))
    assert path.read_bytes() != text


def test_an_edited_summary_is_made_again_from_the_record(run_dir: Path) -> None:
    before = summarize(run_dir)
    forged_summary(run_dir, digest=False)
    assert summarize(run_dir) == before


def test_a_summary_that_contradicts_its_record_is_named(run_dir: Path, key: Path) -> None:
    assert verify_run(run_dir, key).exit_code == 0
    forged_summary(run_dir, digest=True)
    (listed,) = list_directory(run_dir.parent, [run_dir.name], run_dir.parent / INDEX_FILE)
    assert listed.headline == "read 300k IOPS", "or this test tests nothing"
    (told,) = verify_run(run_dir, key).differs
    assert told.startswith("summary.json: ") and "headline" in told


def test_an_index_that_contradicts_the_record_is_named(run_dir: Path, key: Path) -> None:
    file, forged = run_dir.parent / INDEX_FILE, summarize(run_dir)
    stamp = stamp_of(str(run_dir))
    assert forged is not None and stamp is not None
    forged.headline = "read 300k IOPS"
    index = Index(file)
    index.keep(run_dir.name, stamp, forged)
    index.write()
    (told,) = verify_run(run_dir, key).differs
    assert told == f"{INDEX_FILE}: differs from run.json in headline; remove this cache"


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_seal_that_cannot_be_read_vouches_for_no_verdict(run_dir: Path, text: str) -> None:
    (run_dir / "seal.json").write_text(text)
    assert load_record(run_dir).not_as_sealed
