"""IOR's output, as real ones of three versions printed it, and as its source says that it
prints.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.event import ALL_OVER, MetadataIteration, MetadataPhase
from tui.workloads.ior.output import MIB, IorOutput

DATA = Path(__file__).parents[2] / "data" / "ior"
WHOLE = [
    "3.2.1-fpp",
    "3.3.0-fpp",
    "4.0.0-fpp",
    "main-fpp",
    "main-shared",
    "main-mpiio",
    "main-write-random-direct",
]
Events = list[MetadataPhase | MetadataIteration]


def read(
    text: str, phases: tuple[str, ...] = ("write", "read"), iterations: int = 1
) -> tuple[IorOutput, Events]:
    output = IorOutput(phases=phases, iterations=iterations)
    return output, [event for line in text.splitlines() for event in output.line(line) or []]


def saved(name: str) -> tuple[IorOutput, Events]:
    text = (DATA / f"{name}.out").read_text()
    return read(text, ("write", "read") if " -r " in text else ("write",))


@pytest.mark.parametrize("name", WHOLE)
def test_every_figure_is_the_printed_one(name: str) -> None:
    output, _ = saved(name)
    text = (DATA / f"{name}.out").read_text()
    begin = text.index("Summary of all tests")
    rows = [
        line.split() for line in text[:begin].splitlines() if line.startswith(("write ", "read "))
    ]
    summary = {
        line.split()[0]: line.split()
        for line in text[begin:].splitlines()
        if line.startswith(("write", "read"))
    }
    results = output.results()
    assert set(results) == set(summary) and output.finished
    for access, words in summary.items():
        each = results[access]
        told = [
            value * each.bytes_per_op / MIB
            for value in (each.max, each.min, each.mean, each.stddev)
            if value is not None
        ]
        assert told == pytest.approx([float(word) for word in words[1:5]], abs=0.01, rel=1e-4)
        assert each.bytes_per_op == int(
            words[words.index("POSIX" if "POSIX" in words else "MPIIO") - 2]
        )
        own = [row for row in rows if row[0] == access]
        assert [rate * each.bytes_per_op / MIB for rate in each.iterations] == pytest.approx(
            [float(row[1]) for row in own]
        )
        assert each.seconds == [float(row[-2]) for row in own]


def test_ranks_have_the_mean_of_their_iterations() -> None:
    output, _ = saved("main-fpp")
    rows = [
        line.split(",")
        for line in (DATA / "main-fpp.out").read_text().splitlines()
        if line.startswith("write,2,")
    ]
    assert len(rows) == 3
    assert output.results()["write"].rank_seconds[2] == pytest.approx(
        sum(float(row[2]) for row in rows) / 3, abs=1e-6
    )


def test_latency_of_several_segments_is_unknown_where_it_is_of_one() -> None:
    """Up to 4.0 IOR divides by the I/Os of one segment: what it calls latency is then so many times
    too large.
    """
    assert saved("4.0.0-fpp")[0].results()["write"].latency_s == []
    assert saved("main-fpp")[0].results()["write"].latency_s == [0.000728, 0.000747, 0.000893]


def test_phases_follow_each_other_as_rows_arrive() -> None:
    _, events = saved("main-fpp")
    said = [
        event.phase if isinstance(event, MetadataPhase) else f"={event.operation}"
        for event in events
    ]
    assert said == [*["write", "=write", "read", "=read", "remove"] * 3, ALL_OVER]
    assert [event.iteration for event in events if isinstance(event, MetadataIteration)] == [
        1,
        1,
        2,
        2,
        3,
        3,
    ]


@pytest.mark.parametrize(
    "name", ["main-enospc", "main-missing", "main-noread", "main-badopt", "main-badsize"]
)
def test_what_ended_badly_has_no_results(name: str) -> None:
    output, _ = saved(name)
    assert output.results() == {} and not output.finished


FIGURES = st.floats(0.01, 1e6)
ROW = st.tuples(FIGURES, st.floats(1e-3, 1e4), st.floats(1e-6, 10))


def digits(value: float) -> str:
    """As IOR's PPDouble prints a value."""
    return f"{value:.{6 if value < 1 else 2 if value < 3600 else 0}f}"


TITLES = (
    "access bw(MiB/s) IOPS Latency(s) block(KiB) xfer(KiB) open(s) wr/rd(s) close(s) total(s) iter"
)
NOISE = st.sampled_from(["", "WARNING: x", "[h1] chatter", "read,9,x", "Max"])


@given(
    st.lists(st.tuples(ROW, ROW), min_size=1, max_size=4),
    st.sampled_from([8, 4096, 47008, 1 << 20, 1 << 24]),
    st.integers(1, 5),
    st.lists(NOISE, max_size=5),
)
def test_rows_of_any_size_come_back(
    rows: list[tuple[tuple[float, ...], ...]], xfer: int, segments: int, noise: list[str]
) -> None:
    options = {
        "tasks": "2",
        "segments": segments,
        "xfersize": f"{xfer} bytes",
        "repetitions": len(rows),
    }
    lines = [
        "IOR-4.1.0: MPI Coordinated Test of Parallel I/O",
        *(f"{name:<20}: {of}" for name, of in options.items()),
    ]
    lines.append(TITLES)
    for number, pair in enumerate(rows):
        for access, (bandwidth, seconds, latency) in zip(("write", "read"), pair, strict=True):
            lines.append(
                f"{access} {digits(bandwidth)} 1 {digits(latency)} 1 1 0 0 0"
                f" {digits(seconds)} {number}"
            )
            lines += [f"{access},{rank},{seconds:.10e},1e-3,1e3,1e3" for rank in range(2)]
            lines += noise
        lines.append(f"remove - - - - - - - - 0.1 {number}")
    output, events = read("\n".join(lines), iterations=len(rows))
    for place, access in enumerate(("write", "read")):
        each, own = output.results()[access], [pair[place] for pair in rows]
        assert [rate * xfer / MIB for rate in each.iterations] == pytest.approx(
            [float(digits(row[0])) for row in own]
        )
        assert each.seconds == [float(digits(row[1])) for row in own]
        assert each.rank_seconds == pytest.approx(
            [sum(row[1] for row in own) / len(own)] * 2, abs=1e-6, rel=1e-6
        )
    assert sum(isinstance(event, MetadataIteration) for event in events) == 2 * len(rows)


@given(
    st.lists(
        st.text(max_size=80) | st.sampled_from((DATA / "main-fpp.out").read_text().splitlines())
    )
)
def test_no_line_is_too_strange(lines: list[str]) -> None:
    output, _ = read("\n".join(lines))
    assert all(each.bytes_per_op > 0 for each in output.results().values())
