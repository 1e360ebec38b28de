"""The tabs of a result: each is declared once, with what it shows and when there is anything to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tui.app.screens.result.about_text import commands_lines, facts_lines, findings_lines, telemetry_lines
from tui.app.screens.result.hosts_text import hosts_lines
from tui.app.screens.result.latency_text import latency_lines
from tui.app.screens.result.page import Page
from tui.app.screens.result.published_text import published_lines
from tui.app.screens.result.text import steps, summary_lines
from tui.app.screens.result.time_text import time_lines
from tui.results.objections.text import objection_lines
from tui.text.line import LABEL, TEXT, Line, Run, clip, width_of_runs

GAP = 2
LESS, MORE = "‹ ", " ›"  # there are more tabs than fit


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab: its name, its title, its lines for a width and a height of charts, and whether a page has it.

    `of_step`: it shows one step of several, so the list of steps stands above.
    """

    name: str
    title: str
    lines: Callable[[Page, int, int], list[Line]]
    has: Callable[[Page], bool] = lambda _: True
    of_step: bool = False


def _defend(page: Page, width: int, _: int) -> list[Line]:
    return objection_lines(page.answers, width, judged=page.record.checks is not None)


def _published(page: Page, width: int, _: int) -> list[Line]:
    return published_lines(page.published, page.record.profile.tag, width)


def _has_latencies(page: Page) -> bool:
    return any(step.results.aggregate for step in page.record.steps)


def _has_series(page: Page) -> bool:
    return any(step.series is not None for step in page.record.steps)


def _has_hosts(page: Page) -> bool:
    return any(step.results.per_host for step in page.record.steps)


def _has_telemetry(page: Page) -> bool:
    return any(step.telemetry for step in page.record.steps)


TABS: tuple[Tab, ...] = (
    Tab("summary", "Summary", summary_lines),
    Tab("defend", "Defend", _defend, lambda page: bool(page.answers)),
    Tab("latency", "Latency", latency_lines, _has_latencies, of_step=True),
    Tab("time", "Time", time_lines, _has_series, of_step=True),
    Tab("hosts", "Hosts", hosts_lines, _has_hosts, of_step=True),
    Tab("findings", "Findings", findings_lines),
    Tab("facts", "Facts", facts_lines),
    Tab("load", "Telemetry", telemetry_lines, _has_telemetry, of_step=True),
    Tab("commands", "Commands", commands_lines, of_step=True),
    Tab("published", "Published", _published, lambda page: page.published is not None or page.tab == "published"),
)
"""In the order in which they stand; one that a page does not have is left out."""


def tabs_of(page: Page) -> list[Tab]:
    """Return the tabs that a page has."""
    return [tab for tab in TABS if tab.has(page)]


def shown_tab(page: Page) -> Tab:
    """Return the tab that is shown."""
    return next((tab for tab in tabs_of(page) if tab.name == page.tab), TABS[0])


def beside(page: Page, places: int) -> str:
    """Return the name of the tab so many places further; behind the last one comes the first."""
    names = [tab.name for tab in tabs_of(page)]
    return names[(names.index(shown_tab(page).name) + places) % len(names)]


def tab_runs(page: Page, width: int) -> list[tuple[str, list[Run]]]:
    """Return name and runs of the tabs that fit around the one that is shown."""
    tabs, here = tabs_of(page), shown_tab(page).name
    first = taken = 0
    while first < len(tabs) - 1 and taken + _until(tabs[first:], here) > width:
        first, taken = first + 1, len(LESS)
    found: list[tuple[str, list[Run]]] = []
    for tab in tabs[first:]:
        if taken + len(tab.title) > width:
            break
        found.append((tab.name, [(tab.title, "accent" if tab.name == here else LABEL)]))
        taken += len(tab.title) + GAP
    return found


def _until(tabs: list[Tab], here: str) -> int:
    names = [tab.name for tab in tabs]
    return sum(len(tab.title) + GAP for tab in tabs[: names.index(here) + 1]) if here in names else 0


def tab_line(page: Page, width: int) -> Line:
    """Return the line of tabs, the shown one accented; what has no room is left out at its ends."""
    shown = tab_runs(page, width - len(MORE))
    runs: list[Run] = [(_before(page, shown), LABEL)]
    for place, (_, part) in enumerate(shown):
        runs += [(" " * GAP if place else "", TEXT), *part]
    more = (MORE, LABEL) if shown[-1][0] != tabs_of(page)[-1].name else ("", LABEL)
    return Line.of(*clip([*runs, more], width))


def _before(page: Page, shown: list[tuple[str, list[Run]]]) -> str:
    return LESS if shown[0][0] != tabs_of(page)[0].name else ""


def tab_at(page: Page, width: int, x: int) -> str:
    """Return the name of the tab that stands in a column of the line; empty where there is none."""
    shown = tab_runs(page, width - len(MORE))
    edge = len(_before(page, shown))
    for name, part in shown:
        edge += width_of_runs(part) + GAP
        if x < edge:
            return name
    return ""


def page_lines(page: Page, width: int, chart_height: int) -> list[Line]:
    """Return the lines of the shown tab."""
    tab = shown_tab(page)
    above = steps(page, width) if tab.of_step else []
    return [*above, *tab.lines(page, width, chart_height)]
