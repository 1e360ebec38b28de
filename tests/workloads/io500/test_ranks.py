"""Times of ranks from the CSV files of mdtest's phases, and the archive in which they arrive."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.event import OperationResult
from tui.model.plan import Step
from tui.workloads.io500.output import add_rank_seconds, seconds_of
from tui.workloads.mpi import LARGEST_REPORT, REPORTS, ReportsReader

FILE = Path(__file__).parents[2] / "data" / "io500-ranks" / "mdtest-hard-read.csv"
TEXT = FILE.read_text()
ROWS = TEXT.splitlines(keepends=True)


def test_each_rank_has_the_time_before_the_barrier() -> None:
    seconds = seconds_of(TEXT, 8)
    assert seconds[0] == 0.040128
    assert [rank for rank, each in enumerate(seconds) if each > 1] == [6, 7]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "".join(ROWS[1:]),
        "".join(ROWS[:-1]),
        TEXT + ROWS[-1].replace("7,", "8,", 1),
        TEXT.replace("4.0127992630e-02", "many"),
        TEXT.replace("4.0127992630e-02", "inf"),
        TEXT.replace("4.0127992630e-02", ""),
        TEXT.replace(",4.0127992630e-02,,", ",4.0127992630e-02,1,1"),
    ],
)
def test_times_are_unknown_unless_all_ranks_did_one_operation(text: str) -> None:
    assert seconds_of(text, 8) == []


@given(st.text(), st.integers(0, 9))
def test_any_text_is_read(text: str, tasks: int) -> None:
    assert len(seconds_of(ROWS[0] + text, tasks)) in (0, tasks)


def test_only_phases_of_mdtest_have_times_of_ranks() -> None:
    phases = {"mdtest-hard-read": OperationResult(), "ior-hard-read": OperationResult()}
    add_rank_seconds(phases, {f"{name}.csv": TEXT for name in phases}, 8)
    assert [len(each.rank_seconds) for each in phases.values()] == [8, 0]


def archive(**sizes: int) -> bytes:
    """Return an archive of reports with files of these sizes, and a link."""
    with tarfile.open(fileobj=(packed := io.BytesIO()), mode="w") as tar:
        for name, size in sizes.items():
            member = tarfile.TarInfo(f"{REPORTS}/{name}")
            member.size = size
            tar.addfile(member, io.BytesIO(b"x" * size))
        link = tarfile.TarInfo(f"{REPORTS}/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return packed.getvalue()


def test_reports_are_read_from_the_archive_up_to_a_cut() -> None:
    whole = archive(one=3, huge=LARGEST_REPORT + 1, two=2000)
    for data, names in ((whole, {"one", "two", "link"}), (whole[:1500], {"one"}), (b"?", set())):
        reader = ReportsReader("h1", Step(0, "x", "io500", {}, [], None))
        for start in range(0, len(data), 1 << 20):
            reader.feed(data[start : start + (1 << 20)])
        texts = reader.texts()
        assert texts.keys() == names and texts.get("one", "xxx") == "xxx"
        assert texts.get("link", "") == ""
