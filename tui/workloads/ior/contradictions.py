"""Find figures in IOR's output that contradict each other.

Each relation follows from IOR's source; tolerances are half a unit of the last printed digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev

from tui.model.event import Contradiction
from tui.workloads.ior.details import MIB, IorFigures, Rounded, Row
from tui.workloads.ior.output import PER_SEGMENT, IorOutput
from tui.workloads.mpi_kept import clock_contradictions
from tui.workloads.reading import version_numbers

TEXTS = {
    "tasks": "{told:.0f} tasks in one place, but {other:.0f} in another",
    "moved": "{told:size} moved, but tasks, segments and block size give {other:size}",
    "aggregate": (
        "aggregate file size {told:size}, but tasks, segments and block size give {other:size}"
    ),
    "setting": "{0}: {told:.0f} in the {1}, but {other:.0f} in the {2}",
    "rows": "rows of {told:.0f} iterations, but {other:.0f} repetitions",
    "summary": "{0} {told:.6g} MiB/s, but {other:.6g} from the iterations",
    "mean-time": "mean time {told:.6g} s, but {other:.6g} s from the iterations",
    "product": "rate x time is {told:.6g} MiB, but {other:.6g} MiB were moved",
    "ranks": "rows of {told:.0f} ranks, but {other:.0f} tasks",
    "rank-moved": (
        "rank {0} moved {told:.6g} MiB according to one time, but {other:.6g} MiB according to the"
        " other"
    ),
    "ranks-moved": "ranks moved {told:.6g} MiB, but the total is {other:.6g} MiB",
    "rank-time": "a rank took {told:.6g} s, but all ranks together took {other:.6g} s",
    "part": "{0} took {told:.6g} s, but the whole iteration took {other:.6g} s",
    "rates": "IOPS x wr/rd time is {told:.6g} MiB, but rate x total time is {other:.6g} MiB",
    "latency": "rank 0 took {told:.6g} s by its latency, but all ranks took {other:.6g} s",
    "nodes": "{told:.0f} nodes, but tasks and tasks per node allow at most {other:.0f}",
    "backwards": "IOR finished {told:time} before it began",
    "clock": "iterations took {told:time}, but IOR finished {other:time} after it began",
}


ROUNDED_BYTES = 0.06 * MIB  # the summary has MiB with one decimal
ROUNDED_SIZES = 0.01  # sizes in the header may have two decimals: 0.5 % each
PRINTED = 1e-6  # of figures of ranks: eleven digits


@dataclass
class IorReport:
    """One IOR output; `start_s` and `end_s` are local time."""

    output: IorOutput = field(default_factory=IorOutput)
    details: IorFigures = field(default_factory=IorFigures)
    start_s: float | None = None
    end_s: float | None = None

    @property
    def ends_by_time(self) -> bool:
        """Whether a time limit may end a phase before all bytes are moved, and so shorten later
        reads.
        """
        command = self.output.command
        return bool(self.output.stonewall_s or not command or "stonewall" in command.lower())

    @property
    def due(self) -> int:
        """Bytes that all tasks move in each iteration, by the settings."""
        return self.output.tasks * self.output.segments * self.output.block


def contradictions(report: IorReport) -> Iterator[Contradiction]:
    """Yield pairs of figures that contradict each other."""
    if len(report.output.tests) > 1:
        return  # each test of a script file has its own
    for check in CHECKS:
        yield from check(report)


def _header(report: IorReport) -> Iterator[Contradiction]:
    """Yield numbers of tasks that differ, and numbers of bytes that do not follow from them."""
    output = report.output
    if len(output.printed_tasks) > 1:
        yield Contradiction("tasks", min(output.printed_tasks), max(output.printed_tasks))
        return
    whole = output.aggregate
    if not report.due:
        return
    if whole is not None and abs(whole - report.due) > ROUNDED_SIZES * max(whole, report.due):
        yield Contradiction("aggregate", whole, report.due)
    for name, each in output.figures.items():
        moved = each.moved_bytes
        if moved is None or (report.ends_by_time and moved <= report.due):
            continue
        if abs(moved - report.due) > ROUNDED_BYTES:
            yield Contradiction("moved", moved, report.due, direction=name)


def _settings(report: IorReport) -> Iterator[Contradiction]:
    """Yield settings that differ between options, parameters, summary and command line."""
    first: dict[str, tuple[str, int]] = {}
    for source, settings in report.details.settings.items():
        for name, value in settings.items():
            first_source, first_value = first.setdefault(name, (source, value))
            if first_value != value:
                names = (name, first_source, source)
                yield Contradiction("setting", first_value, value, names=names)


def _iterations(report: IorReport) -> Iterator[Contradiction]:
    """Yield accesses without a row for each iteration, unless there is a time limit."""
    details, count = report.details, report.output.iterations
    for name in details.summary:
        rows = details.rows.get(name, [])
        if rows and len(rows) != count and "T" not in details.given:
            yield Contradiction("rows", len(rows), count, direction=name)


def _summary(report: IorReport) -> Iterator[Contradiction]:
    """Yield figures of the summary, and "Max", that do not follow from the rows."""
    details = report.details
    for name, rows in details.rows.items():
        if not rows or (len(rows) != report.output.iterations and "T" not in details.given):
            continue
        slack = max(row.rate.slack for row in rows)
        rates = [row.rate.value for row in rows]
        due = {
            "maximum": max(rates),
            "minimum": min(rates),
            "mean": fmean(rates),
            "deviation": pstdev(rates),
        }
        summary = details.summary.get(name, {})
        pairs = [(what, summary[what], value) for what, value in due.items() if what in summary]
        if name in details.highest:
            pairs.append(("highest", details.highest[name], max(rates)))
        for what, summed, value in pairs:
            more = 2 if what == "deviation" else 1
            if not _is_near(summed, value, slack * more):
                yield Contradiction("summary", summed.value, value, "", name, (what,))
        if "mean time" in summary:
            mean_s, slack = (
                fmean(row.seconds.value for row in rows),
                max(row.seconds.slack for row in rows),
            )
            if not _is_near(summary["mean time"], mean_s, slack):
                yield Contradiction("mean-time", summary["mean time"].value, mean_s, "", name)


def _is_near(summed: Rounded, value: float, slack: float) -> bool:
    return abs(summed.value - value) <= (summed.slack + slack) * (1 + PRINTED) + PRINTED * value


def _bytes(report: IorReport) -> Iterator[Contradiction]:
    """Yield the first iteration of each access in which rate x time is not the number of bytes."""
    for name, rows in report.details.rows.items():
        summed = report.details.summary.get(name, {}).get("moved")
        for at, row in enumerate(rows):
            span = _moved(report, row, summed if at == 0 else None)
            if span is None or not row.seconds.value:
                continue
            least, most = row.rate.low * row.seconds.low, row.rate.high * row.seconds.high
            if least > span.high * (1 + PRINTED) or most < span.low * (1 - PRINTED):
                product = row.rate.value * row.seconds.value
                yield Contradiction("product", product, span.value, direction=name)
                break


def _moved(report: IorReport, row: Row, summed: Rounded | None) -> Rounded | None:
    """Return how many MiB an iteration moved; None if unknown."""
    if row.moved is not None:
        return Rounded(row.moved / MIB, 0.0)
    if summed is not None:
        return summed
    return Rounded(report.due / MIB, 0.0) if report.due and not report.ends_by_time else None


def _parts(report: IorReport) -> Iterator[Contradiction]:
    """Yield iterations whose parts take longer than the whole, or that moved a different number of
    bytes.

    The whole lasts from the first start of a rank to the last end, and so does each part, whatever
    the clocks of the ranks.
    """
    transfer = report.output.transfer
    for name, rows in report.details.rows.items():
        for row in rows:
            for part in ("open", "wr/rd", "close"):
                took = row.parts.get(part)
                if took is not None and _is_above(took.low, row.seconds.high):
                    yield Contradiction("part", took.value, row.seconds.value, "", name, (part,))
            ios, access = row.parts.get("IOPS"), row.parts.get("wr/rd")
            if ios is None or access is None or not transfer:
                continue
            low, high = (
                one * other * transfer / MIB
                for one, other in ((ios.low, access.low), (ios.high, access.high))
            )
            least, most = row.rate.low * row.seconds.low, row.rate.high * row.seconds.high
            # I/Os are divided as integers
            if _is_above(least, high + transfer / MIB) or _is_above(low, most):
                moved = ios.value * access.value * transfer / MIB
                whole = row.rate.value * row.seconds.value
                yield Contradiction("rates", moved, whole, direction=name)


def _is_above(one: float, other: float) -> bool:
    return one > other * (1 + PRINTED)


def _latency(report: IorReport) -> Iterator[Contradiction]:
    """Yield a latency according to which rank 0 alone took longer than all ranks together.

    Latency is rank 0's time divided by its I/Os (hpc/ior, ior.c), or before commit ef47676 by the
    I/Os of one segment; rank 0 does at least one segment. Newer versions are not checked if it may
    do fewer: with a time limit, or random offsets in a shared file.
    """
    output, given = report.output, report.details.given
    by_own_ios = version_numbers(output.version)[:2] >= PER_SEGMENT
    unequal = (
        report.ends_by_time or not given or "f" in given or ("z" in given and "F" not in given)
    )
    if not output.transfer or (by_own_ios and unequal):
        return
    ios = output.block // output.transfer
    for name, rows in report.details.rows.items():
        for row in rows:
            latency, access = row.parts.get("latency"), row.parts.get("wr/rd")
            if latency is None or access is None:
                continue
            if _is_above(latency.low * ios, access.high):
                yield Contradiction("latency", latency.value * ios, access.value, direction=name)


def _nodes(report: IorReport) -> Iterator[Contradiction]:
    """Yield more nodes than there can be: each node after the first has a task.

    Not checked with -N: nodes are then those of all ranks, although there are fewer tasks.
    """
    output, given = report.output, report.details.given
    fewer = not given or given.keys() & {"N", "f"} or "numtasks" in given.get("O", "").lower()
    if fewer or report.details.faked or not output.tasks or not output.per_node:
        return
    most = 1 + max(output.tasks - output.per_node, 0)
    if output.nodes > most:
        yield Contradiction("nodes", output.nodes, most)


def _ranks(report: IorReport) -> Iterator[Contradiction]:
    """Yield rows of ranks that contradict the whole.

    Every rank occurs once, its rates are its bytes over its times, all bytes add up to the total,
    and no rank is slower than the whole.
    """
    tasks = report.output.tasks
    for name, rows in report.details.rows.items():
        for row in rows:
            ranks = [rank for rank, _ in row.ranks]
            if not ranks:
                continue
            if tasks and sorted(ranks) != list(range(tasks)):
                yield Contradiction("ranks", len(ranks), tasks, direction=name)
                continue
            yield from _rank_figures(name, row)


def _rank_figures(name: str, row: Row) -> Iterator[Contradiction]:
    moved = 0.0
    for rank, (whole_s, io_s, whole_rate, io_rate) in row.ranks:
        whole, own = whole_s * whole_rate, io_s * io_rate
        moved += whole
        if abs(whole - own) > PRINTED * own:
            yield Contradiction("rank-moved", whole / MIB, own / MIB, "", name, (str(rank),))
            return
    if row.moved is not None and abs(moved - row.moved) > PRINTED * row.moved:
        yield Contradiction("ranks-moved", moved / MIB, row.moved / MIB, direction=name)
    longest = max(figures[0] for _, figures in row.ranks)
    if longest > row.seconds.high * (1 + PRINTED):
        yield Contradiction("rank-time", longest, row.seconds.value, direction=name)


def _clock(report: IorReport) -> Iterator[Contradiction]:
    took_s = sum(row.seconds.low for rows in report.details.rows.values() for row in rows)
    return clock_contradictions(report, took_s)


CHECKS: Sequence[Callable[[IorReport], Iterator[Contradiction]]] = (
    _header, _settings, _iterations, _summary, _bytes, _parts, _latency, _nodes, _ranks, _clock,
)  # fmt: skip
