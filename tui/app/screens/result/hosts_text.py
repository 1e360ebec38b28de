"""The tab of hosts: each against the median host, the farthest first, outliers marked."""

from __future__ import annotations

from dataclasses import dataclass

from tui.app.screens.result.page import Page
from tui.app.widgets.graph_panels import KEYS
from tui.metrics import registry, units
from tui.metrics.deviation import LAG, Spread, behind_text, share_text, spread_of, within_text
from tui.metrics.figures import latency_of, shown_percentile
from tui.metrics.registry import MIXED
from tui.metrics.sparkline import Symbols
from tui.model.step_record import DirectionRecord
from tui.results.text.printed import NOT_MERGEABLE, printed_lines
from tui.text.bars import diverging, reach_of
from tui.text.facts import machines_text
from tui.text.line import BAD, LABEL, TEXT, VALUE, WARN, Line, Run, labelled, rule
from tui.text.table import Column, head_line, measured, table_line, widths

PERCENTILES = ((50.0, 1), (95.0, 5), (99.0, 0), (99.5, 6), (99.9, 4))  # and which goes first where room is short
LEAST_HOSTS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One host in one direction; the first of its rows bears its name and how far it is from the median."""

    host: str
    direction: str
    result: DirectionRecord
    first: bool
    spread: Spread
    kind: str
    named: bool  # there are several directions
    symbols: Symbols = "braille"


def spread_of_hosts(page: Page) -> Spread:
    """Return how far the rates of the shown step's hosts are from their median, over all directions of I/O."""
    rates: dict[str, float | None] = {}
    for host, dirs in page.by_host.items():
        counted = [name for name in dirs if registry.direction(name).in_total]
        known = [dirs[name].iops for name in ([MIXED] if MIXED in counted else counted)]
        rates[host] = sum(value for value in known if value is not None) if known else None
    return spread_of(rates, page.record.thresholds.get("V14.rate", LAG))


def laggard_lines(page: Page, width: int) -> list[Line]:
    """Return which hosts lag, and how near the others are to the median; nothing of fewer than three hosts."""
    spread = spread_of_hosts(page)
    if len(spread.shares) < LEAST_HOSTS or spread.middle is None or page.shown_matrix is not None:
        return []
    late = spread.laggards
    near = [host for host in spread.shares if not spread.is_far(host)]
    lines = []
    mark: Run = ("v " if page.symbols == "ascii" else "▼ ", BAD)
    for host in late[:LEAST_HOSTS]:
        lines += labelled([mark], [(f"{host} at {behind_text(spread.shares[host] or 0.0)}", TEXT)], width)
    if len(late) > LEAST_HOSTS:
        lines.append(Line.of(mark, (f"{len(late) - LEAST_HOSTS} more hosts lag", TEXT)))
    if near:
        said = f"{len(near)} of {len(spread.shares)} hosts {within_text(spread.widest(near))} of the median host"
        few = machines_text({host.name: host.facts for host in page.record.hosts})
        lines += labelled([("  ", TEXT)], [(f"{said}; {few}" if few else said, LABEL)], width)
    return lines


def hosts_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return a line a host and direction, the farthest from the median first."""
    step, found = page.shown_step, page.by_host
    if step is None or not found:
        return [Line.of(("no host has figures of its own here", LABEL))]
    spread = spread_of_hosts(page)
    rows = rows_of(page, spread)
    columns = measured(columns_of(page), rows)
    rooms = widths(columns, width)
    kind = page.record.latency_kind_of(step)
    lines = [rule("Hosts", f"{kind}, the farthest from the median first" if len(found) > 1 else kind, width)]
    lines += [*laggard_lines(page, width), head_line(columns, rooms)]
    lines += [table_line(columns, rooms, row) for row in rows]
    if printed := printed_lines(step):
        lines += [Line(), rule("Percentiles", NOT_MERGEABLE, width)]
        lines += [line for host, text in printed for line in labelled([(f"{host} ", LABEL)], [(text, VALUE)], width)]
    if any(row.result.from_samples for row in rows):
        lines += [Line(), Line.of(("~ rebuilt from samples: the tool gave no result there", LABEL))]
    return lines


def rows_of(page: Page, spread: Spread) -> list[Row]:
    """Return the rows, hosts that lag first, then by how far they are from the median."""
    step = page.shown_step
    kind = page.record.latency_kind_of(step) if step is not None else "clat"
    far = sorted(page.by_host, key=lambda host: (not spread.lags(host), -abs(spread.shares.get(host) or 0.0)))
    rows = []
    for host in far if len(spread.shares) >= LEAST_HOSTS else page.by_host:
        dirs = page.by_host[host]
        shown = [name for name in registry.in_order(dirs) if name != MIXED or len(dirs) == 1]
        rows += [Row(host, name, dirs[name], not at, spread, kind, len(page.all_hosts) > 1, page.symbols)
                 for at, name in enumerate(shown)]  # fmt: skip
    return rows


def columns_of(page: Page) -> list[Column[Row]]:
    """Return the columns of the table."""
    some = len(page.by_host) >= LEAST_HOSTS
    named: Column[Row] = Column("", lambda row: (row.direction, KEYS.get(row.direction, TEXT)))
    return [
        Column("  host", _name),  # behind the place of the mark
        *([Column("median", _deviation, right=True)] if len(page.by_host) > 1 else []),
        *([Column(f"±{units.share(reach_of(_widest(page)))}", _bar, 9, gap=1, drop=3)] if some else []),
        *([named] if len(page.all_hosts) > 1 else []),
        Column("IOPS", lambda row: (units.iops(row.result.iops), VALUE), right=True),
        Column("BW", _bandwidth, right=True, drop=2),
        Column("mean", lambda row: _latency(row, None), right=True, drop=7),
        *(Column(f"p{value:g}", lambda row, value=value: _latency(row, value), right=True, drop=drop)  # type: ignore[misc]
          for value, drop in PERCENTILES),
        Column("max", lambda row: _latency(row, 100.0), right=True),
    ]  # fmt: skip


def _name(row: Row) -> list[Run]:
    if not row.first:
        return [("", TEXT)]
    late = row.spread.lags(row.host)
    mark: Run = (("v " if row.symbols == "ascii" else "▼ ") if late else "  ", BAD if late else TEXT)
    return [mark, (row.host + ("~" if row.result.from_samples else ""), BAD if late else TEXT)]


def _role(row: Row) -> str:
    return BAD if row.spread.lags(row.host) else WARN if row.spread.is_far(row.host) else LABEL


def _deviation(row: Row) -> Run:
    return (share_text(row.spread.shares.get(row.host)), _role(row)) if row.first else ("", TEXT)


def _widest(page: Page) -> float:
    spread = spread_of_hosts(page)
    return spread.widest(list(spread.shares))


def _bar(row: Row) -> list[Run]:
    if not row.first:
        return [(" " * 9, TEXT)]
    reach = reach_of(row.spread.widest(list(row.spread.shares)))
    return diverging(row.spread.shares.get(row.host), reach, 9, _role(row), row.symbols)


def _bandwidth(row: Row) -> str:
    moves = registry.direction(row.direction).moves_data
    return units.bandwidth(row.result.bw_bytes_per_s) if moves else ""


def _latency(row: Row, percentile: float | None) -> str:
    latency = latency_of(row.result, row.direction, row.kind)
    value: float | None
    if latency is None:
        value = None
    elif percentile is None:
        value = latency.mean_ns
    else:
        value = latency.max_ns if percentile >= 100 else shown_percentile(latency, percentile)
    return units.latency(value)
