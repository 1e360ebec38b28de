"""Matrices for tests: cells with figures that can be checked by hand, and the Ceph sweep as it was
published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.record.cells import Cell, CellState

MIB = 2**20
SIZES = {"k": 2**10, "M": MIB, "G": 2**30}

# (jobs, block size, MB/s of the fast group) in the order of the published table
CEPH = (
    (1, "4k", 6), (1, "8k", 11), (1, "16k", 22), (1, "32k", 41), (1, "64k", 73), (1, "128k", 134),
    (1, "256k", 142),
    (1, "512k", 147), (1, "1M", 146), (1, "2M", 147), (1, "4M", 150), (1, "32M", 144),
    (2, "512k", 317), (2, "1M", 313),
    (4, "1M", 673), (8, "1M", 1056), (16, "1M", 1113), (16, "4k", 53), (16, "8k", 111),
    (16, "16k", 218),
    (16, "32k", 432), (16, "64k", 914), (16, "128k", 1114),
)  # fmt: skip


def number(text: str) -> float | None:
    """Return a size or a number, None for a word."""
    if text[-1:] in SIZES and text[:-1].isdigit():
        return float(int(text[:-1]) * SIZES[text[-1]])
    return float(text) if text.isdigit() else None


def cell(
    point: Mapping[str, str],
    *values: float,
    unit: str = "iops",
    state: CellState = "done",
    profile: str = "test/p",
    what: str = "read IOPS",
    planned: int | None = None,
    ci: float | None = None,
    p99_ns: float | None = None,
) -> Cell:
    """Return a cell whose figure is the middle of these values."""
    middle = sorted(values)[len(values) // 2] if values else None
    return Cell(
        key=" ".join([profile, *(f"{name}={text}" for name, text in point.items())]),
        profile=profile,
        texts=dict(point),
        numbers={
            name: found for name, text in point.items() if (found := number(text)) is not None
        },
        state=state,
        unit=unit,
        what=what,
        value=middle,
        values=tuple(values),
        ci=ci,
        steps=(0,),
        step=0,
        made=len(values),
        planned=len(values) if planned is None else planned,
        p99_ns=p99_ns,
    )


def line(axis: str, values: Sequence[str], figures: Sequence[float]) -> list[Cell]:
    """Return a sweep over one axis."""
    return [cell({axis: value}, figure) for value, figure in zip(values, figures, strict=True)]


def ceph() -> list[Cell]:
    """Return the published sweep."""
    return [
        cell(
            {"numjobs": str(jobs), "bs": bs},
            figure * MIB,
            unit="bytes_per_s",
            what="read bandwidth",
        )
        for jobs, bs, figure in CEPH
    ]
