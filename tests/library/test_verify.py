"""Verifying a run: what it is made of, and what somebody changed."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.samples.events import DATA
from tests.samples.records import headline_of
from tui.cli.main import main
from tui.library.build import write_record
from tui.library.verify import Verified, differences, verify_run

# a run of fio on this machine, with its raw output
WHOLE = Path(__file__).parents[1] / "data" / "whole"
RAW = "raw/0.measure.local.out.gz"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = tmp_path_factory.mktemp("made") / "20261122T121716Z-demo-quick-f5fa"
    shutil.copytree(WHOLE, run_dir)
    write_record(run_dir)
    return run_dir


@pytest.fixture
def run_dir(made: Path, tmp_path: Path) -> Path:
    place = tmp_path / "home" / "runs" / made.name
    shutil.copytree(made, place)
    return place


def change_json(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def change_events(run_dir: Path, kind: str, change: Callable[[dict[str, object]], object]) -> None:
    """Change the first event of a kind in the journal, of the measurement."""
    path = run_dir / "journal.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    change(
        next(
            each
            for each in events
            if each["type"] == kind and each.get("phase", "measure") == "measure"
        )
    )
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


def test_an_unchanged_run_is_verified(run_dir: Path) -> None:
    found = verify_run(run_dir)
    (note,) = found.notes
    assert (found.differs, found.exit_code) == ([], 0) and "not sealed" in note
    assert found.files == 4 and found.results >= 3 and found.values > 1000


def test_what_people_say_of_a_run_changes_nothing(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHTUI_HOME", str(run_dir.parents[1]))
    for words in (["star", "last"], ["rename", "last", "x"], ["note", "last", "y"]):
        assert main(["runs", *words]) == 0
    assert main(["runs", "verify", "last"]) == 0
    assert f"{run_dir.name}: verified: 4 checksums" in capsys.readouterr().out


def figure(document: dict[str, object]) -> None:
    document["headline"]["value"] *= 1.01  # type: ignore[index]


def verdict(document: dict[str, object]) -> None:
    document["verdict"], document["findings"] = "valid", []


def fewer_checks(document: dict[str, object]) -> None:
    verdict(document)
    document["checks"] = document["checks"][:3]  # type: ignore[index]


def invented(document: dict[str, object]) -> None:
    document["certified"] = "by nobody"


@pytest.mark.parametrize(
    ("change", "named"),
    [(figure, "headline.value: "), (verdict, "verdict: 'valid' in run.json"),
        (fewer_checks, "verdict: valid in"),
     (invented, "certified: in run.json, but cannot be derived")],
)  # fmt: skip
def test_a_changed_record_is_named_by_the_value(
    run_dir: Path, change: Callable[[dict[str, object]], object], named: str
) -> None:
    change_json(run_dir / "run.json", change)
    found = verify_run(run_dir)
    assert found.exit_code == 1
    assert any(text.startswith(named) for text in found.differs), found.differs


OLDER = "0.0.1"


def older(run_dir: Path, text: Callable[[str], str]) -> None:
    """Make this a run of an older version, whose headline had another text."""

    def change(document: dict[str, Any]) -> None:
        document["provenance"]["benchtui_version"] = OLDER
        document["headline"]["text"] = text(headline_of(document))

    change_json(run_dir / "run.json", change)
    change_events(run_dir, "run_started", lambda event: event.update(benchtui_version=OLDER))


def test_an_older_version_may_have_worded_the_same_numbers_differently(run_dir: Path) -> None:
    older(run_dir, lambda text: f"in those days {text}")
    assert verify_run(run_dir).differs == []


def test_numbers_in_the_texts_of_an_older_version_still_have_to_match(run_dir: Path) -> None:
    older(run_dir, lambda text: f"{text} of 9999")
    assert any(text.startswith("headline.text: ") for text in verify_run(run_dir).differs)


def test_texts_of_this_version_have_to_match(run_dir: Path) -> None:
    change_json(
        run_dir / "run.json",
        lambda document: document["headline"].update(text="fast"),  # type: ignore[attr-defined]
    )
    assert any(text.startswith("headline.text: ") for text in verify_run(run_dir).differs)


def test_keys_of_older_records_are_compared_under_their_present_names() -> None:
    older = {"knee": {"remark": "in other words"}, "steps": [{"limiter": {"kind": "rate"}}]}
    now = {"knee": {"caveat": "in words"}, "steps": [{"bottleneck": {"kind": "network"}}]}
    reworded: list[str] = []
    (found,) = differences(older, now, reworded=reworded)
    assert found.startswith("steps[0].bottleneck.kind: ") and reworded == ["knee.caveat"]


def test_a_note_that_only_reads_differently_is_a_difference() -> None:
    assert list(differences({"notes": ["a"]}, {"notes": ["b"]}, reworded=[])) != []


def test_a_text_that_has_figures_now_may_be_kept_in_its_former_wording_only() -> None:
    def answer(hold: str) -> dict[str, object]:
        return {"search": {"answer": {"hold": hold}}}

    now = answer("not confirmed: no hold; the longest point took 0:04")
    assert list(differences(answer("not requested"), now)) == []
    assert list(differences(answer("held for 5:00 at 47k IOPS"), now)) != []


@pytest.mark.parametrize("other", [3, 0.5, "x", None, True, -(10**400)])
def test_a_whole_number_that_no_float_holds_differs_from_any_other(other: object) -> None:
    huge = 10**400
    assert len(list(differences({"idx": [huge]}, {"idx": [other]}))) == 1
    assert len(list(differences({"idx": [other]}, {"idx": [huge]}))) == 1
    assert list(differences({"idx": [huge]}, {"idx": [huge]})) == []


def more_ios(event: dict[str, object]) -> None:
    next(iter(event["dirs"].values()))["ios"] += 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("host_result", "local: dirs of the result differs from the raw output"),
        ("sample", "is not in the raw"),
    ],
)
def test_a_journal_that_was_changed_along_with_its_record_does_not_fit_the_raw_output(
    run_dir: Path, kind: str, said: str
) -> None:
    change_events(run_dir, kind, more_ios)
    write_record(run_dir)
    assert any(said in text for text in verify_run(run_dir).differs)


def test_changed_raw_output_is_named_by_its_sum(run_dir: Path) -> None:
    data = bytearray((run_dir / RAW).read_bytes())
    data[len(data) // 2] ^= 1
    (run_dir / RAW).write_bytes(data)
    assert f"{RAW}: SHA-256 does not match" in verify_run(run_dir).differs


def test_raw_output_with_another_sum_in_journal_and_record_is_still_told_by_its_figures(
    run_dir: Path,
) -> None:
    text = gzip.decompress((run_dir / RAW).read_bytes())
    shorter = text[: text.rindex(b'\n{\n  "fio version"')]
    (run_dir / RAW).write_bytes(gzip.compress(shorter))
    assert any(
        "of the result differs from the raw output" in text for text in verify_run(run_dir).differs
    )


def test_a_missing_file_is_named(run_dir: Path) -> None:
    (run_dir / RAW).unlink()
    found = verify_run(run_dir)
    assert f"{RAW}: is missing" in found.differs
    assert f"{RAW}: is missing, but the journal has its figures" in found.differs


def test_a_record_that_names_files_elsewhere_is_refused(run_dir: Path) -> None:
    def elsewhere(document: dict[str, object]) -> None:
        document["provenance"]["artefacts"][0]["path"] = "../../../etc/passwd"  # type: ignore[index]

    change_json(run_dir / "run.json", elsewhere)
    assert "../../../etc/passwd: is not a path inside a run" in verify_run(run_dir).differs


def test_a_record_without_a_journal_cannot_be_derived_again(run_dir: Path) -> None:
    (run_dir / "journal.jsonl").unlink()
    found = verify_run(run_dir)
    assert (found.exit_code, found.underived) == (3, "it has no journal")


def test_the_verb_says_which_run_differs(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHTUI_HOME", str(run_dir.parents[1]))
    (run_dir / RAW).unlink()
    assert main(["runs", "verify", "last", "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["outcome"], told["differs"][0]) == ("differs", f"{RAW}: is missing")
    (run_dir / "run.json").write_text("{")
    assert main(["runs", "verify", "last"]) == 1
    assert f"{run_dir.name}: DIFFERS" in capsys.readouterr().out


@pytest.mark.parametrize("case", ["mix", "lost", "ramp"])
def test_journals_without_their_raw_output_are_named(tmp_path: Path, case: str) -> None:
    shutil.copytree(DATA / case, tmp_path / "run")
    write_record(tmp_path / "run")
    found: Verified = verify_run(tmp_path / "run")
    assert found.exit_code == 1
    assert all(".gz: is missing" in text for text in found.differs), found.differs


ANOTHER = "20261123T080000Z-demo-quick-0b0b"


@pytest.mark.parametrize("file", ["directory", "run.json", "journal.jsonl"])
def test_the_content_of_another_run_under_this_id_does_not_verify(run_dir: Path, file: str) -> None:
    if file == "directory":
        run_dir = run_dir.rename(run_dir.with_name(ANOTHER))
    elif file == "run.json":
        change_json(run_dir / file, lambda record: record.update(run_id=ANOTHER))
    else:
        change_events(run_dir, "run_started", lambda event: event.update(run_id=ANOTHER))
    found = verify_run(run_dir)
    assert found.exit_code == 1 and any(ANOTHER in text for text in found.differs)


def test_a_directory_that_a_person_named_verifies(run_dir: Path) -> None:
    assert verify_run(run_dir.rename(run_dir.with_name("from-the-vendor"))).exit_code == 0


@pytest.mark.parametrize("option", ["bs", "ioengine", "rw", "size"])
def test_a_plan_that_contradicts_what_fio_printed_does_not_verify(
    run_dir: Path, option: str
) -> None:
    def other(plan: dict[str, Any]) -> None:
        for task in plan["steps"][0]["tasks"]:
            lines = task["job_file"].splitlines()
            task["job_file"] = "\n".join(
                f"{line}0" if line.startswith(f"{option}=") else line for line in lines
            )

    change_json(run_dir / "plan.json", other)
    write_record(run_dir)
    assert any(f"{option}=" in text and "planned" in text for text in verify_run(run_dir).differs)
