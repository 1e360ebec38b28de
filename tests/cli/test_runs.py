from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tests.samples.events import DATA
from tests.samples.records import with_texts_of
from tui.cli.main import main
from tui.engine.control import ControlServer, Request
from tui.journal.rundir import process_identity
from tui.judge.wording import with_message
from tui.library.build import write_record
from tui.library.load import load_record
from tui.model.record import run_json_schema

OLD, NEW = "20261119T080000Z-test-mix-0001", "20261120T080000Z-test-lost-0002"


@pytest.fixture
def runs(home: Path) -> Path:
    """A store with two finished runs."""
    for run_id, case in ((OLD, "mix"), (NEW, "lost")):
        shutil.copytree(DATA / case, home / "runs" / run_id)
        write_record(home / "runs" / run_id)
    return home / "runs"


@pytest.fixture
def engine(runs: Path) -> Iterator[Path]:
    """The newer run, with this very process as its engine."""
    identity = process_identity(str(os.getpid()))
    assert identity is not None
    (runs / NEW / "engine.pid").write_text(f"{os.getpid()} {identity[0]} {identity[1]}\n")
    yield runs / NEW
    (runs / NEW / "engine.pid").unlink(missing_ok=True)


def test_the_last_run_with_figures_is_shown_with_the_name_of_a_newer_one_without(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "show", "last"]) == 0
    assert not capsys.readouterr().err
    record = json.loads((runs / NEW / "run.json").read_text())
    (runs / NEW / "run.json").write_text(json.dumps(record | {"state": "failed", "steps": []}))
    assert main(["runs", "show", "last"]) == 0
    shown = capsys.readouterr()
    assert OLD in shown.out and NEW in shown.err
    assert main(["runs", "show", "last~1"]) == 2, "named on purpose"
    assert NEW not in capsys.readouterr().err


def test_list_is_a_table_newest_first(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list"]) == 0
    header, newest, oldest = capsys.readouterr().out.splitlines()
    assert header.split() == ["run", "state", "hosts", "time", "verdict", "headline"]
    assert newest.split()[:4] == [NEW, "partial", "2", "0:07"]
    assert oldest.split()[:2] == [OLD, "complete"]
    assert "mixed 16.0k IOPS  (a recorded run)" in oldest
    assert newest.split()[5:] != [] and "host-loss" in newest, "errors come first"
    assert "  ! runtime  " in oldest, "notes do not count"


def test_list_as_json_is_one_document(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list", "--json", "--limit", "1"]) == 0
    (only,) = json.loads(capsys.readouterr().out)
    assert (only["run_id"], only["state"], only["hosts"]) == (NEW, "partial", ["h1", "h2"])


def test_a_list_as_json_says_what_was_checked_and_found(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for cached in (False, True):  # from run.json, then from summary.json
        for run_id in (OLD, NEW) if not cached else ():
            (runs / run_id / "summary.json").unlink()
        assert main(["runs", "list", "--json"]) == 0
        for shown in json.loads(capsys.readouterr().out):
            record = json.loads((runs / shown["run_id"] / "run.json").read_text())
            assert (shown["verdict"], shown["checks"]) == (record["verdict"], record["checks"])
            kept = load_record(runs / shown["run_id"]).findings
            listed = [{**found} for found in shown["findings"]]
            assert not any(found.pop("points") for found in listed), "each run has one step"
            assert listed == [
                {key: with_message(found)[key] for key in listed[0]} for found in kept
            ]
            assert all(found["message"] for found in shown["findings"])


def test_a_list_of_nothing_says_so_on_stderr_and_is_valid_json(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "list"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"no runs in {home / 'runs'}\n"
    assert main(["runs", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_list_of_nothing_names_the_shared_directories_too(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "team").mkdir()
    assert main(["config", "set", "shared", str(tmp_path / "team")]) == 0
    capsys.readouterr()
    assert main(["runs", "list"]) == 0
    assert str(tmp_path / "team") in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["0", "-3", "many"])
def test_a_limit_must_be_a_number_from_1(
    runs: Path, limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["runs", "list", f"--limit={limit}"])
    assert ended.value.code == 2
    assert f"expected a whole number of 1 or more, got '{limit}'" in capsys.readouterr().err


def test_listing_loads_no_heavy_library(runs: Path) -> None:
    code = (
        "import sys; from tui.cli.main import main; main(['runs', 'list'])\n"
        "heavy = {'pydantic', 'textual', 'rich', 'asyncssh', 'ruamel'}\n"
        "print(*heavy & {name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_show_prints_the_summary(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "show", "last"]) == 0
    out = capsys.readouterr().out
    assert "state: partial: h2 was lost" in out
    assert out.endswith(f"record: {runs / NEW / 'run.json'}\n")


def test_show_has_the_title_the_star_and_the_tags_that_a_run_has_by_now(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ["rename", OLD, "before tuning"],
        ["star", OLD],
        ["tag", OLD, "lab=b", "nightly"],
    ):
        assert main(["runs", *words]) == 0
    capsys.readouterr()
    assert main(["runs", "show", OLD]) == 0
    out = capsys.readouterr().out
    assert out.startswith("* before tuning\n") and "\ntags: lab=b nightly\n" in out


def test_show_as_json_is_the_record_as_it_is_on_disk_with_its_texts(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "show", OLD[:10], "--json"]) == 0
    shown, kept = (
        json.loads(text)
        for text in (capsys.readouterr().out, (runs / OLD / "run.json").read_text())
    )
    assert all(each["message"] for each in shown["findings"])
    assert with_texts_of(shown, kept)


def test_show_can_plot_without_colour_into_a_pipe(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "show", OLD, "--plot", "--metric", "latency"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^mean latency +• read  \+ write$", out, re.MULTILINE)
    assert "\x1b" not in out


def test_show_of_an_interrupted_run_shows_what_the_journal_holds(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = runs / NEW / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-40])
    (runs / NEW / "run.json").unlink()
    assert main(["runs", "show", NEW]) == 0
    assert "state: partial: the journal was not closed" in capsys.readouterr().out
    assert main(["runs", "show", NEW, "--json"]) == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), run_json_schema())


def test_show_of_a_live_run_shows_figures_so_far(
    engine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "show", NEW]) == 0
    out = capsys.readouterr().out
    assert "state: running; figures so far" in out
    assert "all 2 hosts" in out


@pytest.mark.parametrize(
    "verb", [["show", "nope"], ["note", "nope", "text"], ["rm", "nope", "--yes"]]
)
def test_an_unknown_run_is_a_usage_error(
    runs: Path, verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", *verb]) == 2
    assert capsys.readouterr().err == "benchtui: no run 'nope'; see benchtui runs list\n"


def test_a_damaged_record_is_one_line_with_its_place(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / OLD / "run.json").write_text("[1]")
    assert main(["runs", "show", OLD]) == 1
    assert capsys.readouterr().err.startswith(
        f"benchtui: {runs / OLD / 'run.json'}: not a run record: "
    )


def test_a_note_goes_into_journal_record_and_list(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (runs / OLD / "journal.jsonl").read_bytes()
    assert main(["runs", "note", OLD, "cache was cold"]) == 0
    after = (runs / OLD / "journal.jsonl").read_bytes()
    assert after.startswith(before)
    assert json.loads(after[len(before) :])["text"] == "cache was cold"
    notes = json.loads((runs / OLD / "run.json").read_text())["notes"]
    assert [note["text"] for note in notes] == ["a recorded run", "cache was cold"]
    main(["runs", "list"])
    assert "(cache was cold)" in capsys.readouterr().out


def test_a_note_leaves_figures_and_duration_as_they_were(runs: Path) -> None:
    before = json.loads((runs / OLD / "run.json").read_text())
    main(["runs", "note", OLD, "cache was cold"])
    after = json.loads((runs / OLD / "run.json").read_text())
    for document in (before, after):
        document.pop("notes")
        document["provenance"].pop("journal")
    assert after == before


def test_a_note_to_an_interrupted_run_survives_its_unfinished_line(runs: Path) -> None:
    journal = runs / NEW / "journal.jsonl"
    cut = journal.read_bytes()[:-40]
    journal.write_bytes(cut)
    (runs / NEW / "run.json").unlink()  # an engine that was cut off wrote none
    assert main(["runs", "note", NEW, "power failed"]) == 0
    lines = journal.read_bytes().splitlines()
    assert lines[:-1] == cut.splitlines()[:-1]
    assert json.loads(lines[-1])["text"] == "power failed"


def test_a_note_to_a_damaged_journal_is_taken_and_the_damage_stays_as_it_is(runs: Path) -> None:
    journal = runs / OLD / "journal.jsonl"
    journal.write_bytes(b"garbage\n" + journal.read_bytes())
    before = journal.read_bytes()
    assert main(["runs", "note", OLD, "text"]) == 0
    assert journal.read_bytes().startswith(before)
    assert json.loads((runs / OLD / "run.json").read_text())["notes"][-1]["text"] == "text"


def test_a_note_to_a_journal_that_does_not_say_when_it_began_is_refused(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / OLD / "journal.jsonl").write_bytes(b"garbage\n")
    (runs / OLD / "run.json").unlink()
    assert main(["runs", "note", OLD, "text"]) == 1
    assert "does not contain the run's start time" in capsys.readouterr().err


def test_an_empty_note_is_refused(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "note", OLD, "  "]) == 2
    assert capsys.readouterr().err == "benchtui: the note is empty\n"


async def test_a_note_to_a_live_run_goes_to_its_engine(engine: Path) -> None:
    import asyncio

    taken: list[Request] = []

    def answer(request: Request) -> Request:
        taken.append(request)
        return {"ok": True}

    before = (engine / "journal.jsonl").read_bytes()
    async with ControlServer(engine, answer):
        assert await asyncio.to_thread(main, ["runs", "note", NEW, "going well"]) == 0
    assert taken == [{"verb": "note", "text": "going well"}]
    assert (engine / "journal.jsonl").read_bytes() == before


def test_who_asks_a_run_to_stop_that_does_not_go_on_is_told_which_do(
    engine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stop", OLD]) == 1
    assert f"run {OLD} is not running; still running: {NEW}" in capsys.readouterr().err


def test_removing_needs_yes_without_a_terminal(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path(os.devnull).open() as nobody:
        monkeypatch.setattr(sys, "stdin", nobody)
        assert main(["runs", "rm", OLD]) == 2
    assert capsys.readouterr().err.endswith(f"benchtui: this removes {OLD}; confirm with --yes\n")
    assert (runs / OLD).exists()


def test_removing_with_yes_removes_just_these(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "rm", OLD, OLD[:12], "--yes"]) == 0
    assert [path.name for path in runs.iterdir()] == [NEW]
    assert capsys.readouterr().err.endswith(f"\nremoved {OLD}\n")


@pytest.mark.parametrize(("answer", "left"), [("y\n", 1), ("n\n", 2), ("\n", 2)])
def test_removing_asks_on_a_terminal(
    runs: Path,
    answer: str,
    left: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        os.write(ours, answer.encode())
        assert main(["runs", "rm", OLD]) == (0 if left == 1 else 1)
    os.close(ours)
    assert len(list(runs.iterdir())) == left
    assert f"\nremove {OLD}? [y/N] " in capsys.readouterr().err


def test_a_live_run_is_not_removed(engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "rm", OLD, NEW, "--yes"]) == 2
    assert f"{NEW} is still running; stop it first: benchtui stop {NEW}" in capsys.readouterr().err
    assert len(list(engine.parent.iterdir())) == 2


def test_show_says_what_was_edited_in_the_profile_since(
    runs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = load_record(runs / OLD)
    own = home / "profiles" / f"{record.profile.tag}.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(record.profile.text or "")
    assert main(["runs", "show", OLD]) == 0
    assert "edited since" not in capsys.readouterr().out
    own.write_text(f"{record.profile.text}\nrepeat: 3\n")
    assert main(["runs", "show", OLD]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"profile {record.profile.tag}: edited since") and "repeat" in last
