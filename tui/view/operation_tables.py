"""Operations of an MPI benchmark as plain text: progress, tables, and notes on how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isclose
from typing import TYPE_CHECKING

from tui.journal.progress import rank
from tui.metrics import units
from tui.metrics.registry import metric_of_operation, rate_of_operation
from tui.record.headline import meanings
from tui.text.form import of_generator, worded_from

if TYPE_CHECKING:
    from tui.journal.progress import Finished, MetadataView
    from tui.model.step_record import MetadataRecord, OperationRecord

NAME_WIDTH = 14
FIGURE_WIDTH = 11
SAME = 1e-6  # relative: mdtest prints three decimals
RANK_0 = "higher where rank 0 is faster than the slowest rank"


def progress_text(view: MetadataView, now_t: float) -> str:
    """Return the current state as one line: "iteration 2 of 3: stat, 0:12; create 41.2k, ~1.1M
    ops/s".
    """
    if not view.phase:
        return "ranks are starting"
    elapsed = units.duration(max(0.0, now_t - view.since_t))
    where = "ended, collecting results" if view.over else f"{view.phase}, {elapsed}"
    head = f"iteration {view.iteration} of {view.iterations}: {where}"
    rates = rates_of(view, view.iteration) or rates_of(view, view.iteration - 1)
    counted = "" if any(each.bytes_per_op for each in view.finished) else " ops/s"
    return f"{head}; {', '.join(rates)}{counted}" if rates else head


def rates_of(view: MetadataView, iteration: int) -> list[str]:
    """Return the rates of an iteration's finished phases as text: "create ~41.2k"."""
    own = [each for each in view.finished if each.iteration == iteration]
    own.sort(key=lambda each: rank(each.operation))
    return [f"{each.operation} {rate_text(each)}" for each in own]


def rate_text(each: Finished) -> str:
    """Return the rate of a finished phase, operations per second or bandwidth; "~" if estimated."""
    known = rate_of_operation(each.rate, each.bytes_per_op)
    return f"{'~' if each.estimated else ''}{metric_of_operation(each.bytes_per_op).text(known)}"


def name_width(metadata: MetadataRecord) -> int:
    """Return the width of the column of operation names, in characters."""
    return max(NAME_WIDTH, *(len(name) + 2 for name in metadata.operations), 0)


def metadata_lines(metadata: MetadataRecord, width: int = 80) -> list[str]:
    """Return the tables of operations as text lines."""
    return [line for table in metadata_tables(metadata, width) for line in table]


def metadata_tables(metadata: MetadataRecord, width: int = 80) -> list[list[str]]:
    """Return the tables of operations, each beginning with its titles: the summary, then the
    iterations.

    Two tables, because the tool's summary covers the slowest rank and its iterations rank 0: rank
    0's rate times the number of ranks may exceed the maximum. The second table has as many
    iterations as fit; the last title says how many there are. A single iteration is not repeated.
    """
    titles = "".join(f"{title:>{FIGURE_WIDTH}}" for title in ("max", "min", "mean", "std dev"))
    moving = {bool(each.bytes_per_op) for each in metadata.operations.values()}
    counted = "rate" if len(moving) > 1 else "bandwidth" if moving == {True} else "operations/s"
    wide = name_width(metadata)
    tables = [[f"{counted:<{wide}}{titles}"]]
    for name, each in metadata.operations.items():
        tables[0].append(_row(name, each, [each.max, each.min, each.mean, each.stddev], wide))
    most = max((len(each.iterations) for each in metadata.operations.values()), default=0)
    shown = min(most, max(1, (width - wide) // FIGURE_WIDTH))
    if most < 2:
        return tables
    numbers = [f"it. {number}" for number in range(1, shown + 1)]
    numbers[-1] += f"/{most}" if shown < most else ""
    head = "".join(f"{title:>{FIGURE_WIDTH}}" for title in numbers)
    rows = [
        _row(name, each, each.iterations[:shown], wide)
        for name, each in metadata.operations.items()
    ]
    title = "of rank 0" if rank_0_text(metadata) else "by iteration"
    return [*tables, [f"{title:<{wide}}{head}", *rows]]


def rank_0_text(metadata: MetadataRecord) -> str:
    """Return how an iteration's rate is computed from rank 0's, as text.

    Empty if the tool measured it over all ranks, if the summary is computed from iterations, or if
    rank 0 has the rates of the summary.
    """
    found = metadata.operations.values()
    made = any(each.from_iterations for each in found)
    if metadata.iterations_of != "rank 0" or made or all(map(_is_of_summary, found)):
        return ""
    ranks = units.exact(metadata.tasks) if metadata.tasks else "all"
    return f"its rate x {ranks} ranks"


def _is_of_summary(each: OperationRecord) -> bool:
    """Return whether the iterations have the maximum and minimum of the summary."""
    if not each.iterations or each.max is None or each.min is None:
        return not each.iterations
    ends = (max(each.iterations), each.max), (min(each.iterations), each.min)
    return all(isclose(seen, printed, rel_tol=SAME) for seen, printed in ends)


def _row(name: str, each: OperationRecord, values: Sequence[float | None], wide: int) -> str:
    mark = "~" if each.from_iterations else ""
    return f"{name + mark:<{wide}}" + "".join(
        f"{_rate(value, each.bytes_per_op):>{FIGURE_WIDTH}}" for value in values
    )


def metadata_notes(metadata: MetadataRecord, *, shift_told: bool = False) -> list[str]:
    """Return the notes that are needed to read the tables."""
    version = (
        f"{metadata.tool} {metadata.version}"
        if metadata.version
        else f"{metadata.tool} (version unknown)"
    )
    nodes = f" on {units.plural(metadata.nodes, 'node')}" if metadata.nodes else ""
    ranks = units.plural(metadata.tasks, "rank") if metadata.tasks else "an unknown number of ranks"
    mpi = f", {metadata.mpi}" if metadata.mpi else ""
    notes = [f"{version}: {ranks}{nodes}, {_items(metadata)}{mpi}"]
    made = any(each.from_iterations for each in metadata.operations.values())
    found = meanings(metadata)
    if meaning := found["meaning"]:
        notes.append(meaning)
    repeated = any(len(each.iterations) > 1 for each in metadata.operations.values())
    if repeated and (whose := rank_0_text(metadata)):
        above = any(
            each.max is not None and max(each.iterations, default=0.0) > each.max
            for each in metadata.operations.values()
        )
        notes.append(f"of rank 0: {whose}{f', {RANK_0}' if above else ''}")
    if metadata.shift_text and not shift_told:
        shift = worded_from({"by-generator": of_generator}, metadata.shift_text)
        notes.append(f"rank shift: {shift}")
    notes += metadata.printed
    notes += [text for name, each in metadata.operations.items() for text in _details(name, each)]
    if found["latency_meaning"]:
        notes.append(f"latency: {found['latency_meaning']}")
    if made:
        notes.append("~ computed from completed iterations; the tool printed no summary")
    return notes


def _details(name: str, each: OperationRecord) -> Iterator[str]:
    """Yield details of an operation by rank: latency, slowest and fastest rank and host."""
    parts = [each.printed] if each.printed else []
    if each.latency_s:
        texts = (units.latency(value and value * 1e9) for value in each.latency_s[:5])
        parts.append(f"latency {', '.join(texts)}")
    if len(each.rank_seconds) > 1:
        low, high = min(each.rank_seconds), max(each.rank_seconds)
        parts.append(f"ranks took {units.latency(low * 1e9)} to {units.latency(high * 1e9)}")
    if len(each.host_seconds) > 1:
        slow, fast = (
            pick(each.host_seconds, key=each.host_seconds.__getitem__) for pick in (max, min)
        )
        parts.append(f"slowest host {slow}, fastest {fast}")
    if parts:
        yield f"{name}: {'; '.join(parts)}"


def _items(metadata: MetadataRecord) -> str:
    """Return the work of each rank as text: number of files, or I/Os with their size."""
    moved = max((each.bytes_per_op for each in metadata.operations.values()), default=0)
    if not metadata.files or not metadata.items_per_rank:
        return f"I/Os of {units.size(moved)}" if moved else "files unknown"
    if not moved:
        each, total = (units.exact(count) for count in (metadata.items_per_rank, metadata.files))
        return f"{each} files per rank, {total} in total"
    each = f"{metadata.items_per_rank} I/Os of {units.size(moved)} per rank"
    return f"{each}, {units.size(metadata.files * moved)} in total"


def _rate(value: float | None, bytes_per_op: int = 0) -> str:
    if bytes_per_op:
        return metric_of_operation(bytes_per_op).text(rate_of_operation(value, bytes_per_op))
    return (
        units.UNKNOWN
        if value is None
        else units.exact(round(value))
        if value >= 100
        else f"{value:.3g}"
    )
