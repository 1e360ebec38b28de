"""The run that a run of a list is compared with."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.app.journal_maker import READS, RunMaker, host_names
from tui.library.build import write_record
from tui.library.history import EarlierRuns, told_apart
from tui.library.load import load_record
from tui.library.record_head import RecordHead, StepHead, params_of
from tui.library.summary import RunSummary, summarize

ALIKE = RunSummary("", None, "p", ["a"], "complete", headline_unit="iops", setup="x")


def run(day: int, value: float | None = 100.0, **other: object) -> RunSummary:
    utc = f"2026-11-{day:02}T10:00:00Z"
    found = replace(ALIKE, run_id=str(day), utc=utc, headline_value=value)
    return replace(found, **other)


def test_a_change_is_that_since_the_latest_run_before_with_the_same_setup() -> None:
    runs = [run(1, 50), run(2, 100), run(3, 400, setup="y"), run(4, 110)]
    history = EarlierRuns(runs)
    assert history.change(runs[3]) == pytest.approx(0.1)
    assert [each.run_id for each in history.earlier(runs[3])] == ["2", "1"]
    assert history.change(runs[0]) is None and history.change(runs[2]) is None


@pytest.mark.parametrize(
    "other", [{"state": "partial"}, {"verdict": "invalid"}, {"setup": ""}, {"value": None}]
)
def test_runs_that_are_no_measurement_are_neither_compared_nor_compared_with(
    other: dict[str, object],
) -> None:
    runs = [run(1, 50), run(2, **other), run(3, 100)]  # type: ignore[arg-type]
    history = EarlierRuns(runs)
    assert history.change(runs[1]) is None
    assert history.change(runs[2]) == pytest.approx(1.0)


def test_the_setup_of_a_run_does_not_change_with_a_comment_in_its_profile(tmp_path: Path) -> None:
    run_dir = RunMaker(tmp_path / "20261121T101530Z-x-0001", host_names(1), READS).begin().go()
    write_record(run_dir.measure(3).finish().run_dir)
    record = load_record(run_dir.run_dir)
    texts = ("fio: {global: {sync: 0}}", "# a comment\nfio: {global: {sync:  0}}",
             "fio: {global: {sync: 1}}")  # fmt: skip
    setups = []
    for text in texts:
        record.profile.text = text
        (run_dir.run_dir / "run.json").write_text(record.to_json())
        found = summarize(run_dir.run_dir)
        assert found is not None
        setups.append(found.setup)
    assert setups[0] == setups[1] != setups[2]


def test_the_setup_differs_with_the_hosts(tmp_path: Path) -> None:
    setups = []
    for number, hosts in enumerate((2, 2, 3)):
        maker = RunMaker(
            tmp_path / f"2026112{number}T101530Z-x-000{number}", host_names(hosts), READS
        )
        run_dir = maker.begin().go().measure(3).finish().run_dir
        write_record(run_dir)
        found = summarize(run_dir)
        assert found is not None
        setups.append(found.setup)
    assert setups[0] == setups[1] != setups[2]


def test_runs_of_a_profile_are_told_apart_by_the_parameters_that_differ() -> None:
    base = {"runtime": "30s", "iodepth": "4", "directory": "/mnt/a"}
    runs = [
        run(1, params=base, target="/mnt/a"),
        run(2, params={**base, "iodepth": "16", "directory": "/mnt/b"}, target="/mnt/b"),
        run(3, params=base, profile="other"),
        run(4, params=base, profile="other"),
        run(5, params={}),
    ]
    assert told_apart(runs) == {
        "1": "iodepth=4 directory=/mnt/a",
        "2": "iodepth=16 directory=/mnt/b",
    }


def test_parameters_of_a_list_are_spelled_as_people_write_them_and_swept_ones_by_their_values() -> (
    None
):
    text = """\
params:
  bs: {default: 4k, kind: size}
  runtime: {default: 30s, kind: duration}
  direct: {default: 1, kind: flag}
  key: {default: "${KEY}", kind: secret}
"""
    points = [{"bs": 4096 << at} for at in range(4)]
    head = RecordHead("x", "complete")
    head.profile.text = text
    head.profile.params = {"bs": 4096, "runtime": 90.0, "direct": True, "key": "s3cr3t", "more": 3}
    spelled = {"bs": "4k", "runtime": "90s", "direct": "yes", "more": "3"}
    assert params_of(head) == spelled
    head.steps = [StepHead(point=point) for point in points[:2]]
    assert params_of(head) == spelled | {"bs": "4k,8k"}
    head.steps = [StepHead(point=point) for point in points]
    assert params_of(head) == spelled | {"bs": "4k–32k"}
