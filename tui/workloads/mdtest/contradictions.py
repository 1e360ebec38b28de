"""Find figures in mdtest's output that contradict each other.

Each relation follows from mdtest's source and holds for any run of the versions named; tolerances
are those of printed digits, and of time stamps in whole seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean

from tui.model.event import ONE_RANK, Contradiction, OperationResult
from tui.workloads.mdtest.output import (
    HONEST_SUMMARY,
    MULTIPLIES_STRIDE,
    MdtestOutput,
    RankFigures,
    at_least,
)
from tui.workloads.mpi_kept import clock_contradictions, number
from tui.workloads.reading import version_numbers

TEXTS = {
    "tasks": "launched with {told:.0f} tasks, but files for {other:.0f} tasks",
    "files-of-tasks": "{told:.0f} files, which {other:.0f} tasks cannot share equally",
    "files": "{told:.0f} files, but tasks and -n give {other:.0f}",
    "iterations": "summary of {told:.0f} iterations, but -i is {other:.0f}",
    "numbers": "summary of {told:.0f} iterations, but the output has {other:.0f}: {0}",
    "rates": "{0}: rates of {told:.0f} iterations, but the summary covers {other:.0f}",
    "mean": "{0}: mean {told:.3f} does not fit minimum and maximum (limit {other:.3f})",
    "deviation": (
        "{0}: standard deviation {told:.3f} does not fit minimum, mean and maximum"
        " (limit {other:.3f})"
    ),
    "summary": "{0}: {1} {told:.3f}, but {other:.3f} from the iterations",
    "items": "{0}: rate x time of iteration {1} is {told:.0f} items, not {other:.0f}",
    "tables": "{0}: rate x time of the tables is {told:.0f} items, not {other:.0f}",
    "ranks": "{told:.0f} rows of ranks, but ranks x iterations give {other:.0f}",
    "rank-items": "{0}: rate x time of rank {1} is {told:.6g} items, not {other:.0f}",
    "all-items": "{0}: rate x time of all ranks is {told:.6g} items, not {other:.0f}",
    "all-time": "{0}: all ranks took {told:.6g} s, but one took {other:.6g} s",
    "all-rate": (
        "{0}: all ranks did {told:.3f} ops/s, outside the range of the iterations (limit"
        " {other:.3f})"
    ),
    "rank-rates": "{0}: rates of {told:.0f} ranks, but {other:.0f} tasks",
    "rank-iterations": "{0}: ranks have {told:.0f} iterations, but the summary has {other:.0f}",
    "slowest": "{0}: {1} {told:.3f} is above {other:.3f}, the figure of the slowest ranks",
    "rank-summary": (
        "{0}: {1} rate of a rank is {told:.3f}, but the rates of all ranks give {other:.3f}"
    ),
    "map": "{told:.0f} tasks, but the node map has {other:.0f}",
    "more-nodes": "{told:.0f} nodes, but only {other:.0f} tasks",
    "nodes": "1 node, but {told:.0f} of {other:.0f} tasks ran on others",
    "shift": "ranks shifted by {told:.0f}, but -N gives {other:.0f}",
    "not-chosen": "{0}: {told:.3f} ops/s, but the command line selects only {1}",
    "no-rate": "the summary has no rate for {0}",
    "backwards": "mdtest finished {told:time} before it began",
    "clock": "phases took {told:time}, but mdtest finished {other:time} after it started",
}


DIGIT = 0.0005  # half a unit of the last printed digit
PRINTED = 1e-6  # of figures of ranks: seven digits or more
SECONDS_UP_TO = (4, 1)  # the table of "ms/op" has seconds of whole phases
TREE = frozenset("bzIL")  # options of a tree of directories, over which items are rounded
RANGE = frozenset("fls")  # runs with several numbers of tasks
OLD = (3, 0)  # before, the summary is by the fastest rank of each iteration
TIMED = "create-stonewall"  # part of "create"
CHOICE = {"C": "create", "T": "stat", "E": "read", "r": "remove", "U": "rename"}
PHASE_OF = {
    "create": "create", "stat": "stat", "read": "read", "remove": "remove",
    "dir-create": "create", "dir-stat": "stat", "dir-remove": "remove",
    "tree-create": "create", "tree-remove": "remove",
}  # fmt: skip


@dataclass
class MdtestReport:
    """One mdtest output with its command line; `start_s` and `end_s` are local time."""

    output: MdtestOutput = field(default_factory=MdtestOutput)
    details: RankFigures = field(default_factory=RankFigures)
    given: Mapping[str, str] = field(default_factory=dict)
    start_s: float | None = None
    end_s: float | None = None

    @property
    def rows(self) -> dict[str, OperationResult]:
        """The operations in the summary that ran, by name."""
        return {name: each for name, each in self.output.operations.items() if each.mean}

    @property
    def slowest(self) -> bool:
        """Whether the summary takes each iteration from its slowest rank."""
        return at_least(self.output.version, HONEST_SUMMARY)

    @property
    def due(self) -> int:
        """Items of each rank by the command line; 0: unknown, rounded, or ended by time."""
        ends_otherwise = self.given.keys() & {*TREE, "W", "x"} or self.details.hit_items
        return 0 if ends_otherwise else number(self.given, "n") or 0


def contradictions(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield pairs of figures that contradict each other."""
    if report.given.keys() & RANGE:
        return  # runs with several numbers of tasks
    for check in CHECKS:
        yield from check(report)


def _header(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield numbers of nodes, tasks or files that contradict each other or -n."""
    output, due = report.output, number(report.given, "n")
    if output.tasks and output.nodes > output.tasks and not report.details.faked:
        yield Contradiction("more-nodes", output.nodes, output.tasks)
    if not output.items_tasks or not output.tasks:
        return
    if output.items_tasks != output.tasks:
        yield Contradiction("tasks", output.tasks, output.items_tasks)
    elif output.items % output.tasks:
        yield Contradiction("files-of-tasks", output.items, output.tasks)
    # with a tree or -I, mdtest rounds
    elif due and not report.given.keys() & TREE and due * output.tasks != output.items:
        yield Contradiction("files", output.items, due * output.tasks)


def _counted(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield numbers of iterations that differ between -i, the summary, and the output of -v."""
    count, due = report.output.summary_iterations, number(report.given, "i")
    if count is None:
        return
    if due and due != count:
        yield Contradiction("iterations", count, due)
    numbers = report.details.numbers
    if numbers and numbers != list(range(1, count + 1)):
        listed = ", ".join(map(str, numbers[:9]))
        yield Contradiction("numbers", count, len(numbers), names=(listed,))
        return
    for name, each in report.output.operations.items():
        if each.iterations and len(each.iterations) != count and name != TIMED:
            yield Contradiction("rates", len(each.iterations), count, names=(name,))


def _summary(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield a mean or deviation that is impossible with the printed extremes."""
    output = report.output
    for name, each in report.rows.items():
        count = output.summary_iterations or 0
        if name not in ONE_RANK and at_least(output.version, OLD) and not report.slowest:
            count *= output.tasks
        if None in (each.max, each.min, each.stddev) or not count:
            continue
        high, low, mean = each.max or 0.0, each.min or 0.0, each.mean or 0.0
        least, most = (low * (count - 1) + high) / count, (low + high * (count - 1)) / count
        if not least - 2 * DIGIT <= mean <= most + 2 * DIGIT:
            yield Contradiction("mean", mean, least if mean < least else most, names=(name,))
            continue
        least, most = _deviations(count, high, low, mean, sample=report.slowest)
        if not least <= (each.stddev or 0.0) <= most:
            bound = least if (each.stddev or 0.0) < least else most
            yield Contradiction("deviation", each.stddev or 0.0, bound, names=(name,))


def _deviations(
    count: int, high: float, low: float, mean: float, *, sample: bool
) -> tuple[float, float]:
    """Return the smallest and the largest possible deviation of rates with these extremes and mean:
    the other rates are all equal, or all at an extreme (Bhatia and Davis).
    """
    if count == 1:
        return 0.0, DIGIT
    others = (count * mean - high - low) / (count - 2) - mean if count > 2 else 0.0
    least = (high - mean) ** 2 + (mean - low) ** 2 + (count - 2) * others**2
    digits = 2 * DIGIT
    most = count * max(high - mean + digits, 0.0) * max(mean - low + digits, 0.0)
    over = count - 1 if sample else count
    slack = digits * (5 if count == 3 else 2)
    low_s, high_s = sqrt(least / over), sqrt(most / over)
    return low_s - slack, (low_s if count <= 3 else high_s) + slack


def _listed(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield figures of the summary that contradict the iterations that -v prints.

    For the tree, which one rank measures, both must agree. Other iterations are by rank 0's clock,
    while the summary has the slowest or fastest rank.
    """
    for name, each in report.rows.items():
        rates = each.iterations
        if not rates or len(rates) != report.output.summary_iterations:
            continue
        one = name in ONE_RANK
        digits = DIGIT * (1 if one or not report.slowest else report.output.tasks + 1) + DIGIT
        old = not at_least(report.output.version, OLD)
        for what, summed, of in (
            ("maximum", each.max, max(rates)),
            ("minimum", each.min, min(rates)),
            ("mean", each.mean, fmean(rates)),
        ):
            if summed is None or abs(summed - of) <= digits:
                continue
            least = one or old or (what == "maximum" and not report.slowest)
            beyond = (one or report.slowest) if summed > of else least
            if beyond:
                yield Contradiction("summary", summed, of, names=(name, what))


def _items(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield each operation's first iteration in which rate x time is not the number of items."""
    output = report.output
    hit = max(report.details.hit_items, default=0)
    if not report.due and not hit:
        return
    least, most = report.due * output.tasks, (hit or report.due) * output.tasks
    for name, each in output.operations.items():
        if name in ONE_RANK or name == TIMED:
            continue
        for at, (rate, seconds) in enumerate(zip(each.iterations, each.seconds, strict=False), 1):
            digit = DIGIT * (output.tasks if report.slowest else 1) + DIGIT
            low, high = _product(rate, digit, seconds, DIGIT)
            if rate and not (low <= most and (hit or high >= least)):
                yield Contradiction("items", rate * seconds, most, names=(name, str(at)))
                break


def _product(one: float, slack: float, other: float, other_slack: float) -> tuple[float, float]:
    """Return the least and the largest product of two rounded figures."""
    least = max(one - slack, 0.0) * max(other - other_slack, 0.0)
    return least * (1 - PRINTED), (one + slack) * (other + other_slack) * (1 + PRINTED)


def _tables(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield operations whose rate x time, in the tables of -P, is not the number of items of all
    ranks, or differs between the fastest and the slowest iteration.
    """
    output = report.output
    if not report.slowest or version_numbers(output.version)[:2] > SECONDS_UP_TO:
        return
    for name, each in report.rows.items():
        times = output.times.get(name)
        if times is None or not each.max or not each.min:
            continue
        spans = [
            _product(rate, DIGIT, seconds or 0.0, DIGIT)
            for rate, seconds in ((each.max, times.min), (each.min, times.max))
        ]
        low, high = max(span[0] for span in spans), min(span[1] for span in spans)
        due = report.due * output.tasks if name not in ONE_RANK else 0
        if not due and name not in ONE_RANK:
            continue  # iterations may have different numbers
        if low > high or (due and not low <= due <= high):
            yield Contradiction("tables", high if due > high else low, due or high, names=(name,))


def _ranks(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield contradictions in the figures of ranks.

    Rows must be complete, with rate x time the number of items; if they are, the row of all ranks
    and the slowest ranks are checked as well.
    """
    output, details = report.output, report.details
    count = output.summary_iterations or 0
    ranks = [rank for rank, _ in details.rows]
    if details.rows and count and output.tasks and ranks != [*range(output.tasks)] * count:
        yield Contradiction("ranks", len(ranks), output.tasks * count)
        return
    for rank, figures in details.rows:
        for name, (rate, seconds) in figures.items():
            items = rate * seconds
            whole = report.due or round(items)
            if abs(items - whole) > PRINTED * whole:
                yield Contradiction("rank-items", items, whole, names=(name, str(rank)))
                return
    yield from _all_ranks(report)
    yield from _slowest_ranks(report)


def _all_ranks(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield figures in the row of all ranks that do not follow from the first iteration: all items
    divided by the slowest rank's time.
    """
    output, details = report.output, report.details
    for name, (rate, seconds) in details.all_ranks.items():
        items, due = rate * seconds, report.due * output.tasks
        if name in ONE_RANK:  # directories
            due = round(items)
        if due and abs(items - due) > PRINTED * due:
            yield Contradiction("all-items", items, due, names=(name,))
        own = [times[name][1] for _, times in details.rows[: output.tasks] if name in times]
        if own and max(own) > seconds * (1 + PRINTED):
            yield Contradiction("all-time", seconds, max(own), names=(name,))
        each = report.rows.get(name)
        if each is not None and each.max and each.min is not None and due and name not in ONE_RANK:
            slack = DIGIT + PRINTED * rate
            if not each.min - slack <= rate <= each.max + slack:
                bound = each.min if rate < each.min else each.max
                yield Contradiction("all-rate", rate, bound, names=(name,))


def _slowest_ranks(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield summary rates above the rates of the slowest ranks before the barrier, rates of single
    ranks that do not follow from all ranks, and missing ranks or iterations.
    """
    output = report.output
    for name, iterations in _rates_of_ranks(report).items():
        if any(len(rates) != output.tasks for rates in iterations):
            yield Contradiction("rank-rates", len(iterations[0]), output.tasks, names=(name,))
            continue
        if len(iterations) != output.summary_iterations:
            counted = output.summary_iterations or 0
            yield Contradiction("rank-iterations", len(iterations), counted, names=(name,))
            continue
        if name in ONE_RANK:
            continue
        slowest = [min(rates) * output.tasks for rates in iterations]
        flat = [rate for rates in iterations for rate in rates]
        each = report.rows.get(name)
        pairs = [] if each is None or not report.slowest else [
            ("maximum", each.max, max(slowest)), ("minimum", each.min, min(slowest)),
            ("mean", each.mean, fmean(slowest)),
        ]  # fmt: skip
        for what, summed, of in pairs:
            if summed is not None and summed > of * (1 + PRINTED) + DIGIT:
                yield Contradiction("slowest", summed, of, names=(name, what))
        for what, summed, of in zip(
            ("largest", "smallest", "mean"),
            report.details.summary.get(name, ()),
            (max(flat), min(flat), fmean(flat)),
            strict=False,
        ):
            if abs(summed - of) > of * PRINTED + DIGIT:
                yield Contradiction("rank-summary", summed, of, names=(name, what))


def _rates_of_ranks(report: MdtestReport) -> dict[str, list[list[float]]]:
    """Return the rates of all ranks by operation and iteration, for operations that ran."""
    found = {name: list(each) for name, each in report.details.processes.items()}
    tasks, rows = report.output.tasks, report.details.rows
    known = [set(figures) for _, figures in rows]
    for name in set.intersection(*known) - found.keys() if known and tasks else ():
        rates = [figures[name][0] for _, figures in rows]
        found[name] = [rates[at : at + tasks] for at in range(0, len(rates), tasks)]
    return {name: each for name, each in found.items() if any(map(any, each))}


def _nodes(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield a node map that does not have one digit per task, or a shift that does not follow from
    -N.

    On a single node all digits are 1.
    """
    output = report.output
    nodemap = output.nodemap
    if not nodemap.isdigit() or not output.tasks or "a" in report.given:
        return
    if len(nodemap) != output.tasks and len(nodemap) < MOST_TASKS:
        yield Contradiction("map", output.tasks, len(nodemap))
    elif output.nodes == 1 and "0" in nodemap:
        yield Contradiction("nodes", nodemap.count("0"), output.tasks)
    stride = number(report.given, "N")
    if output.shift < 0 or not stride or not at_least(output.version, MULTIPLIES_STRIDE):
        return
    several = output.nodes > 1 and nodemap[1:2] == "1"
    if several and "0" not in nodemap:
        return  # nodes with the same name
    due = stride * nodemap.count("1") if several else stride
    if len(nodemap) < MOST_TASKS and due != output.shift:
        yield Contradiction("shift", output.shift, due)


MOST_TASKS = 10_000  # a longer map is cut off


def _phases(report: MdtestReport) -> Iterator[Contradiction]:
    """Yield rates of phases that -C, -T, -E and -r exclude, and included phases without a rate."""
    if not report.given:
        return
    chosen = [CHOICE[name] for name in report.given if name in CHOICE] or list(CHOICE.values())
    for name, each in report.output.operations.items():
        phase = PHASE_OF.get(name)
        if phase is not None and phase not in chosen and (each.mean or any(each.iterations)):
            rate = each.mean or max(each.iterations)
            yield Contradiction("not-chosen", rate, 0.0, names=(name, ", ".join(chosen)))
    if report.output.summary_iterations is None or not report.output.finished or not report.rows:
        return
    for name in _rows_due(report.given):
        row = report.output.operations.get(name)
        if row is None or (row.mean == 0 and report.due and PHASE_OF[name] in chosen):
            yield Contradiction("no-rate", 0.0, 0.0, names=(name,))


def _rows_due(given: Mapping[str, str]) -> Sequence[str]:
    """Return the operations in every summary; with -F or -D only those on files or
    directories.
    """
    files, dirs = "F" in given or "D" not in given, "D" in given or "F" not in given
    return [
        name
        for name in PHASE_OF
        if (dirs if name.startswith("dir-") else files) and name not in ONE_RANK
    ]


def _clock(report: MdtestReport) -> Iterator[Contradiction]:
    return clock_contradictions(report, _took_s(report))


def _took_s(report: MdtestReport) -> float:
    """Return the least time that the phases took: as printed, or from items and mean rates, which
    are at least those of the slowest rank.
    """
    output, took_s = report.output, 0.0
    count = output.summary_iterations or 1
    for name, each in output.operations.items():
        if name == TIMED:
            continue
        timed = [s for rate, s in zip(each.iterations, each.seconds, strict=False) if rate]
        if timed:
            took_s += sum(max(seconds - DIGIT, 0.0) for seconds in timed)
        elif each.mean and report.due and name not in ONE_RANK:
            took_s += count * report.due * output.tasks / each.mean
    return took_s


CHECKS: Sequence[Callable[[MdtestReport], Iterator[Contradiction]]] = (
    _header, _counted, _summary, _listed, _items, _tables, _ranks, _nodes, _phases, _clock,
)  # fmt: skip
