from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.samples.events import DATA
from tui.journal.rundir import is_running, load_plan, process_identity
from tui.library import summary
from tui.library.build import write_record
from tui.library.plan_head import plan_head
from tui.library.runs import RunStore, may_have_measured
from tui.library.summary import rename, retag, summarize
from tui.library.verify import verify_run
from tui.model.problem import BenchtuiError, UsageError

IDS = (
    "20261118T080000Z-weka-read-iops-0001",
    "20261119T080000Z-weka-read-iops-0002",
    "20261120T080000Z-ceph-mix-0003",
)


def add_run(runs: Path, run_id: str, case: str = "mix") -> Path:
    """Put a finished run with its record into a store."""
    run_dir = runs / run_id
    shutil.copytree(DATA / case, run_dir)
    write_record(run_dir)
    return run_dir


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    runs = tmp_path / "runs"
    for run_id in IDS:
        add_run(runs, run_id)
    return RunStore(runs)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until the test is over."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    yield child
    child.communicate()


def write_pid(
    run_dir: Path, pid: int, *, ticks: str | None = None, boot: str | None = None
) -> None:
    identity = process_identity(str(pid))
    assert identity is not None
    (run_dir / "engine.pid").write_text(f"{pid} {ticks or identity[0]} {boot or identity[1]}\n")


def test_runs_are_listed_newest_first(store: RunStore) -> None:
    assert [summary.run_id for summary in store.list()] == list(reversed(IDS))
    assert [summary.run_id for summary in store.list(limit=1)] == [IDS[2]]


def test_a_store_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert RunStore(tmp_path / "nowhere").list() == []


def test_a_summary_holds_what_a_list_shows(store: RunStore) -> None:
    summary = store.list()[0]
    assert (summary.profile, summary.hosts, summary.state) == ("test/mix", ["h1", "h2"], "complete")
    assert summary.headline == "mixed 16.0k IOPS"
    assert summary.headline_value == pytest.approx(15995, abs=1)
    assert (summary.headline_unit, summary.note, summary.tags) == (
        "iops",
        "a recorded run",
        {"lab": "a"},
    )
    assert summary.duration_s == pytest.approx(8.138)


def test_a_summary_follows_a_record_that_another_program_changed(store: RunStore) -> None:
    path = store.runs_dir / IDS[0] / "run.json"
    document = json.loads(path.read_text())
    document["headline"]["text"] = "changed"
    path.write_text(json.dumps(document))
    assert store.list()[-1].headline == "changed"


def test_a_run_from_elsewhere_needs_its_record_alone(tmp_path: Path) -> None:
    source = add_run(tmp_path / "other", IDS[0])
    target = tmp_path / "runs" / IDS[0]
    target.mkdir(parents=True)
    shutil.copy(source / "run.json", target)
    assert RunStore(tmp_path / "runs").list()[0].headline == "mixed 16.0k IOPS"
    assert (target / "summary.json").exists()


def test_a_summary_of_an_older_version_is_made_again(store: RunStore) -> None:
    path = store.runs_dir / IDS[0] / "summary.json"
    kept = json.loads(path.read_text())
    del kept["format"], kept["summary"]["checks"], kept["summary"]["findings"]
    path.write_text(json.dumps(kept))
    assert store.list()[-1].checks is not None


def test_a_record_that_cannot_be_read_is_listed_as_such(store: RunStore) -> None:
    (store.runs_dir / IDS[2] / "run.json").write_text("{")
    assert store.list()[0].state == "unreadable"


def test_what_is_no_run_is_not_listed(store: RunStore) -> None:
    (store.runs_dir / "20261121T080000Z-empty-0004").mkdir()
    (store.runs_dir / "notes.txt").write_text("x")
    assert len(store.list()) == 3


def test_a_run_whose_engine_lives_is_running(
    store: RunStore, process: subprocess.Popen[bytes]
) -> None:
    run_dir = store.runs_dir / IDS[1]
    write_pid(run_dir, process.pid)
    assert is_running(run_dir)
    assert store.list()[1].state == "running"
    process.kill()
    process.wait()
    assert not is_running(run_dir)
    assert store.list()[1].state == "complete"


def test_another_process_with_the_same_number_is_not_the_engine(
    store: RunStore, process: subprocess.Popen[bytes]
) -> None:
    run_dir = store.runs_dir / IDS[1]
    write_pid(run_dir, process.pid, ticks="1")
    assert not is_running(run_dir)
    write_pid(run_dir, process.pid, boot="00000000-0000-0000-0000-000000000000")
    assert not is_running(run_dir)


def test_a_process_that_ended_but_was_not_waited_for_does_not_run(store: RunStore) -> None:
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    write_pid(store.runs_dir / IDS[0], child.pid)
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_running(store.runs_dir / IDS[0])
    child.wait()


@pytest.mark.parametrize("text", ["", "x y z", "1", "-1 0 0", "../../etc 1 2"])
def test_a_pid_file_with_anything_else_in_it_is_nobody(store: RunStore, text: str) -> None:
    (store.runs_dir / IDS[0] / "engine.pid").write_text(text)
    assert not is_running(store.runs_dir / IDS[0])


def test_a_run_without_a_record_whose_engine_is_gone_was_interrupted(tmp_path: Path) -> None:
    run_dir = tmp_path / IDS[0]
    shutil.copytree(DATA / "mix", run_dir)
    summary = summarize(run_dir)
    assert summary is not None
    assert (summary.state, summary.profile, summary.utc) == (
        "interrupted",
        "test/mix",
        "2026-11-18T08:00:00Z",
    )


def test_a_run_whose_engine_has_not_come_up_yet_is_running(tmp_path: Path) -> None:
    run_dir = tmp_path / IDS[0]
    run_dir.mkdir()
    shutil.copy(DATA / "mix" / "plan.json", run_dir)
    summary = summarize(run_dir)
    assert summary is not None and summary.state == "running"
    long_ago = time.time() - 120
    os.utime(run_dir, (long_ago, long_ago))
    summary = summarize(run_dir)
    assert summary is not None and summary.state == "interrupted"


def test_a_run_is_found_by_id_by_beginning_and_as_the_last(store: RunStore) -> None:
    assert store.resolve(IDS[0]) == store.runs_dir / IDS[0]
    assert store.resolve("20261119") == store.runs_dir / IDS[1]
    assert store.resolve("last") == store.runs_dir / IDS[2]


def refused(runs: Path, run_id: str) -> Path:
    """Put a run into a store that was refused before any load."""
    run_dir = add_run(runs, run_id)
    record = json.loads((run_dir / "run.json").read_text())
    for step in record["steps"]:
        step |= {"state": "missing", "measured_s": None, "headline": None, "metadata": None}
    (run_dir / "run.json").write_text(json.dumps(record | {"state": "failed", "headline": None}))
    return run_dir


def test_a_run_that_measured_nothing_is_not_the_last_one(store: RunStore) -> None:
    newest = refused(store.runs_dir, "20261121T080000Z-weka-read-iops-0004")
    assert store.resolve("last").name == IDS[2]
    assert store.resolve("last~1").name == IDS[1]
    assert store.resolve("last:any") == newest
    assert store.resolve("last:any~1").name == IDS[2]


def test_verbs_that_act_on_what_a_run_left_take_the_newest_of_all(store: RunStore) -> None:
    newest = refused(store.runs_dir, "20261121T080000Z-weka-read-iops-0004")
    assert store.resolve("last", last_of_all=True) == newest
    assert store.resolve("last~1", last_of_all=True).name == IDS[2]


def test_a_run_that_is_running_is_the_last_one(
    store: RunStore, process: subprocess.Popen[bytes]
) -> None:
    newest = refused(store.runs_dir, "20261121T080000Z-weka-read-iops-0004")
    write_pid(newest, process.pid)
    assert store.resolve("last") == newest


def test_a_store_of_refused_runs_has_no_last_one_and_says_what_there_is(tmp_path: Path) -> None:
    only = refused(tmp_path, IDS[0])
    with pytest.raises(
        UsageError, match=r"has measured anything; last:any includes refused and stopped"
    ):
        RunStore(tmp_path).resolve("last")
    assert RunStore(tmp_path).resolve("last:any") == only


@pytest.mark.parametrize(
    "case", sorted(each.name for each in DATA.iterdir() if (each / "journal.jsonl").exists())
)
def test_every_recorded_run_that_has_a_figure_can_be_the_last_one(
    tmp_path: Path, case: str
) -> None:
    run_dir = add_run(tmp_path, IDS[0], case)
    figures = summarize(run_dir)
    assert figures is not None
    assert may_have_measured(run_dir) or figures.headline_value is None


def test_a_run_is_found_by_path(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = store.runs_dir / IDS[0]
    assert store.resolve(str(run_dir)) == run_dir
    assert store.resolve(f"{run_dir}/run.json") == run_dir
    monkeypatch.chdir(run_dir)
    assert store.resolve(".") == run_dir


def test_a_run_is_found_by_its_title_and_the_newest_by_a_tag(
    store: RunStore, tmp_path: Path
) -> None:
    for run_id in IDS[:2]:
        retag(store.runs_dir / run_id, {"build": run_id[:8], "baseline": ""})
    rename(store.runs_dir / IDS[1], "before/upgrade")
    assert (
        store.resolve("before/upgrade") == store.resolve("tag:baseline") == store.runs_dir / IDS[1]
    )
    assert store.resolve("tag:build=20261118") == store.runs_dir / IDS[0]
    with pytest.raises(UsageError, match="no run with tag:x; see benchtui runs list"):
        store.resolve("tag:x")
    rename(store.runs_dir / IDS[0], "before/upgrade")
    with pytest.raises(
        UsageError, match=f"2 runs have the title 'before/upgrade': {IDS[1]}, {IDS[0]}"
    ):
        store.resolve("before/upgrade")
    theirs = tmp_path / "team"
    rename(add_run(theirs, "20261101T080000Z-weka-read-iops-0009"), "the team's")
    assert RunStore(store.runs_dir, [theirs]).resolve("the team's").parent == theirs


def test_a_run_that_lies_in_several_places_is_listed_once_the_own_one_first(
    store: RunStore, tmp_path: Path
) -> None:
    ours, theirs, others = store.runs_dir, tmp_path / "team", tmp_path / "others"
    shared = "20261101T080000Z-weka-read-iops-0009"
    for place in (theirs, others):
        add_run(place, IDS[1])
        add_run(place, shared)
    (tmp_path / "again").symlink_to(ours)
    both = RunStore(ours, [theirs, others, tmp_path / "again"])
    places = [both.directory_of(run).parent for run in both.everything().runs]
    assert [run.run_id for run in both.everything().runs] == [*reversed(IDS), shared]
    assert places == [ours, ours, ours, theirs]
    assert both.resolve(shared).parent == theirs, "what is listed is what its name finds"


def test_a_beginning_of_several_runs_names_them(store: RunStore) -> None:
    with pytest.raises(
        UsageError, match=f"'202611' is a prefix of 3 runs: {IDS[2]}, {IDS[1]}, {IDS[0]}"
    ):
        store.resolve("202611")


def test_an_unknown_run_names_the_nearest(store: RunStore) -> None:
    with pytest.raises(UsageError, match=f"no run '{IDS[0][:-1]}9' .did you mean '{IDS[0]}'"):
        store.resolve(IDS[0][:-1] + "9")


def test_an_empty_name_is_not_every_run(store: RunStore) -> None:
    with pytest.raises(UsageError):
        store.resolve("")


def test_a_path_without_a_run_says_so(store: RunStore, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run"):
        store.resolve(f"{tmp_path}/")
    with pytest.raises(UsageError, match="no such directory"):
        store.resolve(f"{tmp_path}/nowhere")


def spoil(path: Path) -> None:
    """Change one byte of a file, so that a text in it is no UTF-8."""
    path.write_bytes(path.read_bytes().replace(b"weka", b"we\xffa", 1).replace(b"mix", b"m\xff", 1))


@pytest.mark.parametrize(
    "name", ["summary.json", "marks.json", "run.json", "plan.json", "journal.jsonl"]
)
def test_a_changed_byte_in_a_file_of_a_run_hides_no_other_run(store: RunStore, name: str) -> None:
    spoilt = store.runs_dir / IDS[2]
    rename(spoilt, "mix of everything")
    store.list()
    path = spoilt / name
    before = path.read_bytes()
    spoil(path)
    assert path.read_bytes() != before
    if name == "run.json":
        (spoilt / "summary.json").unlink()
    listed = {run.run_id: run.state for run in store.list()}
    assert listed == dict.fromkeys(IDS[:2], "complete") | {
        IDS[2]: "unreadable" if name == "run.json" else "complete"
    }
    plan_head(spoilt)
    with suppress(BenchtuiError):
        verify_run(spoilt)
    with suppress(BenchtuiError):
        load_plan(spoilt)


@pytest.mark.parametrize(
    "ref", ["x" * 300, "~no-such-user", "~no-such-user/run", "{runs}/" + "x" * 300]
)
def test_what_no_file_can_be_called_names_no_run(store: RunStore, ref: str) -> None:
    with pytest.raises(UsageError, match=r"no run '|no such directory"):
        store.resolve(ref.format(runs=store.runs_dir))


def test_a_title_may_begin_as_a_home_directory_does(store: RunStore) -> None:
    rename(store.runs_dir / IDS[1], "~5 % more")
    assert store.resolve("~5 % more") == store.runs_dir / IDS[1]


def test_the_last_of_no_runs_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no runs in"):
        RunStore(tmp_path).resolve("last")


def test_runs_are_listed_without_reading_their_records(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How quickly is measured by tests/long/bench/long_list.py."""
    source = store.runs_dir / IDS[0]
    for number in range(10):
        target = store.runs_dir / f"20250101T{number:06d}Z-bulk-0000"
        target.mkdir()
        os.link(source / "run.json", target / "run.json")
        shutil.copy(source / "summary.json", target)
    monkeypatch.setattr(summary, "_from_record", lambda *_, **__: pytest.fail("a record was read"))
    assert len(store.list()) == 13
