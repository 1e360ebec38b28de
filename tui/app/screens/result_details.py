"""Result: the lines of the tabs Hosts, Time, Latency, Findings, Facts."""

from __future__ import annotations

from dataclasses import dataclass

from tui.app.screens.result_page import Page, course, metric_rule, slow_tails
from tui.app.widgets.graph_panels import KEYS
from tui.library.summary import tags_text
from tui.metrics import registry, units
from tui.metrics.buckets import PERCENTILES, SHOWN_PERCENTILES, label
from tui.metrics.facts import hosts_text
from tui.metrics.figures import (
    LAG,
    HostSpread,
    Latency,
    behind,
    behind_text,
    enough_behind,
    kind_of,
    latency_of,
    share_text,
    shown_percentile,
    spread_of,
    within_text,
)
from tui.metrics.histogram import Histogram
from tui.metrics.registry import METRICS, MIXED
from tui.metrics.registry import direction as direction_of
from tui.model.figure_record import DirectionRecord, SeriesColumns
from tui.model.step_record import StepRecord
from tui.text.facts import (
    common_lines,
    difference_rows,
    further_facts,
    machine_lines,
    machines_text,
)
from tui.text.line import (
    LABEL,
    TEXT,
    VALUE,
    WARN,
    Line,
    Run,
    beside,
    diverging,
    fit,
    key_rule,
    labelled,
    reach_of,
    rule,
)
from tui.text.sparkline import Symbols
from tui.text.table import Column, head_line, measured, table_line, widths
from tui.view.charts import (
    Drawn,
    NamedHistogram,
    aligned_charts,
    histograms,
    percentile_curves,
    unit_of,
    values_of,
)
from tui.view.findings import record_lines
from tui.view.live_hosts import VERSUS
from tui.view.step_notes import (
    NOT_MERGEABLE,
    attest_texts,
    bucket_texts,
    precondition_texts,
    printed_lines,
    problem_lines,
)

# by percentile, the order in which columns are dropped; 0: never
DROPPED = {50: 1, 95: 5, 99: 0, 99.5: 6, 99.9: 4}
LEAST_HOSTS = 3


@dataclass(frozen=True, slots=True)
class HostResultRow:
    """A row of the Hosts tab: one host in one direction.

    Only the first row of a host has its name and its distance from the median.
    """

    host: str
    direction: str
    result: DirectionRecord
    first: bool
    spread: HostSpread
    kind: str
    symbols: Symbols = "braille"
    slow_tail: bool = False  # a finding names its p99


def spread_of_hosts(page: Page) -> HostSpread:
    """Return how far each host's rate is from the median, over all directions."""
    rates: dict[str, float | None] = {}
    for host, dirs in page.by_host.items():
        counted = [name for name in dirs if registry.direction(name).in_total]
        iops_of = [dirs[name].iops for name in ([MIXED] if MIXED in counted else counted)]
        rates[host] = sum(value for value in iops_of if value is not None) if iops_of else None
    return spread_of(rates, page.record.thresholds.get("straggler.rate", LAG))


def lagging_text(page: Page) -> str:
    """Return the text to follow "straggler": `` h2 at 25 % of median``, or `` on 3 hosts``.

    Empty without stragglers, or with several steps.
    """
    spread = spread_of_hosts(page)
    late = spread.stragglers if len(page.record.steps) == 1 else []
    if len(late) == 1:
        return f" {late[0]} at {behind_text(spread.shares[late[0]] or 0.0)}"
    return f" on {len(late)} hosts" if late else ""


def straggler_lines(page: Page, width: int, *, told: bool = False) -> list[Line]:
    """Return the stragglers, and how close the other hosts are to the median.

    `told`: the verdict or a table names them. Empty for fewer than three hosts, and while a matrix
    is shown.
    """
    spread = spread_of_hosts(page)
    if len(spread.shares) < LEAST_HOSTS or spread.middle is None or page.shown_matrix is not None:
        return []
    late = [] if told else spread.stragglers
    near = [host for host in spread.shares if not spread.is_far(host)]
    lines = []
    mark: Run = ("v " if page.symbols == "ascii" else "▼ ", WARN)
    for host in late[:LEAST_HOSTS]:
        lines += labelled(
            [mark], [(f"{host} at {behind_text(spread.shares[host] or 0.0)}", TEXT)], width
        )
    if len(late) > LEAST_HOSTS:
        more = units.plural(len(late) - LEAST_HOSTS, "more straggler")
        lines.append(Line.of(mark, (more, TEXT)))
    if near:
        said = (
            f"{len(near)} of {len(spread.shares)} hosts {within_text(spread.widest(near))} of the"
            " median host"
        )
        few = machines_text({host.name: host.facts for host in page.record.hosts})
        lines += labelled([("  ", TEXT)], [(f"{said}; {few}" if few else said, LABEL)], width)
    return lines


def hosts_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return one line per host and direction, the farthest from the median first."""
    step, found = page.shown_step, page.by_host
    if step is None or not found:
        return [Line.of(("no per-host figures", LABEL))]
    spread = spread_of_hosts(page)
    rows = rows_of(page, spread)
    columns = measured(columns_of(page), rows)
    rooms = widths(columns, width)
    kind = page.record.latency_kind_of(step)
    lines = [
        rule(
            "Hosts",
            f"{kind}, farthest from the median first" if len(found) > 1 else kind,
            width,
        )
    ]
    lines += [*straggler_lines(page, width, told=True), head_line(columns, rooms)]
    lines += [table_line(columns, rooms, row) for row in rows]
    if printed := printed_lines(step):
        lines += [Line(), rule("Percentiles", NOT_MERGEABLE, width)]
        lines += [
            line
            for host, text in printed
            for line in labelled([(f"{host} ", LABEL)], [(text, VALUE)], width)
        ]
    if any(row.result.from_samples for row in rows):
        lines += [
            Line(),
            Line.of(("~ rebuilt from samples: no result from the load generator", LABEL)),
        ]
    return lines


def rows_of(page: Page, spread: HostSpread) -> list[HostResultRow]:
    """Return the rows of the Hosts tab.

    With three hosts or more, stragglers come first, then the hosts farthest from the median.
    """
    step = page.shown_step
    kind = page.record.latency_kind_of(step) if step is not None else "clat"
    far = sorted(
        page.by_host, key=lambda host: (not spread.lags(host), -abs(spread.shares.get(host) or 0.0))
    )
    rows = []
    slow = slow_tails(page.record)
    for host in far if len(spread.shares) >= LEAST_HOSTS else page.by_host:
        dirs = page.by_host[host]
        shown = [name for name in registry.in_order(dirs) if name != MIXED or len(dirs) == 1]
        rows += [
            HostResultRow(
                host, name, dirs[name], not at, spread, kind, page.symbols, (host, name) in slow
            )
            for at, name in enumerate(shown)
        ]
    return rows


def columns_of(page: Page) -> list[Column[HostResultRow]]:
    """Return the columns of the Hosts tab."""
    some = len(page.by_host) >= LEAST_HOSTS
    step = page.shown_step
    requests = step.requests if step is not None else {}
    named: Column[HostResultRow] = Column(
        "",
        lambda row: (
            requests.get(row.direction, row.direction),
            KEYS.get(row.direction, TEXT),
        ),
    )
    return [
        Column("  host", _name),  # after the column of the mark
        *([Column(VERSUS, _from_median, right=True)] if len(page.by_host) > 1 else []),
        *([Column(f"±{units.share(reach_of(_widest(page)))}", _bar, 9, gap=1,
            drop=3)] if some else []),
        *([named] if len(page.all_hosts) > 1 else []),
        Column("IOPS", lambda row: (units.iops(row.result.iops), VALUE), right=True),
        Column("BW", _bandwidth, right=True, drop=2),
        Column("mean", lambda row: _latency(row, None), right=True, drop=7),
        *(Column(f"p{value:g}", lambda row, value=value: _percentile(row, value), right=True,  # type: ignore[misc]
            drop=DROPPED.get(value, 6))
          for value in SHOWN_PERCENTILES),
        Column("max", lambda row: _latency(row, 100.0), right=True),
    ]  # fmt: skip


def _name(row: HostResultRow) -> list[Run]:
    if not row.first:
        return [("", TEXT)]
    late = row.spread.lags(row.host)
    mark: Run = (
        ("v " if row.symbols == "ascii" else "▼ ") if late else "  ",
        WARN if late else TEXT,
    )
    return [mark, (row.host + ("~" if row.result.from_samples else ""), WARN if late else TEXT)]


def _role(row: HostResultRow) -> str:
    return WARN if row.spread.is_far(row.host) else LABEL


def _from_median(row: HostResultRow) -> Run:
    return (share_text(row.spread.shares.get(row.host)), _role(row)) if row.first else ("", TEXT)


def _widest(page: Page) -> float:
    spread = spread_of_hosts(page)
    return spread.widest(list(spread.shares))


def _bar(row: HostResultRow) -> list[Run]:
    if not row.first:
        return [(" " * 9, TEXT)]
    reach = reach_of(row.spread.widest(list(row.spread.shares)))
    return diverging(row.spread.shares.get(row.host), reach, _role(row), row.symbols)


def _bandwidth(row: HostResultRow) -> str:
    moves = registry.direction(row.direction).moves_data
    return units.bandwidth(row.result.bw_bytes_per_s) if moves else ""


def _percentile(row: HostResultRow, percentile: float) -> Run:
    return _latency(row, percentile), WARN if row.slow_tail and percentile == TAIL else TEXT


def _latency(row: HostResultRow, percentile: float | None) -> str:
    latency = latency_of(row.result, row.direction, row.kind)
    value: float | None
    if latency is None:
        value = None
    elif percentile is None:
        value = latency.mean_ns
    else:
        value = latency.max_ns if percentile >= 100 else shown_percentile(latency, percentile)
    return units.latency(value)


NAME_WIDTH = 16
TAIL = 99.0  # percentile that findings about hosts compare


def time_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return the charts of the current step over time, then one line per host."""
    step = page.shown_step
    if step is None or step.series is None:
        return [Line.of(("no samples", LABEL))]
    rates: Drawn = "bandwidth" if page.metric == "bandwidth" else "iops"
    order: tuple[Drawn, ...] = (
        ("latency", "p99", rates) if page.metric == "latency" else (rates, "p99", "latency")
    )
    title = "Over time" if len(page.jobs) < 2 else "Over time, all jobs"
    lines = [metric_rule(page, title, width)]
    for drawn in aligned_charts(
        page.record, order, width, height, step.index, coloured=page.colors
    ):
        lines += [*drawn, Line()]
    return [*lines, *host_lines(page, width)]


def host_lines(page: Page, width: int) -> list[Line]:
    """Return each host over time as a line, slowest first, all on one scale."""
    step = page.shown_step
    columns = step.series.columns if step is not None and step.series is not None else []
    found = [column for column in columns if column.host is not None]
    if len({column.host for column in found}) < 2:
        return []
    shown: Drawn = "p99" if page.metric == "latency" else page.metric
    names = [
        name
        for name in dict.fromkeys(column.direction for column in found)
        if direction_of(name).in_total
    ]
    lines: list[Line] = []
    for name in [each for each in names if each != MIXED] or names:
        lines += [
            *_of_direction(page, [each for each in found if each.direction == name], shown, width),
            Line(),
        ]
    return lines


def _of_direction(page: Page, columns: list[SeriesColumns], shown: Drawn, width: int) -> list[Line]:
    deviation = spread_of_hosts(page)
    metric = METRICS[unit_of(shown)]
    known = [value for column in columns for value in values_of(column, shown) if value is not None]
    top = max(known, default=0.0)
    said = "p99" if shown == "p99" else metric.title
    lines = [rule(f"Each host, {columns[0].direction} {said}", f"0 to {metric.text(top)}", width)]
    # the slowest first
    order = sorted(columns, key=lambda each: deviation.shares.get(each.host or "") or 0.0)
    name_width = min(NAME_WIDTH, max(len(column.host or "") for column in columns) + 1)
    for column in order:
        values = values_of(column, shown)
        here = [value for value in values if value is not None]
        span = (
            f" {metric.rounded(min(here))}–{metric.rounded(max(here))}" if here else " no samples"
        )
        late = deviation.lags(column.host or "")
        line = course(values, width - name_width - 18, page.symbols, top, peaks=shown == "p99")
        runs: list[Run] = [
            (fit(column.host or "", name_width), WARN if late else TEXT),
            (line, columns[0].direction),
        ]
        lines.append(Line.of(*runs, (span, LABEL)))
    return lines


CELL, BEHIND = 11, 13
GUTTER, LEAST_BESIDE = 3, 38  # gap between table and charts; least width of charts beside the table
DEEP = (99.999,)  # percentiles that only many I/Os have
LOW = 10  # rows of a chart on a screen with room for the usual percentiles only
HEAD = 2  # lines above the percentile of each host


def latency_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return the percentiles as a table, with histogram and curves beside it if they fit."""
    step = page.shown_step
    if step is None or not page.all_hosts:
        return [Line.of(("no per-I/O latencies measured", LABEL))]
    kind = page.record.latency_kind_of(step)
    found = _latencies(page, kind)
    if not found:
        return [Line.of(("no latencies measured", LABEL))]
    who = page.shown_job or ("all hosts" if len(step.results.per_host) > 1 else "one host")
    lines = [rule(f"Percentiles, {who}", f"{kind}, over all I/Os, not averaged", width)]
    table = _table(step, found, kind, width, deep=height > LOW)
    counted = _counted(step, found)
    table += [Line.of((text, LABEL)) for text in bucket_texts(found)]
    if not counted:
        said = "no histogram: percentiles as printed by the load generator"
        return [*lines, *table, Line(), *labelled([], [(said, LABEL)], width)]
    at = max(line.width for line in table) + GUTTER
    if width - at < LEAST_BESIDE:
        return [*lines, *table, Line(), *_charts(counted, width, height, coloured=page.colors)]
    even = (len(table) - 1) // 2  # two charts and the line between them are as tall as the table
    height = even if height == even + 1 else height
    charts = _charts(counted, width - at, height, coloured=page.colors)
    table += tail_lines(page, next(iter(found)), at - GUTTER, len(charts) - len(table))
    return [*lines, *beside(table, charts, at)]


def tail_lines(page: Page, name: str, width: int, room: int) -> list[Line]:
    """Return the p99 of hosts in one direction, the slowest first, in at most `room` lines.

    Empty for one host, or without room for three.
    """
    step = page.shown_step
    kind = page.record.latency_kind_of(step) if step is not None else page.record.latency_kind
    known = {
        host: value
        for host, dirs in page.by_host.items()
        if name in dirs
        and (value := shown_percentile(latency_of(dirs[name], name, kind), TAIL)) is not None
    }
    order = sorted(known, key=lambda host: known[host], reverse=True)
    count = room - HEAD
    if len(known) < 2 or count < LEAST_HOSTS:
        return []
    shown = order if len(order) <= count else order[: count - 1]
    lines = [Line(), rule(f"{name} p99 by host", "slowest first", width)]
    for host in shown:
        tail = fit(units.latency(known[host]), CELL, right=True)
        lines.append(Line.of((fit(host, width - CELL), LABEL), (tail, VALUE)))
    if left := len(order) - len(shown):
        ends = f"down to {units.latency(known[order[-1]])}"
        lines.append(Line.of((fit(f"{units.plural(left, 'more host')}, {ends}", width), LABEL)))
    return lines


def _latencies(page: Page, kind: str) -> dict[str, Latency]:
    """Return the latencies over all hosts of each direction that has any."""
    found: dict[str, Latency] = {}
    for name in registry.in_order(page.all_hosts):
        latency = latency_of(page.all_hosts[name], name, kind)
        if latency is not None and latency.n:
            found[name] = latency
    return found


def _counted(step: StepRecord, found: dict[str, Latency]) -> list[NamedHistogram]:
    """Return the histogram of each direction that has one."""
    return [
        NamedHistogram(
            step.called(name), KEYS.get(name, "other"), Histogram.from_buckets(each.buckets)
        )
        for name, each in found.items()
        if each.buckets is not None and name != MIXED
    ]


def spread_charts(page: Page, width: int, height: int) -> list[list[Line]]:
    """Return the histogram and the percentile curves of the current step, if it has histograms."""
    step = page.shown_step
    if step is None:
        return []
    counted = _counted(step, _latencies(page, page.record.latency_kind_of(step)))
    return _two_charts(counted, width, height, coloured=page.colors)


def _charts(
    counted: list[NamedHistogram], width: int, height: int, *, coloured: bool
) -> list[Line]:
    """Return the histogram and the percentile curves of all directions."""
    above, below = _two_charts(counted, width, height, coloured=coloured)
    return [*above, Line(), *below]


def _two_charts(
    counted: list[NamedHistogram], width: int, height: int, *, coloured: bool
) -> list[list[Line]]:
    if not counted:
        return []
    what = counted[0].name if len(counted) == 1 else ""
    return [
        draw(what, counted, width, height, coloured=coloured)
        for draw in (histograms, percentile_curves)
    ]


def _table(
    step: StepRecord, found: dict[str, Latency], kind: str, width: int, *, deep: bool
) -> list[Line]:
    """Return the percentiles of each direction; `deep`: also those that need many I/Os."""
    wide = width >= 12 + len(found) * (CELL + BEHIND)
    shown = (
        list(found)
        if wide or 12 + len(found) * CELL <= width
        else list(found)[: (width - 12) // CELL]
    )
    head: list[Run] = [(fit("", 10), LABEL)]
    for name in shown:
        title, own = step.called(name), kind_of(name, kind)
        title = title if own == kind else f"{title} ({own})"
        head.append((fit(title, CELL, right=True), KEYS.get(name, TEXT)))
        head += [(fit("slower I/Os", BEHIND, right=True), LABEL)] if wide else []
    lines = [Line.of(*head)]
    for title, of in (
        ("I/Os", _count),
        ("min", _least),
        ("mean", _mean),
        ("std dev", _deviation),
    ):
        lines.append(_line(title, [of(found[name]) for name in shown], wide=wide, role=LABEL))
    most = max(found[name].n for name in shown)
    deepest = [each for each in DEEP if deep and enough_behind(most, each)]
    known = sorted(
        {
            *PERCENTILES,
            *deepest,
            *(float(each) for name in shown for each in found[name].percentiles_ns),
        }
    )
    for value in known:
        cells = [units.latency(shown_percentile(found[name], value)) for name in shown]
        tails = [f"{behind(found[name].n, value):,.0f}" for name in shown]
        lines.append(_line(f"p{label(value)}", cells, wide=wide, tails=tails, role=VALUE))
    return [
        *lines,
        _line("max", [units.latency(found[name].max_ns) for name in shown], wide=wide, role=VALUE),
    ]


def _line(
    title: str, cells: list[str], *, wide: bool, role: str, tails: list[str] | None = None
) -> Line:
    runs: list[Run] = [(fit(title, 10), LABEL)]
    for place, cell in enumerate(cells):
        runs.append((fit(cell, CELL, right=True), role))
        runs += [(fit(tails[place] if tails else "", BEHIND, right=True), LABEL)] if wide else []
    return Line.of(*runs)


def _count(latency: Latency) -> str:
    return f"{latency.n:,}" if latency.n < 10**9 else units.count(latency.n)


def _least(latency: Latency) -> str:
    return units.latency(latency.min_ns)


def _mean(latency: Latency) -> str:
    return units.latency(latency.mean_ns)


def _deviation(latency: Latency) -> str:
    return units.latency(latency.stddev_ns)


def facts_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return notes, tags, changed parameters, host facts, leftovers and path of the record.

    The most important facts come first, in a few lines, then all others.
    """
    from tui.record.host_facts import facts_together
    from tui.text.fact_table import table_lines
    from tui.text.objects import left_texts

    record = page.record
    lines: list[Line] = []
    changed = ", ".join(f"{name}={value}" for name, value in record.profile.changed.items())
    versions = ", ".join(sorted(set(record.provenance.tool_versions.values())))
    sections = [("changed", changed), ("tags", tags_text(record.tags)), ("tool", versions)]
    sections += [("note", note.text) for note in record.notes]
    sections += [("prepared", text) for text in precondition_texts(record)]
    sections += [("attested", text) for text in attest_texts(record)]
    lines += [line for name, text in sections if text for line in fact(name, text, width)]
    found = facts_together(record)
    same = machine_lines({host.name: host.facts for host in record.hosts})
    for title, runs in (*same, *common_lines(found), *difference_rows(found, width)):
        lines += labelled(
            [(f"{'CPU' if title == 'cpu' else title:<9}", LABEL)], runs, width
        )
    for host in record.hosts:
        if host.files_left is not None:
            size = f" ({units.size(host.files_left.bytes)})" if host.files_left.bytes else ""
            lines += fact("left", f"{host.name}{size}  {', '.join(host.files_left.paths)}", width)
    for text in left_texts(record.objects_left):
        lines += fact("left", text, width)
    lines += fact("record", str(page.path), width)
    if table := table_lines(further_facts(found, versions), width):
        lines += [Line(), rule("Further facts", hosts_text(found.hosts), width), *table]
    return [key_rule("About this run", [("y", "copies")], width), *lines]


def fact(name: str, text: str, width: int) -> list[Line]:
    """Return a labelled text; wrapped lines are aligned."""
    return labelled([(f"{name:<9}", LABEL)], [(text, TEXT)], width)


def findings_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return the problems of hosts, every finding in full, and the checks without data."""
    record = page.record
    lines = problem_lines(record, width, every=True)
    lines += [Line()] if lines else []
    return [*lines, *record_lines(record, width)]
