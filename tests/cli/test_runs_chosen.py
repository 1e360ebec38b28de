"""`benchtui runs`: which runs are listed, and what people say of them."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from tests.samples.events import DATA
from tui.cli.main import main
from tui.library.build import write_record

OLD, NEW = "20261119T080000Z-test-mix-0001", "20261120T080000Z-test-lost-0002"


@pytest.fixture
def runs(home: Path) -> Path:
    """A store with two finished runs."""
    for run_id, case in ((OLD, "mix"), (NEW, "lost")):
        shutil.copytree(DATA / case, home / "runs" / run_id)
        write_record(home / "runs" / run_id)
    return home / "runs"


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The ids that a list prints."""
    capsys.readouterr()
    assert main(["runs", "list", "--json", *words]) == 0
    return [run["run_id"] for run in json.loads(capsys.readouterr().out)]


def test_a_list_of_some_runs_is_theirs_alone(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert listed(capsys, "tag:lab=a", "state:complete") == [OLD]
    assert listed(capsys, "finding:host-loss") == [NEW]
    assert main(["runs", "list", "nowhere"]) == 0
    assert capsys.readouterr() == ("", "no run matches nowhere\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["hots:h1"],
            "benchtui: unknown filter key 'hots:' (did you mean 'host'?); known: tag, profile",
        ),
        (
            ["--sort", "headlin"],
            "benchtui: --sort headlin: unknown key (did you mean 'headline'?); allowed: started, ",
        ),
    ],
)
def test_a_list_that_cannot_be_is_a_usage_error(
    runs: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "list", *words]) == 2
    assert capsys.readouterr().err.startswith(said)


def test_a_list_is_in_the_order_that_is_asked_for(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert listed(capsys, "--sort", "headline") == [NEW, OLD]
    assert listed(capsys, "--sort", "headline", "--reverse") == [OLD, NEW]
    assert listed(capsys, "--reverse") == [OLD, NEW]
    assert listed(capsys, "--sort", "time", "--limit", "1") == [OLD]


def test_what_people_say_leaves_record_and_journal_as_they_are(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {name: (runs / OLD / name).read_bytes() for name in ("run.json", "journal.jsonl")}
    assert main(["runs", "star", OLD]) == 0
    assert main(["runs", "tag", OLD, "nightly", "lab=b"]) == 0
    assert main(["runs", "rename", OLD, "  before\ttuning "]) == 0
    assert {name: (runs / OLD / name).read_bytes() for name in before} == before
    assert main(["runs", "list", "is:starred"]) == 0
    assert capsys.readouterr().out.endswith(
        '  *  "before tuning"  (a recorded run)  [lab=b nightly]\n'
    )


def test_what_people_said_travels_with_the_directory(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["runs", "star", OLD])
    (runs / OLD).rename(runs / "20261119T080000Z-copy")
    assert listed(capsys, "is:starred") == ["20261119T080000Z-copy"]


def test_what_was_said_is_taken_back(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["runs", "star", OLD])
    main(["runs", "star", OLD, "--off"])
    main(["runs", "rename", OLD, "x"])
    main(["runs", "rename", OLD, ""])
    main(["runs", "tag", OLD, "--remove", "lab"])
    assert main(["runs", "tag", OLD]) == 0
    assert capsys.readouterr().out == "\n"
    assert listed(capsys, "is:starred") == listed(capsys, "tag:lab", "state:complete") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tag", OLD, "=x"], "'=x' is not a tag"),
        (["tag", OLD, "a b"], "'a b' is not a tag"),
        (["tag", OLD, "--remove", "nope"], f"{OLD} has no tag 'nope'; its tags: lab=a"),
        (["rename", OLD, "x" * 201], "a title must be one line of at most 200 characters"),
        (["rename", OLD, "a\x1b[2J"], "a title must be one line of at most 200 characters"),
        (["star", OLD, "nope"], "no run 'nope'"),
    ],
)
def test_what_cannot_be_said_of_a_run(
    runs: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", *words]) == 2
    assert capsys.readouterr().err.startswith(f"benchtui: {said}")
    assert not (runs / OLD / "marks.json").exists()


def test_damaged_marks_are_none(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / OLD / "marks.json").write_text('{"starred": 7')
    assert listed(capsys) == [NEW, OLD]


def test_deleting_says_first_what_hosts_still_hold(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "delete", OLD, "--yes"]) == 0
    told = (
        f"benchtui: h1, h2 still hold 4 files of {OLD} (96 MiB); to remove them: benchtui"
        f" clean {OLD}\n"
    )
    assert capsys.readouterr().err == f"{told}removed {OLD}\n"


def test_deleting_a_run_that_was_cut_off_says_what_is_lost(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = runs / NEW / "journal.jsonl"
    journal.write_bytes(b"\n".join(journal.read_bytes().splitlines()[:-1]) + b"\n")
    assert main(["runs", "delete", NEW, "--yes"]) == 0
    assert f"to collect them: benchtui runs recover {NEW}" in capsys.readouterr().err


def test_a_run_that_another_machine_writes_is_not_deleted(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = runs / NEW / "journal.jsonl"
    journal.write_bytes(b"\n".join(journal.read_bytes().splitlines()[:-1]) + b"\n")
    (runs / NEW / "engine.pid").write_text("1 2 a-boot-of-another-machine\n")
    assert main(["runs", "delete", NEW, "--yes"]) == 2
    assert "another machine wrote to it in the last minute" in capsys.readouterr().err
    hour_ago = time.time() - 3600
    os.utime(journal, (hour_ago, hour_ago))
    assert main(["runs", "delete", NEW, "--yes"]) == 0


# -- runs of others


@pytest.fixture
def others(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shared directory with one run of somebody else."""
    directory = tmp_path / "team"
    shutil.copytree(runs / NEW, directory / "20261121T080000Z-theirs-0003")
    monkeypatch.setenv("BENCHTUI_SHARED_RUNS", str(directory))
    return directory


def contents(directory: Path) -> dict[str, bytes]:
    """All files below a directory."""
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_runs_of_others_are_listed_with_their_owner_and_nothing_is_written_there(
    others: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = others / "20261121T080000Z-theirs-0003"
    (theirs / "summary.json").unlink()
    before = contents(others)
    assert listed(capsys) == [theirs.name, NEW, OLD]
    assert main(["runs", "list", "--", "-is:mine"]) == 0
    assert f"by {theirs.owner()}\n" in capsys.readouterr().out
    assert main(["runs", "show", theirs.name]) == 0
    assert contents(others) == before


@pytest.mark.parametrize(
    "words",
    [["note", "RUN", "x"], ["star", "RUN"], ["tag", "RUN", "x"], ["rename", "RUN", "x"],
        ["delete", "RUN", "--yes"],
     ["resume", "RUN"], ["recover", "RUN"], ["prove", "RUN"]],
)  # fmt: skip
def test_runs_of_others_are_not_changed(
    others: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(others)
    for ref in ("20261121T080000Z-theirs", str(others / "20261121T080000Z-theirs-0003")):
        assert main(["runs", *(ref if word == "RUN" else word for word in words)]) == 2
        assert f"in {others}; it is read-only" in capsys.readouterr().err
    assert contents(others) == before


@pytest.mark.parametrize("verb", ["clean", "stop"])
def test_verbs_about_hosts_refuse_runs_of_others(
    others: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "20261121T080000Z-theirs-0003"]) == 2
    assert "it is read-only" in capsys.readouterr().err


def test_a_shared_directory_that_is_not_there_is_named_and_hides_nothing(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "--shared", str(tmp_path / "gone"), "list"]) == 0
    captured = capsys.readouterr()
    assert (
        captured.err
        == f"benchtui: {tmp_path / 'gone'}: cannot be read: No such file or directory\n"
    )
    assert len(captured.out.splitlines()) == 3


def test_shared_directories_are_in_a_file_too(runs: Path, others: Path, home: Path,
    monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.delenv("BENCHTUI_SHARED_RUNS")
    (home / "shared-runs").write_text(f"# the team's\n{others}\n\n")
    assert len(listed(capsys)) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_run_that_may_not_be_read_is_listed_as_such(
    others: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (others / "20261121T080000Z-theirs-0003").chmod(0)
    try:
        assert main(["runs", "list", "state:unreadable"]) == 0
    finally:
        (others / "20261121T080000Z-theirs-0003").chmod(0o700)
    assert "Permission denied" in capsys.readouterr().out


def test_a_record_that_cannot_be_read_says_why(
    others: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = others / "20261121T080000Z-theirs-0003" / "run.json"
    record.unlink()
    record.symlink_to(record)
    assert main(["runs", "list"]) == 0
    assert "theirs" in capsys.readouterr().out
