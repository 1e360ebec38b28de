"""Result: the lines of the tab Telemetry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.app.screens.result_page import Page, course
from tui.metrics import units
from tui.metrics.telemetry import metric_of
from tui.text.line import LABEL, TEXT, WARN, Line, Run, fit, labelled, rule
from tui.view.step_notes import busiest_link, load_table

if TYPE_CHECKING:
    from tui.model.step_record import HostTelemetryRecord

NAME_WIDTH, LINK_WIDTH = 18, 8
PERCENTAGES = (("cpu.busy", "CPU busy"), ("core.busy", "Busiest core"))


def telemetry_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return the telemetry of a step's hosts, with long lines wrapped."""
    step = page.shown_step
    if step is None:
        return []
    found = load_table(step, "clients", page.record.thresholds, width)
    lines = [rule("Load on hosts", "mean/maximum during the measurement", width)] if found else []
    for line in found:
        short = line.width <= width
        lines += (
            [line]
            if short
            else labelled(line.runs[:-1], [line.runs[-1]], width, None if line.runs[1:] else 2)
        )
    for column, title in PERCENTAGES:
        lines += [*([Line()] if lines else []), *percentages(page, column, title, width)]
    return [*lines, Line(), *links(page, width)]


def percentages(page: Page, name: str, title: str, width: int) -> Iterator[Line]:
    """Yield a percentage of each machine over time, one line per machine; nothing if unknown."""
    hosts = [host for host in _hosts(page) if any(host.values_of(name))]
    if hosts:
        yield rule(f"{title} over time", "0 to 100 %", width)
    for host in hosts:
        mean = host.mean_of(name)
        full = metric_of(name).is_full(mean, page.record.thresholds)
        text = "" if mean is None else f"{mean:.0f} %"
        values = host.values_of(name)[host.quiet :]
        yield _line(page, host.host, values, 100.0, (f"{text:>8}", WARN if full else LABEL), width)


def links(page: Page, width: int) -> Iterator[Line]:
    """Yield the traffic of each machine's busiest link over time, all on one scale."""
    found = [
        (host, link[1], _traffic(host, ".".join(link)))
        for host in _hosts(page)
        if (link := busiest_link(host)) is not None
    ]
    top = max((value or 0.0 for _, _, values in found for value in values), default=0.0)
    if not top:
        return
    yield rule("Busiest NIC over time, both directions", f"0 to {units.bandwidth(top)}", width)
    for host, name, values in found:
        known = [value for value in values if value is not None]
        mean = units.bandwidth(sum(known) / len(known)) if known else ""
        said: Run = (f" {fit(name, LINK_WIDTH)}{mean:>11}", LABEL)
        yield _line(page, host.host, values, top, said, width)


def _hosts(page: Page) -> Sequence[HostTelemetryRecord]:
    return page.shown_step.telemetry if page.shown_step is not None else ()


def _line(
    page: Page, host: str, values: Sequence[float | None], top: float, said: Run, width: int
) -> Line:
    """Return the name of a host, its values over time, and a text."""
    name = min(NAME_WIDTH, max(len(each.host) for each in _hosts(page)) + 1)
    line = course(values, width - name - len(said[0]), page.symbols, top)
    return Line.of((fit(host, name), TEXT), (line, "other"), said)


def _traffic(host: HostTelemetryRecord, link: str) -> list[float | None]:
    """Return what a link received and sent in each interval under load; None if unknown."""
    names = [f"{link}.{way}" for way in ("rx", "tx")]
    known = [host.values_of(name)[host.quiet :] for name in names if host.column(name) is not None]
    return [
        None if None in values else sum(value or 0.0 for value in values)
        for values in zip(*known, strict=True)
    ]
