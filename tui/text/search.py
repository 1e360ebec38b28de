"""Searches as text for lists, summaries and reports: answer, limits, scaling law."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics import units
from tui.metrics.buckets import label
from tui.metrics.registry import BY_UNIT, METRICS
from tui.model.figure_record import CodedText
from tui.model.operands import clause
from tui.model.search import Caveat, caveats_of
from tui.model.search_record import (
    AnswerRecord,
    ConfidenceInterval,
    KneeRecord,
    LimitRecord,
    ScalingPointRecord,
    ScalingRecord,
    SearchRecord,
)
from tui.text.search_texts import NOT_HELD, knobs_text, search_text

ROLES = {"maximum": "full load", "search": "search", "confirm": "confirm", "curve": "curve",
    "recover": "recovery",
         "hold": "hold"}  # fmt: skip
NOTHING = 1e-7  # a smaller term of the scaling law is shown as 0
TITLES = {"capacity": "capacity", "curve": "load curve", "scaling": "scaling"}


def rate(value: float | None, unit: str) -> str:
    """Return a rate with its unit: ``48.2k IOPS``, ``1.20 GiB/s``."""
    return BY_UNIT[unit].with_unit(value)


def spread(figure: ConfidenceInterval, short: bool = False) -> str:
    """Return the 95 % interval relative to a figure: ``± 2.1 %``, or ``(-5 % +1 %)`` if asymmetric.

    `short`: always with ±, and the larger side. Empty if unknown or measured once.
    """
    value, low, high = figure.value, figure.low, figure.high
    if not value or low is None or high is None or low == high:
        return ""
    under, over = (value - low) / value, (high - value) / value
    if short or max(under, over) <= 1.5 * min(under, over) or max(under, over) < 0.005:
        return f"± {_percent(max(under, over))} %"
    return f"(-{_percent(under)} % +{_percent(over)} %)"


def _percent(share: float) -> str:
    return f"{share * 100:.2g}" if share < 0.995 else f"{share * 100:.0f}"


def known(figure: ConfidenceInterval, unit: str) -> str:
    """Return a rate with its interval: ``48.2k IOPS ± 2.1 %``."""
    return " ".join(part for part in (rate(figure.value, unit), spread(figure)) if part)


def with_ends(figure: ConfidenceInterval, unit: str) -> str:
    """Return a rate with the ends of its interval: ``48.2k IOPS (95 %: 47.1k to 49.0k)``."""
    ends = ends_text(figure, unit)
    return f"{rate(figure.value, unit)}{f' (95 %: {ends})' if ends else ''}"


def term(figure: ConfidenceInterval) -> str:
    """Return a dimensionless figure with its interval: ``0.041 (0.035 to 0.047)``."""
    if figure.value is None:
        return units.UNKNOWN
    if figure.low is None or figure.high is None:
        return _number(figure.value)
    return f"{_number(figure.value)} ({_number(figure.low)} to {_number(figure.high)})"


def _number(value: float) -> str:
    return "0" if abs(value) < NOTHING else f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"


def ends_text(figure: ConfidenceInterval, unit: str) -> str:
    """Return the ends of an interval: ``47.1k to 49.0k``; empty if one is unknown, or if both are
    the same as printed.
    """
    if figure.low is None or figure.high is None:
        return ""
    counted = BY_UNIT[unit].counted
    low, high = (rate(end, unit).removesuffix(f" {counted}") for end in (figure.low, figure.high))
    return f"{low} to {high}" if low != high else ""


def limits_text(limits: Sequence[LimitRecord]) -> str:
    """Return search limits as text: ``p99.9 < 2 ms and no errors``."""
    return " and ".join(limit_text(each) for each in limits)


def limit_text(limit: LimitRecord) -> str:
    """Return a limit as people write it: ``write p99 < 5 ms``."""
    if limit.most is None:
        return limit.text
    if limit.metric == "errors":
        return "no errors" if limit.most == 0 else f"errors ≤ {limit.most:g}"
    number, unit = units.latency_parts(limit.most)
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{limit_kind(limit)} < {number} {unit}"


def limit_kind(limit: LimitRecord) -> str:
    """Return the quantity that a limit bounds: ``write p99``, ``mean``, ``errors``."""
    if limit.metric == "errors":
        return "errors"
    kind = "mean" if limit.percentile is None else f"p{label(limit.percentile)}"
    return f"{limit.direction} {kind}".strip()


def answer_text(
    answer: AnswerRecord, limits: Sequence[LimitRecord], *, so_far: bool = False
) -> str:
    """Return the answer of a search in one line, such as the capacity and its limits."""
    capacity, unit = answer.capacity, answer.unit
    at = f" at {limits_text(limits)}" if limits else ""
    where = f", {knobs_text(dict(answer.knobs))}" if answer.knobs else ""
    if answer.state == "never-met":
        least = f" down to {rate(capacity.high, unit)}" if capacity.high is not None else ""
        return f"no load meets {limits_text(limits) or 'the limits'}{least}"
    if answer.state == "met-at-full-load":
        met = limits_text(limits) or "the limits"
        load = f"{rate(capacity.value, unit)}, closed loop"
        return f"full load meets {met}: {load}{where}{_held(answer, so_far)}"
    if answer.state == "found":
        return f"capacity {with_ends(capacity, unit)}{at}{where}{_held(answer, so_far)}"
    if answer.step is None:
        return f"unfinished: no load found yet that meets {limits_text(limits) or 'the limits'}"
    low = capacity.low if capacity.low is not None else capacity.value
    most = f", at most {rate(capacity.high, unit)}" if capacity.high is not None else ""
    return f"unfinished: capacity probably at least {rate(low, unit)}{most}{at}{where}"


def _held(answer: AnswerRecord, so_far: bool) -> str:
    """Return which load was held and for how long, or that none was: short points show neither
    burst credits nor a cache that fills up.
    """
    if answer.held_s is None:
        return "" if so_far else f", {NOT_HELD}"
    known = isinstance(answer.hold, CodedText) and answer.hold.code == "held"
    load = search_text(answer.hold) if known else f"held for {units.span(answer.held_s)}"
    return f", {load.removesuffix(' at full load')}"


def hold_text(answer: AnswerRecord) -> str:
    """Return whether the answer was confirmed by a long hold, as text; older records do not say
    why it was not.
    """
    return search_text(answer.hold) or NOT_HELD


CAVEATS: dict[str, str] = {
    "contradictions": "points of the search contradict each other",
    "unfinished": "search unfinished",
    "not-held": NOT_HELD,
}


def caveats(search: SearchRecord | None) -> list[str]:
    """Return the reasons why the answer of a search is weak although its run is valid, in brief.

    `tui.view.search.answer_facts` has them at length.
    """
    answer, scaling = (search.answer, search.scaling) if search is not None else (None, None)
    found: list[Caveat] = []
    if answer is not None:
        contradicted = bool(answer.contradictions)
        found = caveats_of(answer.state, answer.step, answer.held_s, contradicted=contradicted)
    of_law = search_text(scaling.caveat) if scaling is not None else ""
    return [*(CAVEATS[each] for each in found), *filter(None, [of_law])]


def caveat_text(code: str) -> str:
    """Return a caveat of `RunSummary` in a few words; its code, if its text has figures."""
    return CAVEATS.get(code) or search_text(clause(code))


def knee_text(knee: KneeRecord) -> str:
    """Return the load above which latency grows faster than load, or why no knee is known."""
    if knee.iops.value is None:
        return f"no knee: {search_text(knee.caveat)}"
    there = (
        f", {knee.percentile} {units.latency(knee.latency_ns)} there"
        if knee.latency_ns is not None
        else ""
    )
    return f"knee at {with_ends(knee.iops, 'iops')}{there}"


def measured_scales(scaling: ScalingRecord) -> dict[int, ScalingPointRecord]:
    """Return the measured points by number of hosts, without the extrapolated ones."""
    return {point.hosts: point for point in scaling.points if not point.extrapolated}


def scaling_text(scaling: ScalingRecord) -> str:
    """Return how throughput scales with hosts: ``74.0 % of linear at 8 hosts, 310k IOPS``."""
    measured = measured_scales(scaling)
    if not measured:
        return ""
    last = measured[max(measured)]
    figure = METRICS["iops"].with_unit(last.iops.value)
    if last.efficiency is None or len(measured) < 2:
        return f"{units.plural(last.hosts, 'host')}: {figure}"
    return f"{units.percent(last.efficiency)} of linear at {last.hosts} hosts, {figure}"


def headline_text(search: SearchRecord, *, so_far: bool = False) -> str:
    """Return the result of a search in one line; empty while there is none."""
    if search.answer is not None:
        return search.answer.text or answer_text(search.answer, search.limits, so_far=so_far)
    if search.scaling is not None:
        return scaling_text(search.scaling)
    top = search.maximum_iops
    most = f"maximum {with_ends(top, 'iops')}" if top is not None else ""
    return ", ".join(
        part for part in (most, knee_text(search.knee) if search.knee is not None else "") if part
    )


def spent_text(search: SearchRecord) -> str:
    """Return how much of the budget a search spent: ``9 of 15 points, 2:40 of 30:00``."""
    within = f" of {units.span(search.within_s)}" if search.within_s is not None else ""
    return (
        f"{len(search.points)} of {search.most_points} points, {units.span(search.spent_s)}{within}"
    )


def shares_text(shares: dict[str, float]) -> str:
    """Return how jobs share an offered rate.

    ``readers 71.2 %, writers 28.8 % of each offered rate, as at full load``
    """
    jobs = ", ".join(f"{name} {units.percent(each)}" for name, each in shares.items())
    return f"{jobs} of each offered rate, as at full load"


def short_text(search: SearchRecord) -> str:
    """Return the result of a search in about 17 cells: ``48.2k IOPS ±2.1%``, ``≥ 61.0k IOPS``;
    ``61.0k IOPS (full)``: full load meets the limits.

    Empty while there is none.
    """
    answer = search.answer
    if answer is not None:
        return _short_answer(answer)
    if search.scaling is not None:
        return scaling_text(search.scaling).partition(" at ")[0]
    if search.knee is not None and search.knee.iops.value is not None:
        return f"knee {METRICS['iops'].with_unit(search.knee.iops.value)}"
    return rate(search.maximum_iops.value, "iops") if search.maximum_iops is not None else ""


def _short_answer(answer: AnswerRecord) -> str:
    capacity, unit = answer.capacity, answer.unit
    if answer.state == "never-met":
        return "limits not met"
    if answer.state == "found":
        known_to = spread(capacity, short=True).replace(" ", "")
        return f"{rate(capacity.value, unit)} {known_to}".strip()
    if answer.state == "met-at-full-load":
        return f"{rate(capacity.value, unit)} (full)"
    low = capacity.value if capacity.low is None else capacity.low
    return f"≥ {rate(low, unit)}" if answer.step is not None else "unfinished"
