"""Parts of run.json that lists need; the rest is skipped without parsing."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from tui.metrics.registry import MIXED, MetricName
from tui.metrics.units import TAIL_SAMPLES
from tui.model.check_names import check_name
from tui.model.load_keys import kinds_of_params, load_keys
from tui.model.operands import Clause
from tui.model.plain_data import MultiLine
from tui.model.quantities import plain_duration, plain_size
from tui.model.search import caveats_of
from tui.text.names import swept_text

SummaryState = Literal[
    "complete",
    "partial",
    "aborted",
    "failed",
    "imported",
    "baseline",
    "running",
    "interrupted",
    "unreadable",
]
# as in model/record.py, which a list need not load
Verdict = Literal["valid", "valid-with-warnings", "invalid"]
SETUP_BYTES = 8  # of a digest
SERIES_VALUES = 16  # of a headline's throughput over time


class FindingSummary(Struct, gc=False):
    """One finding of a check."""

    id: str = ""
    severity: str = ""
    message: str | None = None  # of an older record
    code: str | None = None
    operands: dict[str, Any] = field(default_factory=dict)
    points: list[str] = field(default_factory=list)  # that it is about; empty: all

    def __post_init__(self) -> None:
        self.id = check_name(self.id)


class _FindingHead(FindingSummary):
    scope: dict[str, Any] = field(default_factory=dict)


class _Name(Struct):
    name: str = ""


class _StoredText(Struct):
    text: MultiLine | None = None


class _ProfileHead(_StoredText):
    tag: str = ""
    version: int | None = None
    params: dict[str, Any] = field(default_factory=dict)
    bases: list[MultiLine] = field(default_factory=list)
    members: list[_StoredText] = field(default_factory=list)


class HeadlineHead(Struct):
    """The headline and the step it comes from."""

    text: str | None = None  # this and the next: in older records
    short: str | None = None
    metric: MetricName = "iops"
    percentile: float | None = None
    value: float | None = None
    behind: int | None = None
    request: str = ""
    unit: str = ""
    direction: str = ""
    step: int | None = None


class _NoteHead(Struct):
    text: str = ""


class _LatencyHead(Struct):
    percentiles_ns: dict[str, int] = field(default_factory=dict)
    percentiles_behind: dict[str, float] = field(default_factory=dict)


class _DirectionHead(Struct):
    bw_bytes_per_s: float | None = None
    clat: _LatencyHead | None = None
    lat: _LatencyHead | None = None


class _ResultsHead(Struct):
    aggregate: dict[str, _DirectionHead] = field(default_factory=dict)


class _ColumnHead(Struct):
    direction: str
    host: str | None = None
    iops: list[float | None] = field(default_factory=list)


class _SeriesHead(Struct):
    columns: list[_ColumnHead] = field(default_factory=list)


class StepHead(Struct):
    """The figures of a step over all hosts."""

    index: int = 0
    name: str = ""
    profile: str | None = None
    cell: str | None = None
    point: dict[str, Any] = field(default_factory=dict)
    latency_kind: str | None = None
    results: _ResultsHead = field(default_factory=_ResultsHead)
    series: _SeriesHead | None = None


class _AnswerHead(Struct):
    state: str = ""
    step: int | None = None
    held_s: float | None = None
    contradictions: list[Any] = field(default_factory=list)
    doubts: list[Any] = field(default_factory=list)  # their name before 2026-11


class _ScalingHead(Struct):
    caveat: dict[str, Any] | str = ""
    remark: str = ""  # its name before 2026-11


class SearchHead(Struct):
    """Caveats on the result of a search."""

    answer: _AnswerHead | None = None
    scaling: _ScalingHead | None = None

    @property
    def caveats(self) -> list[str]:
        """Codes of the caveats; `caveat` for the text in an older record."""
        found: list[str] = []
        if (answer := self.answer) is not None:
            contradicted = bool(answer.contradictions or answer.doubts)
            found += caveats_of(answer.state, answer.step, answer.held_s, contradicted=contradicted)
        if (scaling := self.scaling) is not None:
            found += _codes(scaling.caveat or scaling.remark)
        return found


def _codes(told: dict[str, Any] | str) -> list[str]:
    if isinstance(told, str):
        return ["caveat"] if told else []
    parts = told.get("operands", {}).get("texts") or [told]
    return [str(each["code"]) for each in parts]


class RecordHead(Struct):
    """Parts of run.json that a summary needs; the rest is skipped without parsing."""

    run_id: str
    state: SummaryState
    created_utc: str | None = None
    duration_s: float | None = None
    profile: _ProfileHead = field(default_factory=_ProfileHead)
    hosts: list[_Name] = field(default_factory=list)
    headline: HeadlineHead | None = None
    search: dict[str, Any] | None = None
    steps: list[StepHead] = field(default_factory=list)
    notes: list[_NoteHead] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None
    checks: list[str] | None = None
    findings: list[_FindingHead] = field(default_factory=list)
    target: str | None = None
    reason: Clause | str = ""


def findings_of(record: RecordHead) -> list[FindingSummary]:
    """Return the findings of a run; findings about some of its points name these points."""
    from tui.record.cells import point_names, steps_of  # a list from cached summaries needs none

    names = point_names(record.steps)
    whole = len({*names.values()})
    found = []
    for each in record.findings:
        about = list(dict.fromkeys(names[at] for at in steps_of(each.scope) if names.get(at)))
        points = about if len(about) < whole else []
        told = (each.id, each.severity, each.message, each.code, each.operands)
        found.append(FindingSummary(*told, points))
    return found


def setup_of(record: RecordHead) -> str:
    """Return a digest of how a run was measured: profile, parameters, points, hosts and target.

    Empty for a run without a profile's text, such as an imported one.
    """
    profile = record.profile
    if profile.text is None:
        return ""
    points = {msgspec.json.encode((each.name, each.point), order="sorted") for each in record.steps}
    texts = (profile.text, *profile.bases, *(each.text or "" for each in profile.members))
    parts = (
        profile.tag,
        profile.version,
        *(dict(load_keys(text)) for text in texts),
        msgspec.json.encode(profile.params, order="sorted"),
        *sorted(points),
        *sorted(host.name for host in record.hosts),
        record.target or "",
    )
    return blake2b(msgspec.json.encode(parts, order="sorted"), digest_size=SETUP_BYTES).hexdigest()


def params_of(record: RecordHead) -> dict[str, str]:
    """Return the parameters of a run as people write them; swept ones with their values.

    Secrets are left out.
    """
    profile = record.profile
    texts = [*profile.bases[::-1], *([profile.text] if profile.text is not None else [])]
    kinds = {name: kind for text in texts for name, kind in kinds_of_params(text).items()}
    swept: dict[str, list[str]] = {}
    for step in record.steps if record.search is None else ():
        for name, value in step.point.items():
            values, text = swept.setdefault(name, []), _value_text(kinds.get(name), value)
            values += [text] if text not in values else []
    found = {name: _value_text(kinds.get(name), value) for name, value in profile.params.items()}
    found |= {name: swept_text(values) for name, values in swept.items()}
    return {name: text for name, text in found.items() if kinds.get(name) != "secret"}


def _value_text(kind: str | None, value: Any) -> str:
    """Return a value as people write it: ``64k``, ``30s``, ``yes``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if kind == "size" and isinstance(value, int) and value >= 0:
        return plain_size(value)
    if kind == "duration" and isinstance(value, int | float) and value >= 0:
        return plain_duration(value)
    return str(value)


class HeadlineFigures(Struct):
    """Further figures of the headline's step, in the same direction."""

    bw_bytes_per_s: float | None = None
    p99_ns: int | None = None
    # means of equal parts of the measured time
    iops_over_time: list[float | None] = field(default_factory=list)


def figures_of(steps: Sequence[StepHead], headline: HeadlineHead) -> HeadlineFigures:
    """Return the figures to show next to a headline."""
    found = HeadlineFigures()
    step = next((each for each in steps if each.index == headline.step), None)
    figures = step.results.aggregate.get(headline.direction) if step is not None else None
    if step is None or figures is None:
        return found
    found.bw_bytes_per_s = figures.bw_bytes_per_s
    latency = figures.lat if step.latency_kind == "lat" else figures.clat
    if latency is not None and latency.percentiles_behind.get("99", TAIL_SAMPLES) >= TAIL_SAMPLES:
        found.p99_ns = latency.percentiles_ns.get("99")
    columns = (
        [each for each in step.series.columns if each.host is None]
        if step.series is not None
        else []
    )
    own = [each for each in columns if each.direction == headline.direction]
    shown = own or (columns if headline.direction == MIXED else [])
    found.iops_over_time = _means(
        [_sum_of(second) for second in zip(*(each.iops for each in shown), strict=False)]
    )
    return found


def _sum_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _means(values: Sequence[float | None]) -> list[float | None]:
    """Return the means of up to `SERIES_VALUES` equal parts of a series."""
    parts = min(SERIES_VALUES, len(values))
    edges = [part * len(values) // parts for part in range(parts + 1)] if parts else []
    found = [
        [value for value in values[begin:end] if value is not None]
        for begin, end in pairwise(edges)
    ]
    return [round(sum(part) / len(part), 3) if part else None for part in found]
