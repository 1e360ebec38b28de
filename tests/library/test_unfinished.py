"""Which runs are unfinished, whatever state their files are in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.samples.events import DATA, closed, run_of
from tui.cli.main import main
from tui.journal.rundir import load_plan
from tui.library.build import build_record, write_record
from tui.library.summary import summarize
from tui.library.unfinished import is_unfinished, unfinished_runs
from tui.model.event import AnyEvent, FilesRemoved, encode
from tui.model.figure_record import CodedText
from tui.model.problem import BenchtuiError


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHTUI_HOME", str(tmp_path))
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def cut_off(runs: Path, *events: AnyEvent, name: str = "20261120T101530Z-test-p-0001") -> Path:
    """Return a run that an engine had begun."""
    run_dir = run_of(runs / name, ["h1", "h2"], events)
    (run_dir / "engine.pid").touch()
    return run_dir


def test_a_finished_run_stays_finished_after_a_cleanup_of_many_files(runs: Path) -> None:
    """12 hosts with 192 files each are more than 64 KiB of messages after the end."""
    paths = [f"/mnt/weka/fio/{number}/0/bw.{number}.0" for number in range(192)]
    removed = [FilesRemoved(t=100.0, host=f"h{host}", paths=paths) for host in range(12)]
    run_dir = cut_off(runs, closed(60.0), *removed)
    assert (run_dir / "journal.jsonl").stat().st_size > 1 << 16
    assert not is_unfinished(run_dir)


def test_a_run_whose_last_lines_are_damaged_is_judged_by_those_that_can_be_read(runs: Path) -> None:
    run_dir = cut_off(runs, closed(60.0))
    with (run_dir / "journal.jsonl").open("ab") as journal:
        journal.write(b"\xff\xfe\n" + encode(FilesRemoved(t=61.0, host="h1", paths=[])) + b"{")
    assert not is_unfinished(run_dir)


@pytest.mark.parametrize("damage", ["empty", "missing"])
def test_a_run_that_began_is_unfinished_without_a_journal(runs: Path, damage: str) -> None:
    run_dir = cut_off(runs)
    (run_dir / "journal.jsonl").write_bytes(b"")
    if damage == "missing":
        (run_dir / "journal.jsonl").unlink()
    assert unfinished_runs(runs) == [run_dir]
    write_record(run_dir)  # what an engine that fell over leaves
    assert is_unfinished(run_dir)


def test_a_finished_run_without_its_journal_is_finished(runs: Path) -> None:
    run_dir = cut_off(runs, closed(60.0))
    write_record(run_dir)
    (run_dir / "journal.jsonl").unlink()
    assert not is_unfinished(run_dir)


@pytest.mark.parametrize("plan", [None, b'{"profile": {"tag"', b"\xff\xfe"])
def test_without_a_plan_the_hosts_are_named_and_how_to_clean_them(
    runs: Path, plan: bytes | None
) -> None:
    run_dir = cut_off(runs)
    (run_dir / "plan.json").unlink()
    if plan is not None:
        (run_dir / "plan.json").write_bytes(plan)
    with pytest.raises(BenchtuiError, match=f"benchtui hosts sweep h1,h2 --run {run_dir.name}"):
        load_plan(run_dir)


def test_a_run_that_cannot_be_recovered_leaves_the_others_their_turn(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        (cut_off(runs, name=f"20261120T10153{number}Z-test-p-0001") / "plan.json").unlink()
    assert main(["runs", "recover"]) == 4
    said = capsys.readouterr().err
    assert said.count("plan.json: does not exist") == 2


def test_figures_without_any_result_are_not_called_nothing(tmp_path: Path) -> None:
    """What an older engine wrote at the end of a recovery that found no spool any more."""
    shutil.copytree(DATA / "mix", tmp_path / "mix")
    journal = tmp_path / "mix" / "journal.jsonl"
    lines = [
        line
        for line in journal.read_bytes().splitlines(keepends=True)
        if b"host_result" not in line
    ]
    lines[-1] = (
        b'{"type":"run_ended","t":60.0,"state":"failed","exit_code":4,"reason":"nothing was'
        b' measured"}\n'
    )
    journal.write_bytes(b"".join(lines))
    record = build_record(tmp_path / "mix")
    assert record.state == "partial"
    assert record.reason == CodedText(code="only-samples")


def test_a_run_that_ended_without_a_record_gets_it_from_its_journal(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = cut_off(runs, closed(60.0))
    (run_dir / "run.json").unlink(missing_ok=True)
    before = summarize(run_dir)
    assert before is not None and before.state == "interrupted" and not is_unfinished(run_dir)
    assert main(["runs", "recover"]) == 0
    assert capsys.readouterr().err == f"{run_dir.name} had ended; wrote its missing record\n"
    after = summarize(run_dir)
    assert after is not None and after.state == build_record(run_dir).state
    main(["runs", "recover"])
    assert capsys.readouterr().err == "no unfinished runs\n"
