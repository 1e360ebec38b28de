"""Imported output of jobs that ran one after the other (stonewall): each phase is a measurement."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tui.library.imported import records_of
from tui.model.record import RunRecord
from tui.workloads.fio.outputs import import_output

STREAMS = Path(__file__).parents[2] / "data" / "fio" / "stream"


def text_of(name: str) -> str:
    return gzip.decompress((STREAMS / f"{name}.stdout.gz").read_bytes()).decode()


def record_of(text: str, folder: Path) -> RunRecord:
    path = folder / "out.json"
    path.write_text(text)
    return records_of([path])[0].record


def test_phases_are_steps_with_their_own_figures(tmp_path: Path) -> None:
    record = record_of(text_of("stone-3.33"), tmp_path)
    assert [step.name for step in record.steps] == ["w", "r", "r2"]
    assert [list(step.results.aggregate) for step in record.steps] == [
        ["write"],
        ["read"],
        ["read"],
    ]
    assert record.headline is None  # of several steps none


def test_phases_are_one_after_the_other_in_time() -> None:
    found = import_output(text_of("stone-3.33"), "out")
    ends = [output.result.end_ms for output in found]
    assert None not in ends
    assert ends == sorted(ends)  # type: ignore[type-var]


def test_groups_at_the_same_time_are_one_measurement() -> None:
    assert [output.name for output in import_output(text_of("two-jobs-3.33"), "out")] == [
        "reader, writer"
    ]


def test_two_outputs_of_phases_in_one_file_keep_their_order() -> None:
    found = import_output(2 * text_of("stone-3.33"), "out")
    places = [output.place for output in found]
    assert places == sorted(places)
    assert len(set(places)) == len(places)


def test_a_contradiction_is_that_of_its_phase() -> None:
    start = text_of("stone-3.33").rindex("\n{\n") + 1
    document = json.loads(text_of("stone-3.33")[start:])
    document["jobs"][1]["read"]["io_kbytes"] *= 3
    found = import_output(json.dumps(document, indent=2), "out")
    wrong = [bool(output.result.contradictions) for output in found]
    assert wrong == [False, True, False]


@pytest.mark.parametrize("digits", ["stonewall=1", "new_group=1"])
def test_groups_of_a_report_follow_its_command_line(digits: str) -> None:
    job = (
        "{name}: (groupid={group}, jobs=1): err= 0: pid=7: Sat Nov 28 23:53:20 2026\n"
        "  read: IOPS=1000, BW=4000KiB/s (4096kB/s)(15.6MiB/4000msec)\n"
        "    clat (usec): min=54, max=1000, avg=990.00, stdev=10.00\n"
        "     issued rwts: total=4000,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )
    text = f"$ fio --rw=read --runtime=4 --name=a --name=b --{digits}\nfio-3.33\n"
    text += job.format(name="a", group=0) + job.format(name="b", group=1)
    names = [output.name for output in import_output(text, "out")]
    assert names == (["a", "b"] if "stonewall" in digits else ["a, b"])
