"""Operations of a metadata benchmark while a run is live: rates, times, hosts beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.metrics import units
from tui.metrics.registry import metric_of_operation, rate_of_operation
from tui.metrics.units import plural
from tui.model.event import ALL_OVER
from tui.text.line import (
    FAINT,
    LABEL,
    TEXT,
    TITLE,
    VALUE,
    Line,
    Run,
    clip,
    fit,
    rule,
    spaced,
    spread,
    width_of_runs,
)
from tui.text.plot import TimeAxis, axis_of
from tui.text.sparkline import Symbols
from tui.view.live_lanes import HostsOverTime, LaneCells
from tui.view.operation_tables import rate_text
from tui.view.operations import colour_of, mean_of

if TYPE_CHECKING:
    from tui.journal.progress import MetadataView

NAME = 15
LEAST_BAR = 12  # cells of an operation's bar with its text
CELL = 10
SPREAD = 9
TOTAL = 11  # cells of a lane's time, or of its figure
SHORT_S = 10.0
MOST_LANES = 8
LEAST_NAMED = 3  # cells beside a name: a blank, a bar, a gap
LEAST_OVER_TIME = 4  # rule, phases, one lane, times
PHASES = ("create", "stat", "read", "remove")


class Beside(Struct, frozen=True):
    """Host telemetry and another run's rates, shown next to the operations.

    `word` labels those rates.
    """

    hosts: HostsOverTime | None = None
    symbols: Symbols = "braille"
    word: str = ""
    rates: Mapping[str, float] = {}
    bytes_per_op: int = 0  # that each operation moves; rates are then shown as bandwidth

    @property
    def cell(self) -> int:
        """Width of a rate in cells; a bandwidth is wider because of its unit."""
        return CELL + 1 if self.bytes_per_op else CELL

    waits: str = ""  # what is waited for before the ranks are started
    in_tiles: bool = False  # large digits show the current phase and its time


NOTHING = Beside()


def live_lines(
    view: MetadataView | None,
    now: float,
    width: int,
    phases: tuple[str, ...] = PHASES,
    room: int = 99,
    beside: Beside = NOTHING,
) -> list[Line]:
    """Return the current phase and each operation's rate by iteration.

    Then, as far as they fit into `room` lines, the iterations' times, bars, and the hosts over
    time. Estimates are marked with "~".
    """
    if view is None or not view.phase:
        return [Line.of(("Operations  ", "title"), (beside.waits or "ranks are starting", LABEL))]
    lines = rate_lines(view, now, width, phases, beside)
    lanes = min(MOST_LANES, room - len(lines) - 1)
    if lanes > 0:
        lines += time_lines(view, now, width, lanes, phases)
    bars = bar_lines(view, width, phases, beside)
    if bars and len(lines) + len(bars) <= room:
        lines += bars
    return spaced([*lines, *over_time_lines(view, now, width, room - len(lines), beside)], room)


def rate_lines(
    view: MetadataView, now: float, width: int, phases: tuple[str, ...], beside: Beside
) -> list[Line]:
    """Return the current phase, and a row of rates per operation."""
    moving = {view.moved(each.operation, beside.bytes_per_op) > 0 for each in view.finished}
    cell = CELL + 1 if True in moving else beside.cell  # a bandwidth has a unit of its own
    before = cell if beside.rates else 0
    wide = max(NAME, *(len(phase) + 3 for phase in phases), 0)
    columns = max(1, min(view.iterations, (width - wide - SPREAD - cell - before) // cell))
    first = max(1, view.iteration - columns + 1)
    shown = range(first, first + columns)
    legend = "~ estimated from the time of the phase"
    told = [("Operations  ", "title"), *([] if beside.in_tiles else where(view, now))]
    if any(each.estimated for each in view.finished):
        told = spread(told, [(legend, LABEL)], width)
    head = Line.of(*clip(told, width))
    titles = (
        "".join(f"{f'it. {number}':>{cell}}" for number in shown)
        + f"{'mean':>{cell}}{'spread':>{SPREAD}}"
    )
    metric = metric_of_operation(beside.bytes_per_op)
    name = (fit("rate" if len(moving) > 1 else metric.counted or metric.title, wide), LABEL)
    lines = [head, Line.of(name, (titles, LABEL), (f"{beside.word:>{before}}", LABEL))]
    return [
        *lines,
        *(_operation(view, phase, shown, beside, (wide, cell, before)) for phase in phases),
    ]


def _operation(
    view: MetadataView, phase: str, shown: range, beside: Beside, cells: tuple[int, int, int]
) -> Line:
    """Return an operation's rates by iteration, their mean and spread, and the other run's rate.

    `cells`: width of the name, of a rate, and of the other run's rate.
    """
    (wide, cell, before), other, moved = (
        cells,
        beside.rates.get(phase),
        view.moved(phase, beside.bytes_per_op),
    )
    other_text = (
        metric_of_operation(moved).text(rate_of_operation(other, moved))
        if other is not None
        else ""
    )
    rates = {each.iteration: each for each in view.finished if each.operation == phase}
    here = phase == view.phase and not view.over
    runs: list[Run] = [(fit(f"{'› ' if here else '  '}{phase}", wide), colour_of(phase, TEXT))]
    for number in shown:
        found, running = rates.get(number), here and number == view.iteration
        text = rate_text(found) if found else "now" if running else "·"
        runs.append((f"{text:>{cell}}", VALUE if found else "accent" if running else FAINT))
    mean = mean_of(view, phase) if len(rates) > 1 or view.result is not None else None
    exact = view.result is not None or not any(each.estimated for each in rates.values())
    known = (
        metric_of_operation(moved).text(rate_of_operation(mean, moved)) if mean is not None else ""
    )
    runs.append((f"{known if exact or not known else f'~{known}':>{cell}}", VALUE))
    values = [each.rate for each in rates.values()]
    apart = (max(values) - min(values)) / max(values) if len(values) > 1 and max(values) else None
    runs.append((f"{'' if apart is None else units.share(apart):>{SPREAD}}", LABEL))
    return Line.of(*runs, (f"{other_text:>{before}}", TEXT))


def bar_lines(
    view: MetadataView, width: int, phases: tuple[str, ...], beside: Beside = NOTHING
) -> list[Line]:
    """Return a bar for each operation and recent iteration, relative to the operation's best.

    Empty without another run to compare with, or without room for the bars.
    """
    rates = {
        name: {each.iteration: each.rate for each in view.finished if each.operation == name}
        for name in phases
    }
    numbers = sorted({number for known in rates.values() for number in known})[-MOST_LANES:]
    if not (numbers and beside.rates):
        return []  # the table says the same
    cell = (width - NAME) // len(phases)
    if cell < LEAST_BAR:
        return []
    best = {
        phase: max([*rates[phase].values(), beside.rates.get(phase, 0.0)], default=0.0)
        for phase in phases
    }
    titles = [(fit(phase, cell), colour_of(phase, TEXT)) for phase in phases]
    lines = [
        rule("Rate by iteration", "relative to the best", width),
        Line.of((" " * NAME, TEXT), *titles),
    ]
    if beside.rates:
        runs = [
            run
            for phase in phases
            for run in _bar(beside.rates.get(phase), best[phase], cell, LABEL)
        ]
        lines.append(Line.of((fit(f"  {beside.word}", NAME), LABEL), *runs))
    for number in numbers:
        runs = [
            run
            for p in phases
            for run in _bar(rates[p].get(number), best[p], cell, colour_of(p, TEXT))
        ]
        lines.append(Line.of((fit(f"  it. {number}", NAME), LABEL), *runs))
    return lines


def _bar(rate: float | None, best: float, cell: int, role: str) -> list[Run]:
    """Return a rate as a bar, and how far it is below the best."""
    if rate is None or not best:
        return [(" " * cell, TEXT)]
    room = max(1, cell - 8)
    full = max(1, round(rate / best * room))
    said = "best" if rate == best else units.share(rate / best - 1, sign="+")
    return [
        ("━" * full, role),
        (fit(" " * (room - full) + " " + said, cell - full), TEXT if rate == best else LABEL),
    ]


def over_time_lines(
    view: MetadataView, now: float, width: int, room: int, beside: Beside
) -> list[Line]:
    """Return the phases of the benchmark over time, and below them telemetry of the hosts.

    Empty without telemetry or room.
    """
    columns = width - NAME - TOTAL
    if beside.hosts is None or not view.begun or room < LEAST_OVER_TIME or columns < 1:
        return []
    start, now = view.begun[0][0], view.since_t if view.over else now
    progress = view.progress(now)
    axis = axis_of(
        int(start), None, max(1.0, now - start + (progress[1] if progress is not None else 0.0))
    )
    lanes = beside.hosts.lines(axis, LaneCells(NAME, columns, TOTAL), room - 2, beside.symbols)
    if not lanes:
        return []
    cells = _cells(_course(view, now, axis), axis.span_s, columns)
    shown = min(len(lanes) - 1, len(beside.hosts.known))
    low = len(lanes) - 1 == shown  # a line each, without room for the ends of their scales
    scale: Run = (f" {beside.hosts.scale_text(shown)} " if low else "", LABEL)
    return [
        Line.of(
            *spread([("Hosts over time ", TITLE), scale], [(" now", LABEL)], width, "─", FAINT)
        ),
        Line.of((fit("  phase", NAME), LABEL), *cells),
        *lanes,
    ]


def _course(view: MetadataView, now: float, axis: TimeAxis) -> list[tuple[str, float, bool]]:
    """Return (phase, seconds, whether it has a name of its own) from the axis's start to now."""
    ends = [*(t for t, _ in view.begun[1:]), max(now, view.begun[-1][0])]
    spans = [
        (phase, end - t, phase not in ("", ALL_OVER))
        for (t, phase), end in zip(view.begun, ends, strict=True)
    ]
    return [("", view.begun[0][0] - axis.start_s, False), *spans]


def time_lines(
    view: MetadataView, now: float, width: int, lanes: int, phases: tuple[str, ...] = PHASES
) -> list[Line]:
    """Return a heading, and a lane for each of the last `lanes` iterations: the time of each phase.

    All have one scale, which includes the time expected for phases still to come. Empty before any
    time has passed.
    """
    last = view.iterations if view.over else view.iteration
    shown = range(max(1, last - lanes + 1), last + 1)
    spans = {number: _lane(view, number, now, phases) for number in shown}
    scale = max((sum(seconds for _, seconds, _ in lane) for lane in spans.values()), default=0.0)
    if scale <= 0:
        return []
    cut = f"last {plural(len(shown), 'iteration')}" if shown.start > 1 else ""
    lines = [rule("Time by phase", cut, width)]
    for number, lane in spans.items():
        spent = sum(seconds for _, seconds, known in lane if known)
        title = (fit(f"  it. {number}", NAME), LABEL)
        cells = _cells(lane, scale, max(1, width - NAME - TOTAL))
        free = width - NAME - TOTAL - width_of_runs(cells)
        lines.append(
            Line.of(title, *cells, (" " * max(0, free), TEXT), (f"{_length(spent):>{TOTAL}}", TEXT))
        )
    return lines


def _length(seconds: float) -> str:
    """Return the duration of an iteration; in tenths of a second if short."""
    return f"{seconds:.1f} s" if seconds < SHORT_S else units.duration(seconds)


def _lane(
    view: MetadataView, number: int, now: float, phases: tuple[str, ...]
) -> list[tuple[str, float, bool]]:
    """Return (phase, seconds, whether it has begun) for each phase of an iteration."""
    spent = view.spans(number)
    lane = [(phase, spent[phase], True) for phase in phases if phase in spent]
    if number != view.iteration or view.over:
        return lane
    if view.phase not in spent:
        lane.append((view.phase, max(0.0, now - view.since_t), True))
    return [
        *lane,
        *(
            (phase, seconds, False)
            for phase, seconds in view.ahead(now).items()
            if phase not in spent
        ),
    ]


def _cells(lane: list[tuple[str, float, bool]], scale: float, width: int) -> list[Run]:
    """Return a lane: each phase's name and time, as long as the phase took; expected time is faint.

    Times, then names, are left out if one of them does not fit: the colours match the table. The
    name of the latest phase is whole if there is room after it.
    """
    counts: list[int] = []
    at, done = 0.0, 0
    last = max((place for place, (_, _, known) in enumerate(lane) if known), default=-1)
    for place, (phase, seconds, known) in enumerate(lane):
        at += seconds
        least = len(phase) if place == last else 1
        count = max(round(at / scale * width) - done, least if known and seconds else 0)
        count = min(count, width - done)
        done += count
        counts.append(count)
    pairs = list(zip(lane, counts, strict=True))
    named = [
        place for place, ((phase, _, known), count) in enumerate(pairs) if known and phase and count
    ]
    names = [phase for phase, _, _ in lane]
    timed = [f"{phase} {_length(seconds)}" if phase else "" for phase, seconds, _ in lane]

    def fit_in(texts: list[str]) -> bool:
        return all(counts[place] >= len(texts[place]) + LEAST_NAMED for place in named[:-1])

    told = next((texts for texts in (timed, names) if fit_in(texts)), [""] * len(lane))
    runs: list[Run] = []
    for place, ((phase, _, known), count) in enumerate(pairs):
        whole, name = place == last, told[place]
        if whole:
            name = name if phase < name and len(name) < count else phase
        text = _named(name, count, whole=whole) if known else "─" * count
        runs.append((text, colour_of(phase, TEXT) if known else FAINT))
    return runs


def _named(name: str, count: int, *, whole: bool) -> str:
    """Return a phase's name in `count` cells, then a bar and, unless it is `whole`, a gap."""
    text = f"{name} {'━' * count}".lstrip()
    if whole:
        return text[:count]
    return text[: max(1, count - 1)].rstrip().ljust(count) if count else ""


def where(view: MetadataView, now: float) -> list[Run]:
    """Return the current iteration and phase, its time so far, and the time of the iteration
    before.
    """
    iteration: Run = (f"iteration {view.iteration} of {view.iterations}", VALUE)
    if view.result is not None:
        return [iteration, ("  done" if view.result.final else "  ended early", LABEL)]
    if view.over:
        return [iteration, ("  ended, collecting results", LABEL)]
    elapsed = units.duration(max(0.0, now - view.since_t))
    before = view.spans(view.iteration - 1).get(view.phase)
    of = f" of about {units.duration(before)}" if before else ""
    return [
        iteration,
        (f"  {view.phase} ", colour_of(view.phase, "accent")),
        (f"for {elapsed}{of}", TEXT),
    ]
