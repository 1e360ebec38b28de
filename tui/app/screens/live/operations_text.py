"""What the screens say of a metadata benchmark: its phase of now, and operations per second of each iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.metrics import units
from tui.text.line import FAINT, LABEL, TEXT, VALUE, Line, Run, clip, fit, rule, width_of_runs

if TYPE_CHECKING:
    from tui.journal.metadata import MetadataView
    from tui.model.step_record import MetadataRecord

NAME = 15
CELL = 10
SPREAD = 9
TOTAL = 8  # cells of a lane's time
MOST_LANES = 8
COLOURS = {"create": "write", "stat": "read", "read": "latency", "remove": "other"}
PHASES = ("create", "stat", "read", "remove")


def live_lines(
    view: MetadataView | None, now: float, width: int, phases: tuple[str, ...] = PHASES, room: int = 99
) -> list[Line]:
    """Return the phase of now, a row an operation with its rate in each iteration, and the time of each iteration.

    Estimates carry "~". `room`: lines that there are at most for all of it.
    """
    if view is None or not view.phase:
        return [Line.of(("Operations  ", "title"), ("ranks are starting", LABEL))]
    columns = max(1, min(view.iterations, (width - NAME - SPREAD) // CELL))
    first = max(1, view.iteration - columns + 1)
    shown = range(first, first + columns)
    head = Line.of(*clip([("Operations  ", "title"), *where(view, now)], width))
    titles = "".join(f"{f'it. {number}':>{CELL}}" for number in shown) + f"{'spread':>{SPREAD}}"
    lines = [head, Line.of((fit("ops/s", NAME), LABEL), (titles, LABEL))]
    lines += [_operation(view, phase, shown) for phase in phases]
    lanes = min(MOST_LANES, room - len(lines) - 1)
    return [*lines, *time_lines(view, now, width, lanes, phases)] if lanes > 0 else lines


def _operation(view: MetadataView, phase: str, shown: range) -> Line:
    """Return the rates of one operation, and how far its iterations are apart."""
    rates = {each.iteration: each for each in view.finished if each.operation == phase}
    here = phase == view.phase and not view.over
    runs: list[Run] = [(fit(f"{'› ' if here else '  '}{phase}", NAME), COLOURS.get(phase, TEXT))]
    for number in shown:
        found, running = rates.get(number), here and number == view.iteration
        text = f"{'~' if found.estimated else ''}{units.iops(found.rate)}" if found else "now" if running else "·"
        runs.append((f"{text:>{CELL}}", VALUE if found else "accent" if running else FAINT))
    values = [each.rate for each in rates.values()]
    apart = (max(values) - min(values)) / max(values) if len(values) > 1 and max(values) else None
    return Line.of(*runs, (f"{'' if apart is None else units.percent(apart):>{SPREAD}}", LABEL))


def time_lines(view: MetadataView, now: float, width: int, lanes: int, phases: tuple[str, ...] = PHASES) -> list[Line]:
    """Return a lane an iteration, on one scale: how long each phase took, and what is still to be expected."""
    last = view.iterations if view.over else view.iteration
    shown = range(max(1, last - lanes + 1), last + 1)
    spans = {number: _lane(view, number, now, phases) for number in shown}
    scale = max((sum(seconds for _, seconds, _ in lane) for lane in spans.values()), default=0.0)
    if scale <= 0:
        return []
    lines = [rule("Time of each phase", "", width)]
    for number, lane in spans.items():
        spent = sum(seconds for _, seconds, known in lane if known)
        title = (fit(f"  it. {number}", NAME), LABEL)
        cells = _cells(lane, scale, max(1, width - NAME - TOTAL))
        free = width - NAME - TOTAL - width_of_runs(cells)
        lines.append(Line.of(title, *cells, (" " * max(0, free), TEXT), (f"{units.duration(spent):>{TOTAL}}", TEXT)))
    return lines


def _lane(view: MetadataView, number: int, now: float, phases: tuple[str, ...]) -> list[tuple[str, float, bool]]:
    """Return (phase, seconds, whether they are over) of an iteration."""
    spent = view.spans(number)
    lane = [(phase, spent[phase], True) for phase in phases if phase in spent]
    if number != view.iteration or view.over:
        return lane
    if view.phase not in spent:
        lane.append((view.phase, max(0.0, now - view.since_t), True))
    return [*lane, *((phase, seconds, False) for phase, seconds in view.ahead(now).items() if phase not in spent)]


def _cells(lane: list[tuple[str, float, bool]], scale: float, width: int) -> list[Run]:
    """Return a lane: the name of each phase, drawn out for as long as it took; weak is what is only expected."""
    runs: list[Run] = []
    at, done = 0.0, 0
    for phase, seconds, known in lane:
        at += seconds
        count = max(round(at / scale * width) - done, 1 if known and seconds else 0)
        count = min(count, width - done)
        done += count
        text = (phase + " " + "━" * count if known else "─" * count)[:count]
        runs.append((text, COLOURS.get(phase, TEXT) if known else FAINT))
    return runs


def where(view: MetadataView, now: float) -> list[Run]:
    """Return iteration and phase, for how long that has lasted, and how long it lasted before."""
    iteration: Run = (f"iteration {view.iteration} of {view.iterations}", VALUE)
    if view.result is not None:
        return [iteration, ("  done" if view.result.final else "  ended early", LABEL)]
    if view.over:
        return [iteration, ("  over, results are taken", LABEL)]
    elapsed = units.duration(max(0.0, now - view.since_t))
    before = view.spans(view.iteration - 1).get(view.phase)
    of = f" of ~{units.duration(before)}" if before else ""
    return [iteration, (f"  {view.phase} ", COLOURS.get(view.phase, "accent")), (f"for {elapsed}{of}", TEXT)]


def result_lines(metadata: MetadataRecord, width: int) -> list[Line]:
    """Return the table of operations, and what must be known to read it right."""
    import textwrap

    from tui.results.record.metadata import metadata_lines, metadata_remarks

    header, *rows = metadata_lines(metadata)
    lines = [Line.of(*clip([(header, "title")], width))]
    for row in rows:
        name = row[:14].strip(" ~")
        lines.append(Line.of(*clip([(row[:14], COLOURS.get(name, TEXT)), (row[14:], VALUE)], width)))
    for text in metadata_remarks(metadata):
        lines += [Line.of((part, LABEL)) for part in textwrap.wrap(text, width, subsequent_indent="  ")]
    return lines
