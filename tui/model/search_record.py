"""Search results in run.json. Units and nulls are as in ``tui/model/record.py``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tui.model.figure_record import CodedText, MeanOrPercentileKey, PercentileKey, RecordPart
from tui.model.search import Caveat
from tui.model.step_record import Scalar


class ConfidenceInterval(RecordPart):
    """A figure with its 95 % interval."""

    value: float | None = Field(None, description="point estimate; null if unknown")
    low: float | None = Field(None, description=("lower end of the 95 % interval; null if unknown"))
    high: float | None = Field(
        None, description=("upper end of the 95 % interval; null if unknown")
    )


class LimitRecord(RecordPart):
    """A limit of the search."""

    text: str = Field(description="as requested")
    metric: Literal["latency", "errors"] = Field("latency", description="limited quantity")
    direction: str = Field("", description="direction; empty: every measured direction")
    percentile: float | None = Field(None, description="latency percentile; null for the mean")
    most: float | None = Field(None, description="ns, or an error count")


class LimitFigureRecord(RecordPart):
    """Measured figure of a limit at a point."""

    limit: str = Field(description="the limit, as requested")
    direction: str = Field("", description="direction it was applied to")
    figure: ConfidenceInterval = Field(description="latency in ns, or an error count")
    verdict: Literal["meets", "breaks", "unclear", "void"] = Field(
        description="whether the limit is met"
    )


class SearchPointRecord(RecordPart):
    """A measured point of the search."""

    step: int = Field(description="step index")
    role: str = Field(description="maximum, search, confirm, curve, recover or hold")
    why: CodedText | str = Field("", description="reason for measuring this point")
    offered_iops: float | None = Field(
        None, description="offered over all hosts; null at full load"
    )
    knobs: dict[str, Scalar] = Field(default_factory=dict, description="other varied settings")
    seconds: float = Field(description="measured seconds")
    iops: float = Field(description="achieved over all hosts and directions")
    bw_bytes_per_s: float = Field(description="achieved over all hosts and directions")
    hosts: int = Field(0, description="hosts that measured to the end")
    lost: list[str] = Field(default_factory=list, description="hosts that did not finish")
    cut: bool = Field(False, description="true: ended early, because a limit was clearly exceeded")
    figures: list[LimitFigureRecord] = Field(
        default_factory=list, description="every limit, with the measured value"
    )
    verdict: Literal["meets", "breaks", "unclear", "void"] = Field(description="verdict")
    reason: CodedText | str = Field("", description="reason for the verdict")
    percentiles_ns: dict[str, dict[PercentileKey, int]] = Field(
        default_factory=dict,
        description=(
            "latency by direction and percentile, from the actual start of each I/O; only "
            "percentiles with 10 or more slower I/Os"
        ),
    )
    bucket_width: dict[str, float] = Field(
        default_factory=dict,
        description=(
            "by direction with the tool's own buckets: percentiles are above the true value by at "
            "most this share"
        ),
    )
    intended_ns: dict[MeanOrPercentileKey, float] = Field(
        default_factory=dict,
        description="latency by percentile and 'mean', from the intended start of each I/O",
    )
    intended_reason: CodedText | str = Field(
        "", description="why the latency from the intended start is unknown"
    )
    bottleneck: CodedText | str = Field(
        "", validation_alias="limiter", description="bottleneck; empty if unknown"
    )


class AnswerRecord(RecordPart):
    """The capacity found."""

    state: Literal["found", "never-met", "met-at-full-load", "unfinished"] = Field(
        description=(
            "never-met: no load meets the limits; met-at-full-load: the load generator"
            " reached its maximum within the limits"
        )
    )
    capacity: ConfidenceInterval = Field(description="achieved rate within all limits, in `unit`")
    unit: Literal["iops", "bytes_per_s"] = Field(description="unit of `capacity`")
    knobs: dict[str, Scalar] = Field(
        default_factory=dict, description=("settings at the best point")
    )
    step: int | None = Field(None, description="index of the step that proves the capacity")
    binding: CodedText | str = Field(
        "",
        description=(
            "the limit reached first, as requested; or the code rate-not-achieved, if only"
            " the offered rate was not achieved"
        ),
    )
    bottleneck: CodedText | str = Field(
        "", validation_alias="limiter", description="bottleneck at that step; empty if unknown"
    )
    headroom: dict[str, float] = Field(
        default_factory=dict,
        description="unused share of each limit at the best point, by limit text",
    )
    not_tried: list[CodedText | str] = Field(
        default_factory=list, description="settings and loads that were not measured"
    )
    contradictions: list[CodedText | str] = Field(
        default_factory=list,
        validation_alias="doubts",
        description="contradictions between points",
    )
    hold: CodedText | str = Field(
        "", description="duration and load of the hold, or why there is none"
    )
    held_s: float | None = Field(None, description="seconds of the hold; null if not held")
    caveats: list[Caveat] = Field(
        default_factory=list,
        description=(
            "why the capacity is weak: points contradict each other, the search"
            " is unfinished, or the answer was not held, so that it may include burst credits or a"
            " cache"
        ),
    )
    notes: list[CodedText | str] = Field(
        default_factory=list, description="result of the hold and its limitations"
    )
    text: str | None = Field(
        None, description="the answer on one line; only in older records and in `runs show --json`"
    )


class KneeRecord(RecordPart):
    """The point beyond which latency grows faster than load."""

    iops: ConfidenceInterval = Field(description="achieved rate")
    latency_ns: float | None = Field(
        None, description="latency at the knee, for the figure in `percentile`"
    )
    percentile: str = Field("", description="figure of the curve, such as p99 or write p99.9")
    caveat: CodedText | str = Field(
        "", validation_alias="remark", description="why no knee was found, or its limitation"
    )


class ScalingPointRecord(RecordPart):
    """Throughput with a given number of hosts."""

    hosts: int = Field(description="number of hosts")
    iops: ConfidenceInterval = Field(description="achieved rate")
    efficiency: float | None = Field(
        None, description="relative to linear scaling from the fewest hosts; 1 is linear"
    )
    extrapolated: bool = Field(False, description="computed by the model, not measured")


class ScalingRecord(RecordPart):
    """Throughput as a function of the number of hosts N, by the universal scalability law: X(N) =
    lambda N / (1 + sigma (N-1) + kappa N (N-1)).
    """

    points: list[ScalingPointRecord] = Field(
        default_factory=list, description="measured, then extrapolated"
    )
    rate: ConfidenceInterval | None = Field(
        None, description="lambda of the scaling law: I/Os per second of a single host"
    )
    contention: ConfidenceInterval | None = Field(None, description="sigma")
    coherence: ConfidenceInterval | None = Field(None, description="kappa")
    best_hosts: ConfidenceInterval | None = Field(
        None, description="number of hosts at the model's maximum"
    )
    caveat: CodedText | str = Field("", validation_alias="remark", description="model caveats")


class SearchRecord(RecordPart):
    """A search and its results."""

    kind: Literal["capacity", "curve", "scaling"] = Field(description="goal")
    objective: Literal["iops", "bandwidth"] = Field("iops", description="maximised metric")
    limits: list[LimitRecord] = Field(default_factory=list, description="limits")
    over: list[str] = Field(default_factory=list, description="varied settings")
    most_points: int = Field(
        description="planned measurements; for a capacity search, the most it may take"
    )
    within_s: float | None = Field(None, description="allowed seconds; null if unlimited")
    spent_s: float = Field(0.0, description="seconds of load and pauses used")
    maximum_iops: ConfidenceInterval | None = Field(None, description="rate at full load")
    job_shares: dict[str, float] = Field(
        default_factory=dict,
        description="each job's share of the offered rate, if there are several jobs",
    )
    points: list[SearchPointRecord] = Field(default_factory=list, description="in measuring order")
    not_tried: list[CodedText | str] = Field(
        default_factory=list,
        description="for a curve or scaling: missing points and the reasons",
    )
    answer: AnswerRecord | None = Field(None, description="capacity search result")
    knee: KneeRecord | None = Field(None, description="load curve result")
    scaling: ScalingRecord | None = Field(None, description="scaling run result")
