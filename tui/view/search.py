"""The result of a search as lines: answer, evidence, and points that were not measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from tui.judge.wording import worded
from tui.metrics import units
from tui.metrics.buckets import label
from tui.metrics.registry import BY_UNIT, METRICS, MIXED
from tui.model.search_record import (
    AnswerRecord,
    LimitFigureRecord,
    ScalingPointRecord,
    ScalingRecord,
    SearchPointRecord,
    SearchRecord,
)
from tui.record.search_figures import rate_of, rate_unit, traces
from tui.text.line import (
    BAD,
    BRIGHT,
    FAINT,
    GOOD,
    LABEL,
    TEXT,
    VALUE,
    WARN,
    Line,
    Run,
    beside,
    indented,
    labelled,
    paired,
    plain_lines,
)
from tui.text.search import (
    ROLES,
    TITLES,
    ends_text,
    headline_text,
    hold_text,
    knee_text,
    limit_kind,
    limit_text,
    scaling_text,
    shares_text,
    spent_text,
    term,
    with_ends,
)
from tui.text.search_texts import NOT_HELD, knobs_text, search_text
from tui.text.table import Column, text_table
from tui.view.search_chart import curve_chart, scaling_chart
from tui.view.step_notes import width_texts

VERDICT_ROLES = {"meets": GOOD, "breaks": BAD, "unclear": WARN, "void": FAINT}

CONTRADICTION = "contradiction"
FIRST, NEAREST, HEADROOM, SPENT = (
    "limit reached first",
    "nearest limit",
    "headroom",
    "budget used",
)
KEY_FACTS = frozenset({FIRST, NEAREST, HEADROOM, SPENT})  # above the chart
ROOMY = 12  # a chart of fewer lines makes room for the facts above it
BROAD, GUTTER = 110, 3  # columns from which the evidence is beside the chart, and between them
WITH_WAIT = "incl. wait"  # title of latency from intended start


def answer_lines(search: SearchRecord, width: int) -> list[Line]:
    """Return the answer with its interval, limit, headroom, knee, cost, and skipped points."""
    return _fact_lines(answer_facts(search), width)


def _fact_lines(facts: Iterable[tuple[str, str, str]], width: int) -> list[Line]:
    return [
        line
        for name, text, role in facts
        for line in labelled([(f"{name}: ", LABEL)], [(text, role)], width)
    ]


def _fact_table(facts: Iterable[tuple[str, str, str]], width: int) -> list[Line]:
    return paired([(name, (text, role)) for name, text, role in facts], width)


def answer_facts(search: SearchRecord) -> Iterator[tuple[str, str, str]]:
    """Yield the name, text and role of each fact about the result."""
    told = headline_text(search) or "no points yet"
    yield TITLES[search.kind], told.removeprefix(f"{TITLES[search.kind]} "), BRIGHT
    answer = search.answer
    for text in answer.contradictions if answer is not None else []:
        yield CONTRADICTION, search_text(text), WARN
    if answer is not None:
        yield from _answer_facts(search, answer)
    if answer is not None and answer.step is not None:
        held = hold_text(answer).replace(f"{NOT_HELD}: no hold; ", "not confirmed: ")
        yield "longer time", held, TEXT if answer.held_s is not None else WARN
    if search.maximum_iops is not None and search.kind == "capacity":
        yield "full load", with_ends(search.maximum_iops, "iops"), TEXT
    if search.knee is not None and (answer is not None or search.scaling is not None):
        yield "knee", knee_text(search.knee).removeprefix("knee at "), TEXT
    if search.scaling is not None:
        yield from _scaling_facts(search.scaling, told)
    if search.job_shares:
        yield "jobs", shares_text(search.job_shares), TEXT
    for text in answer.notes if answer is not None else []:
        yield "note", search_text(text), TEXT
    yield SPENT, spent_text(search), TEXT
    for text in answer.not_tried if answer is not None else search.not_tried:
        yield "not tried", search_text(text), TEXT


def _answer_facts(search: SearchRecord, answer: AnswerRecord) -> Iterator[tuple[str, str, str]]:
    texts = {each.text: limit_text(each) for each in search.limits}
    binding = search_text(answer.binding)
    if binding and list(texts) != [binding]:  # the answer names a single limit
        # no limit was exceeded there
        word = NEAREST if answer.state == "met-at-full-load" else FIRST
        yield word, texts.get(binding, binding), TEXT
    if answer.bottleneck:
        yield "limited by", worded(answer.bottleneck), TEXT
    place = next((at for at, each in enumerate(search.points) if each.step == answer.step), None)
    name = f"point {place + 1}" if place is not None else ""
    if answer.headroom:
        parts = (
            f"{share * 100:.0f} % to {texts.get(limit, limit)}"
            for limit, share in answer.headroom.items()
        )
        yield HEADROOM, f"{', '.join(parts)}{f', at {name}' if name else ''}", TEXT
    if place is not None:
        rate = BY_UNIT[rate_unit(search)].with_unit(rate_of(search, search.points[place]))
        there = latencies_of(search.points[place])
        yield name, f"{rate}{f', {there}' if there else ''}", TEXT


def latencies_of(point: SearchPointRecord) -> str:
    """Return p50 and p99 of each direction at a point: ``read p50 285 µs, p99 881 µs``."""
    alone = {name: values for name, values in point.percentiles_ns.items() if name != MIXED}
    several = len(alone) > 1
    texts = []
    for direction, values in (alone or point.percentiles_ns).items():
        told = ", ".join(
            f"p{name} {units.latency(values[name])}" for name in ("50", "99") if name in values
        )
        texts += [f"{direction} {told}" if several else told] if told else []
    return "; ".join(texts)


def _scaling_facts(scaling: ScalingRecord, told: str) -> Iterator[tuple[str, str, str]]:
    if (text := scaling_text(scaling)) and text != told:
        yield "scaling", text, TEXT
    parts = (("contention", scaling.contention), ("coherence", scaling.coherence))
    model = [f"{name} {term(each)}" for name, each in parts if each is not None]
    if model:
        alone = [f"one host {with_ends(scaling.rate, 'iops')}"] if scaling.rate is not None else []
        yield "model", ", ".join([*alone, *model]), TEXT
    if scaling.best_hosts is not None and scaling.best_hosts.value:
        yield "maximum at", f"{scaling.best_hosts.value:.0f} hosts, according to the model", TEXT
    if scaling.caveat:
        yield "caveat", search_text(scaling.caveat), WARN


class PointRow(Struct, frozen=True):
    """A row of the evidence: a point of the search, and its number."""

    place: int
    point: SearchPointRecord


def point_rows(search: SearchRecord) -> list[PointRow]:
    """Return the points of a search as rows, in the order of measurement."""
    return [PointRow(place, point) for place, point in enumerate(search.points)]


def point_columns(search: SearchRecord) -> list[Column[PointRow]]:
    """Return the columns of the table of points.

    They have the figure of each limit or, without limits, p50 and p99.
    """
    unit = rate_unit(search)
    columns: list[Column[PointRow]] = [
        Column("#", lambda row: (str(row.place + 1), LABEL), right=True)
    ]
    offers = search.kind != "scaling"  # all of its points are at full load
    if offers:
        columns.append(
            Column("point", lambda row: ROLES.get(row.point.role, row.point.role), drop=5)
        )
    if any(point.knobs for point in search.points):
        columns.append(Column("at", lambda row: knobs_text(dict(row.point.knobs))))
    if offers:
        columns.append(Column("offered", lambda row: _offered(row.point), right=True))
    columns.append(
        Column(
            "achieved",
            lambda row: (BY_UNIT[unit].text(rate_of(search, row.point)), VALUE),
            right=True,
        )
    )
    columns += _latency_columns(search)
    if search.limits:
        columns.append(Column("verdict", lambda row: _verdict(row.point)))
    columns.append(Column("why", lambda row: (search_text(row.point.why), LABEL), drop=6))
    return columns


def _offered(point: SearchPointRecord) -> str:
    return "full load" if point.offered_iops is None else METRICS["iops"].text(point.offered_iops)


def _latency_columns(search: SearchRecord) -> list[Column[PointRow]]:
    figures = dict.fromkeys(
        (each.limit, each.direction) for point in search.points for each in point.figures
    )
    if figures:
        named = len({direction for _, direction in figures}) > 1
        columns = [column for each in figures for column in _limit_columns(search, *each, named)]
    else:
        columns = [
            _percentile_column(trace.direction, trace.percentile, trace.name)
            for trace in traces(search)
        ]
    due = intended_percentile(search)
    if due:
        columns.append(
            Column(
                WITH_WAIT,
                lambda row: units.latency(row.point.intended_ns.get(due)),
                right=True,
                drop=3,
            )
        )
    return columns


def intended_percentile(search: SearchRecord) -> str:
    """Return the percentile shown for latency from intended start; empty if unknown."""
    known_ = dict.fromkeys(
        name for point in search.points for name in point.intended_ns if name != "mean"
    )
    wanted = [label(each.percentile) for each in search.limits if each.percentile is not None]
    return next((name for name in [*wanted, "99", *known_] if name in known_), "")


def _limit_columns(
    search: SearchRecord, limit: str, direction: str, named: bool
) -> list[Column[PointRow]]:
    """Return columns with the figure of a limit at each point, and its interval."""
    asked = next((each for each in search.limits if each.text == limit), None)
    kind = limit if asked is None else limit_kind(asked)
    title = f"{direction} {kind}" if named and direction and direction not in kind else kind

    def figure(row: PointRow) -> LimitFigureRecord | None:
        found = (
            each for each in row.point.figures if (each.limit, each.direction) == (limit, direction)
        )
        return next((each for each in found if each.figure.value is not None), None)

    if asked is not None and asked.metric == "errors":
        return [
            Column(
                title,
                lambda row: _figure(figure(row), lambda value: f"{value:.0f}"),
                right=True,
                drop=4,
            )
        ]
    return [
        Column(title, lambda row: _figure(figure(row), units.latency), right=True),
        Column("95 %", lambda row: (_ends(figure(row)), LABEL), right=True, drop=4),
    ]


def _figure(found: LimitFigureRecord | None, text: Callable[[float | None], str]) -> Run:
    return (
        (units.UNKNOWN, LABEL)
        if found is None
        else (text(found.figure.value), VERDICT_ROLES[found.verdict])
    )


def _ends(found: LimitFigureRecord | None) -> str:
    if found is None or found.figure.low is None:
        return ""
    high = found.figure.high
    return f"{units.latency(found.figure.low)}–{units.latency(high) if high is not None else '?'}"


def _percentile_column(direction: str, percentile: str, name: str) -> Column[PointRow]:
    return Column(
        name,
        lambda row: units.latency(row.point.percentiles_ns.get(direction, {}).get(percentile)),
        right=True,
    )


def _verdict(point: SearchPointRecord) -> list[Run]:
    return [(point.verdict + (", cut" if point.cut else ""), VERDICT_ROLES[point.verdict])]


def evidence_lines(search: SearchRecord, width: int) -> list[Line]:
    """Return the table of points, why points are void or lost hosts, and notes on the columns;
    empty without points.
    """
    if not search.points:
        return []
    lines = text_table(point_columns(search), point_rows(search), width)
    for row in point_rows(search):
        if row.point.lost or row.point.verdict == "void":
            reason = search_text(row.point.reason) or f"lost {', '.join(row.point.lost)}"
            text = f"point {row.place + 1}: {reason}"
            lines += indented([(text, WARN)], width)
    return [
        *lines,
        *(each for text in column_notes(search) for each in indented([(text, LABEL)], width)),
    ]


def column_notes(search: SearchRecord) -> list[str]:
    """Return notes on the points' percentiles: the start they count from, their bucket error."""
    widths: dict[str, float] = {}
    for point in search.points:
        for name, width in point.bucket_width.items():
            widths[name] = max(width, widths.get(name, 0.0))
    return [*start_texts(search), *width_texts(widths)]


def start_texts(search: SearchRecord) -> list[str]:
    """Return how latency from intended start is shown, or why it is unknown."""
    name = intended_percentile(search)
    reasons = list(
        dict.fromkeys(worded(point.intended_reason) for point in search.points if point.intended_ns)
    )
    if name:
        because = f" ({reasons[0]})" if reasons and reasons[0] else ""
        together = any(len(each.percentiles_ns) > 1 for each in search.points)
        over = ", all directions together" if together else ""
        return [f"{WITH_WAIT}: p{name} of the latency from intended start{over}{because}"]
    told = (worded(point.intended_reason) for point in search.points)
    unknown = list(dict.fromkeys(filter(None, told)))
    return [f"latency from intended start is unknown: {'; '.join(unknown)}"] if unknown else []


def capacity_lines(
    search: SearchRecord, width: int, height: int, *, coloured: bool = False
) -> list[Line]:
    """Return the page below the headline: contradictions, key facts, chart, rest of the answer,
    evidence; the evidence is beside the chart if there is room.

    Contradictions and chart together are `height` lines high; a low chart also makes room for key
    facts.
    """
    _, *facts = answer_facts(search)
    contradictions = _fact_lines([fact for fact in facts if fact[0] == CONTRADICTION], width)
    above = KEY_FACTS if width < BROAD else frozenset()  # beside the evidence, all are below
    key = _fact_table([fact for fact in facts if fact[0] in above], width)
    height -= len(key) + 1 if key and height < ROOMY else 0
    height -= len(contradictions) + 1 if contradictions else 0
    if search.scaling is not None:
        chart = scaling_chart(search.scaling, width, height, coloured=coloured)
    else:
        chart = chart_with_evidence(search, width, height, coloured=coloured)
    blocks = [
        contradictions,
        key,
        chart,
        _fact_table([fact for fact in facts if fact[0] not in {CONTRADICTION, *above}], width),
        scaling_lines(search, width),
        [] if search.scaling is None and width >= BROAD else evidence_lines(search, width),
    ]
    return [line for block in blocks if block for line in (*block, Line())]


def chart_with_evidence(
    search: SearchRecord, width: int, height: int, *, coloured: bool
) -> list[Line]:
    """Return the load curve, and if there is room the evidence beside it."""
    if width < BROAD:
        return curve_chart(search, width, height, coloured=coloured)
    left = width // 2
    evidence = evidence_lines(search, width - left)
    height = max(height, len(evidence))
    return beside(curve_chart(search, left - GUTTER, height, coloured=coloured), evidence, left)


def summary_blocks(search: SearchRecord, width: int) -> list[list[str]]:
    """Return a search as blocks of a run's summary: answer, throughput by number of hosts,
    evidence.
    """
    wide = max(width, 80)
    blocks = [answer_lines(search, 80), scaling_lines(search, wide), evidence_lines(search, wide)]
    return [plain_lines(block) for block in blocks if block]


def scaling_lines(search: SearchRecord, width: int) -> list[Line]:
    """Return throughput by number of hosts as a table; empty for other kinds of searches."""
    if search.scaling is None or not search.scaling.points:
        return []
    return text_table(scaling_columns(), search.scaling.points, width)


def scaling_columns() -> list[Column[ScalingPointRecord]]:
    """Return the columns of the table of throughput by number of hosts."""
    return [
        Column("hosts", lambda row: str(row.hosts), right=True),
        Column("IOPS", lambda row: METRICS["iops"].text(row.iops.value), right=True, role=VALUE),
        Column("95 %", lambda row: ends_text(row.iops, "iops"), right=True, role=LABEL),
        Column("of linear", lambda row: units.percent(row.efficiency), right=True),
        Column("", lambda row: ("extrapolated" if row.extrapolated else "measured", LABEL)),
    ]
