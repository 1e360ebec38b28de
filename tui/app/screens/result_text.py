"""Result: the lines of the summary (headline, verdict, bottleneck, figures), and all tabs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.app.screens.result_charts import chart_lines, row_charts, telemetry_lines
from tui.app.screens.result_commands import commands_lines
from tui.app.screens.result_details import (
    facts_lines,
    findings_lines,
    hosts_lines,
    lagging_text,
    latency_lines,
    straggler_lines,
    time_lines,
)
from tui.app.screens.result_page import (
    ASIDE,
    NARROW,
    Page,
    columns,
    hint_lines,
    matrix_lines,
    published_lines,
    row,
)
from tui.app.screens.result_refused import refused_lines
from tui.app.screens.result_tiles import (
    STRAGGLER,
    figure_tiles,
    headline,
    judgement,
    proved,
    verdict_lines,
)
from tui.app.widgets.graph_panels import KEYS
from tui.library.summary import NOT_SEALED
from tui.metrics import registry, units
from tui.metrics.figures import latency_of
from tui.metrics.registry import METRICS
from tui.model.plan import Headline
from tui.model.quantities import parse_duration
from tui.record.cells import invalid_steps, step_figure
from tui.record.headline import told_headline
from tui.text.line import (
    LABEL,
    TEXT,
    VALUE,
    Line,
    Run,
    clip,
    fit,
    labelled,
    packed,
    rule,
    spread,
    width_of,
    width_of_runs,
)
from tui.view.findings import early_text
from tui.view.objections import objection_lines, standing_runs
from tui.view.plan import recorded_title
from tui.view.search import capacity_lines
from tui.view.step_notes import (
    VERDICTS,
    measured_nothing,
    problem_lines,
    step_label,
)

if TYPE_CHECKING:
    from tui.model.record import RunRecord
    from tui.model.step_record import StepRecord

WIDEST_LABEL = 26  # of a row of figures: a wider gap to the numbers is hard to read
STATES = {
    "complete": "badge-good",
    "partial": "badge-warn",
    "aborted": "badge-warn",
    "failed": "badge-bad",
}


def summary_lines(page: Page, width: int, chart_height: int) -> list[Line]:
    """Return the summary: figures, verdict, bottleneck, latencies, hosts, chart, findings.

    Objections and published results follow the findings, before any charts of metadata operations
    or of a suite's row; on a narrow screen, a line below the bottleneck counts them. A run that
    measured nothing has the reason and its findings instead.
    """
    found = finding_lines(page, width)
    if measured_nothing(page.record):
        lines = [about(page, width), *refused_lines(page, width)]
        return [*lines, *([Line()] if found else []), *found]
    asides = aside_lines(page, width)
    lines, hosts = figure_lines(page, width), host_notes(page, width)
    gap = [Line()] if width >= NARROW else []
    if page.record.search is not None:
        search = page.record.search
        lines += [*gap, *capacity_lines(search, width, chart_height, coloured=page.colors)]
        return [*lines, *hosts, *found, *([Line()] if found else []), *asides]
    if page.shown_matrix is not None:
        lines += [*gap, *matrix_lines(page.shown_matrix, width, chart_height), *gap]
        lines += [*hosts, *found, *([Line()] if found and asides else []), *asides]
        return [*lines, *row_charts(page, width, chart_height)]
    lines += hosts
    if page.all_hosts:  # else there are no samples to draw
        lines += chart_lines(page, width, chart_height)
    lines += [*found, *([Line()] if asides else []), *asides]
    step = page.shown_step
    if step is None or step.metadata is None:
        return lines
    from tui.view.operation_chart import operation_charts

    charts = operation_charts(step.metadata, width, chart_height, page.symbols)
    return [*lines, *([Line()] if charts else []), *charts]


def figure_lines(page: Page, width: int) -> list[Line]:
    """Return the summary's lines above its hosts: tiles, verdict, bottleneck, table of figures."""
    lines = [about(page, width), *headline(page, width), *proved(page.record.proves, width)]
    lines += below_lines(page, width)
    if page.record.search is not None or page.shown_matrix is not None:
        return lines
    table = [*steps(page, width), *figures(page, width)]
    return [*lines, *([Line()] if table and width >= NARROW else []), *table]


def host_notes(page: Page, width: int) -> list[Line]:
    """Return the stragglers of the current step, and the problems of hosts."""
    slow = lagging_text(page)
    listed = width >= NARROW and any(each.id == STRAGGLER for each in page.record.findings)
    told = bool(slow) and any(slow in line.plain for line in verdict_lines(page, width))
    told = told or listed
    return [*straggler_lines(page, width, told=told), *host_problems(page, width)]


def lines_above_chart(page: Page, width: int) -> int:
    """Return the number of lines above the summary's chart, with its heading."""
    return len(figure_lines(page, width)) + len(host_notes(page, width)) + 1


def title_line(page: Page, width: int) -> Line:
    """Return the first line of a page: state, profile, title, time.

    On tabs other than the summary, headline and verdict replace title and time.
    """
    record = page.record
    left: list[Run] = [badge_of(record), (" ", TEXT), (record.profile.tag, "title")]
    if page.tab != "summary":
        found = page.record.headline
        mark, key = judgement(record)[0]
        has_figure = found is not None and (found.value is not None or record.search is not None)
        figure = told_headline(record) if has_figure else "no headline"
        verdict = VERDICTS.get(record.verdict or "", record.state)
        verdict = f"{NOT_SEALED} {verdict}" if record.not_as_sealed else verdict
        right: list[Run] = [(figure, VALUE), ("  ", TEXT), (f"{mark}{verdict}", key)]
        if width_of_runs([*left, *right]) >= width:
            left[0] = badge_of(record, brief=True)
        return Line.of(*spread(left, right, width))
    when = (record.created_utc or "start unknown").replace("T", " ")[:19]
    room = width - Line(tuple(left)).width - len(when) - 7
    title = recorded_title(record)
    title = f"  {title}" if title else ""
    return Line.of(
        *spread(
            [*left, (title if len(title) <= room else "", TEXT)], [(f"{when} UTC", LABEL)], width
        )
    )


def badge_of(record: RunRecord, *, brief: bool = False) -> Run:
    """Return a badge: the state of a run, or ENDED EARLY if a complete run's load did.

    Unless `brief`, the latter includes the time that the load ran.
    """
    early = early_text(record) if record.state == "complete" else ""
    if early:
        return f" ENDED EARLY {'' if brief else f'{early} '}", "badge-warn"
    return f" {record.state.upper()} ", STATES.get(record.state, "badge")


def about(page: Page, width: int) -> Line:
    """Return hosts, target, duration and changed parameters in one line."""
    record = page.record
    parts = [
        units.plural(len(record.hosts), "host"),
        record.target or "",
        f"took {units.duration(record.duration_s)}" if record.duration_s else "",
        measured_text(page),
    ]
    changed = [
        f"{name}={value}"
        for name, value in record.profile.changed.items()
        if not is_length(page, name, value) and value != record.target
    ]
    shown = [part for part in parts if part]
    texts = (
        " · ".join([*shown, *changed[:count], *more_of(len(changed) - count)])
        for count in range(len(changed), -1, -1)
    )
    text = next((each for each in texts if width_of(each) <= width), " · ".join(shown))
    return Line.of(*clip([(text, LABEL)], width))


def more_of(count: int) -> list[str]:
    """Return how many changed parameters are not shown; empty if all are."""
    return [f"{units.plural(count, 'more parameter')}"] if count else []


def is_length(page: Page, name: str, value: object) -> bool:
    """Return whether a changed parameter is the runtime, which the page shows anyway."""
    step = page.shown_step
    if step is None or step.runtime_s is None or "time" not in name or not length_told(page):
        return False
    try:
        return parse_duration(value) == step.runtime_s
    except ValueError:
        return False


def length_told(page: Page) -> bool:
    """Return whether the top of the page says how long the only step measured."""
    return bool(measured_text(page) or early_text(page.record)) and len(page.record.steps) == 1


def measured_text(page: Page) -> str:
    """Return how long the only step measured.

    Empty with several steps, or if the step ended early (a note reports that).
    """
    from tui.record.headline import is_short
    from tui.record.step import measured_s
    from tui.view.step_notes import length_text

    step = page.shown_step
    if step is None or len(page.record.steps) > 1 or is_short(step):
        return ""
    return length_text(measured_s(page.all_hosts), step.runtime_s)


def below_lines(page: Page, width: int) -> list[Line]:
    """Return the counts of objections, findings and published results, with the keys for them.

    Empty on a wide screen, which has room to show them in full.
    """
    if width >= NARROW:
        return []
    items: list[list[Run]] = []
    if page.record.checks is not None and page.answers:
        items.append([("d", "accent"), (" objections: ", LABEL), *standing_runs(page.answers)])
    if count := len(page.record.findings):
        items.append([("f", "accent"), (f" {units.plural(count, 'finding')}", LABEL)])
    if page.published is not None:
        results = units.plural(page.published.count, "published result")
        items.append([("v", "accent"), (f" {results}", LABEL)])
    return packed(items, width)


def aside_lines(page: Page, width: int) -> list[Line]:
    """Return the lines about objections and published results; empty on a narrow screen."""
    if width < NARROW:
        return []
    return [*objection_counts(page, width), *hint_lines(page.published, width)]


def objection_counts(page: Page, width: int) -> list[Line]:
    """Return which objections stand.

    Empty if the record does not say which checks ran, or nothing was measured.
    """
    if page.record.checks is None or not page.answers:
        return []
    keys: list[Run] = [("d", "accent"), (" defend", LABEL)]
    title: Run = (fit("Objections", ASIDE), "title")
    runs = standing_runs(page.answers, width - ASIDE - width_of_runs(keys) - 3)
    return [Line.of(*spread([title, *runs], keys, width))]


# -- figures


def figures(page: Page, width: int) -> list[Line]:
    """Return one line per direction over all hosts, and notes on the figures."""
    step = page.shown_step
    if step is not None and step.metadata is not None:
        from tui.view.operations import operation_lines

        told = any(each.id == "rank-shift" for each in page.record.findings)
        return operation_lines(step.metadata, width, shift_told=told)
    kind = page.record.latency_kind if step is None else page.record.latency_kind_of(step)
    who = page.shown_job or "All hosts"
    title = f"{who}, {kind}" if width >= NARROW else who
    if step is None or not page.all_hosts:
        # told at the top
        return [] if measured_nothing(page.record) else [Line.of(("nothing was measured", LABEL))]
    # large digits show the rates of a single direction
    rates = len(page.all_hosts) > 1 or not figure_tiles(page)
    titles = columns(width, rates=rates)
    room = min(width - len(titles), WIDEST_LABEL)
    lines = [
        *job_lines(page, width),
        rule(fit(title, max(room - 2, 4)).rstrip(), titles, room + len(titles)),
    ]
    for direction in registry.in_order(page.all_hosts):
        text = row(page.all_hosts[direction], direction, kind, width, rates=rates)
        lines.append(
            Line.of((fit(step.called(direction), room), KEYS.get(direction, TEXT)), (text, VALUE))
        )
    return [*lines, *step_notes(page, step, kind)]


def job_lines(page: Page, width: int) -> list[Line]:
    """Return the line that says which job is shown; empty for a single job."""
    jobs, shown = page.jobs, page.shown_job
    if len(jobs) < 2:
        return []
    text = (
        f"all {len(jobs)} jobs: "
        if shown is None
        else f"job {jobs.index(shown) + 1} of {len(jobs)}: "
    )
    return [
        Line.of(
            *clip([("J", "accent"), (f" {text}", LABEL), (shown or ", ".join(jobs), VALUE)], width)
        )
    ]


def step_notes(page: Page, step: StepRecord, kind: str) -> list[Line]:
    """Return notes on the figures of a step.

    They are about a short measurement, bucket error, submission wait, the rate while all hosts
    measured, the names of requests, and figures rebuilt from samples.
    """
    from tui.record.headline import is_short
    from tui.record.step import measured_s
    from tui.view.step_notes import (
        bucket_texts,
        length_text,
        request_texts,
        submission_text,
        window_texts,
    )

    mark: Run = ("! ", "warn") if is_short(step) else ("  ", LABEL)
    length = length_text(measured_s(page.all_hosts), step.runtime_s)
    lines = [Line.of(mark, (length, LABEL))] if length and not length_told(page) else []
    shown = {name: latency_of(result, name, kind) for name, result in page.all_hosts.items()}
    lines += [Line.of(("  ", LABEL), (text, LABEL)) for text in bucket_texts(shown)]
    if wait := submission_text(step, kind):
        lines.append(Line.of(("! " if kind == "clat" else "  ", "warn"), (wait, LABEL)))
    lines += [Line.of(("! ", "warn"), (text, LABEL)) for text in window_texts(step, page.all_hosts)]
    lines += [Line.of(("  ", LABEL), (text, LABEL)) for text in request_texts(step)]
    if any(result.from_samples for dirs in page.by_host.values() for result in dirs.values()):
        lines.append(
            Line.of(
                ("! ", "warn"), ("~ rebuilt from samples: no result from the load generator", LABEL)
            )
        )
    return lines


def steps(page: Page, width: int) -> list[Line]:
    """Return one line per step, the current one marked; empty for a single step.

    In a matrix, only the steps of the current point.
    """
    found = page.record.steps
    if len(found) < 2:
        return []
    metric, wrong = page.shown_headline, invalid_steps(page.record)
    back = "   Esc matrix" if page.matrix is not None else ""
    lines = [rule("Steps", f"{page.step + 1} of {len(found)}   [ ] choose{back}", width)]
    here_cell = (
        page.shown_step.cell if page.shown_step is not None and page.matrix is not None else None
    )
    for step in found:
        if here_cell is not None and step.cell != here_cell:
            continue
        here = step.index == page.step
        about = (
            Headline(metric.metric, metric.direction, metric.percentile)
            if metric is not None
            else None
        )
        figure = METRICS[metric.metric if metric else "iops"].with_unit(
            step_figure(page.record, step, about)
        )
        shown: Run = (f"✗ {figure}", "bad") if step.index in wrong else (figure, TEXT)
        if step.warmup and step.state == "skipped":
            continue  # a round that was not needed
        name = "  ".join(part for part in (step.name, step_label(page.record, step)) if part)
        runs = spread(
            [("› " if here else "  ", "accent"), (name, VALUE if here else TEXT)], [shown], width
        )
        lines.append(Line.of(*runs, fill="cursor" if here else ""))
    return [*lines, Line()]


# -- problems


def host_problems(page: Page, width: int) -> list[Line]:
    """Return the problems of hosts, and the remedy for a refused run."""
    from tui.app.services.remedies import of_record

    lines = problem_lines(page.record, width)
    if (remedy := of_record(page.record)) is not None:
        lines += labelled([("  ", TEXT)], [("T", "accent"), (f" {remedy.words}", LABEL)], width)
    return lines


def finding_lines(page: Page, width: int) -> list[Line]:
    """Return one line per finding; also their number and the key, unless lines above have both."""
    from tui.view.findings import brief_lines

    found = page.record.findings
    lines = brief_lines(found, width, page.record)
    told = width < NARROW and not measured_nothing(page.record)
    keys: list[Run] = [(f" {len(found)}  ", LABEL), ("f", "accent"), (" explains", LABEL)]
    keys = [] if told else keys
    head = spread([("Findings", "title"), (" ", TEXT)], keys, width, "─", "faint")
    return [Line.of(*head), *lines] if lines else []


GAP = 2
LESS, MORE = "‹ ", " ›"  # not all tabs fit


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of Result.

    `lines` returns its lines for a page, width and chart height; `has` returns whether a page has
    it. `of_step`: it shows one of several steps, below the list of steps.
    """

    name: str
    title: str
    lines: Callable[[Page, int, int], list[Line]]
    has: Callable[[Page], bool] = lambda _: True
    of_step: bool = False


def _defend(page: Page, width: int, _: int) -> list[Line]:
    judged = page.record.checks is not None
    return objection_lines(page.answers, width, judged=judged, overview=True)


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
    Tab(
        "published",
        "Published",
        _published,
        lambda page: page.published is not None or page.tab == "published",
    ),
)
"""All tabs in display order. A page leaves out tabs without content."""


def tabs_of(page: Page) -> list[Tab]:
    """Return the tabs that a page has, in order."""
    return [tab for tab in TABS if tab.has(page)]


def shown_tab(page: Page) -> Tab:
    """Return the tab that is shown."""
    return next((tab for tab in tabs_of(page) if tab.name == page.tab), TABS[0])


def beside(page: Page, places: int) -> str:
    """Return the name of the tab `places` to the right; the first follows the last."""
    names = [tab.name for tab in tabs_of(page)]
    return names[(names.index(shown_tab(page).name) + places) % len(names)]


def tab_runs(page: Page, width: int) -> list[tuple[str, list[Run]]]:
    """Return name and text of the tabs that fit, those around the current one."""
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
    return (
        sum(len(tab.title) + GAP for tab in tabs[: names.index(here) + 1]) if here in names else 0
    )


def tab_line(page: Page, width: int) -> Line:
    """Return the line of tabs, the current one accented; those that do not fit are left out."""
    shown = tab_runs(page, width - len(MORE))
    runs: list[Run] = [(_before(page, shown), LABEL)]
    for place, (_, part) in enumerate(shown):
        runs += [(" " * GAP if place else "", TEXT), *part]
    more = (MORE, LABEL) if shown[-1][0] != tabs_of(page)[-1].name else ("", LABEL)
    return Line.of(*clip([*runs, more], width))


def _before(page: Page, shown: list[tuple[str, list[Run]]]) -> str:
    return LESS if shown[0][0] != tabs_of(page)[0].name else ""


def tab_at(page: Page, width: int, x: int) -> str:
    """Return the name of the tab at cell `x` of the line of tabs; empty if there is none."""
    shown = tab_runs(page, width - len(MORE))
    edge = len(_before(page, shown))
    for name, part in shown:
        edge += width_of_runs(part) + GAP
        if x < edge:
            return name
    return ""


def page_lines(page: Page, width: int, chart_height: int) -> list[Line]:
    """Return the lines of the tab that is shown."""
    tab = shown_tab(page)
    above = steps(page, width) if tab.of_step else []
    return [*above, *tab.lines(page, width, chart_height)]
