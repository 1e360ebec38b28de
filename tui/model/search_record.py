"""What a search found, as run.json keeps it. Units and nulls as in ``tui/model/record.py``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tui.model.figure_record import MeanOrPercentileKey, PercentileKey, RecordPart
from tui.model.step_record import Scalar


class ConfidenceInterval(RecordPart):
    """A figure with the interval that holds it with 95 %."""

    value: float | None = Field(None, description="the figure; null: not known")
    low: float | None = Field(None, description="lower end; null: no bound known")
    high: float | None = Field(None, description="upper end; null: no bound known")


class LimitRecord(RecordPart):
    """What had to hold for a load to be sustained."""

    text: str = Field(description="as it was asked for")
    metric: Literal["latency", "errors"] = Field("latency", description="what is limited")
    direction: str = Field("", description="of which direction; empty: of each that is measured")
    percentile: float | None = Field(None, description="of a latency; null: its mean")
    most: float | None = Field(None, description="ns, or a count of errors")


class LimitFigureRecord(RecordPart):
    """What a limit's figure was at a point."""

    limit: str = Field(description="the limit, as it was asked for")
    direction: str = Field("", description="direction that it was compared with")
    figure: ConfidenceInterval = Field(description="ns of a latency, or a count of errors")
    verdict: Literal["meets", "breaks", "unclear", "void"] = Field(
        description="whether the limit is kept"
    )


class SearchPointRecord(RecordPart):
    """One point that was measured."""

    step: int = Field(description="index of the step")
    role: str = Field(description="maximum, search, confirm, curve, recover or hold")
    why: str = Field("", description="why it was measured")
    offered_iops: float | None = Field(
        None, description="offered over all hosts; null: as much as it can"
    )
    knobs: dict[str, Scalar] = Field(
        default_factory=dict, description="what else was searched over"
    )
    seconds: float = Field(description="measured seconds")
    iops: float = Field(description="achieved over all hosts and directions")
    bw_bytes_per_s: float = Field(description="achieved over all hosts and directions")
    hosts: int = Field(0, description="hosts that measured to the end")
    lost: list[str] = Field(default_factory=list, description="hosts that did not")
    cut: bool = Field(False, description="ended early because it was clearly over")
    figures: list[LimitFigureRecord] = Field(default_factory=list, description="every limit")
    verdict: Literal["meets", "breaks", "unclear", "void"] = Field(description="what was decided")
    reason: str = Field("", description="why it was decided so")
    percentiles_ns: dict[str, dict[PercentileKey, int]] = Field(
        default_factory=dict,
        description=(
            "latency by direction and percentile, from the actual start of each I/O; where 10 I/Os"
            " are slower"
        ),
    )
    intended_ns: dict[MeanOrPercentileKey, float] = Field(
        default_factory=dict,
        description="latency by percentile and 'mean', from the intended start of each I/O",
    )
    intended_reason: str = Field(
        "", description="why the latency from the intended start is not told"
    )
    limiter: str = Field("", description="what limited it, in words")


class AnswerRecord(RecordPart):
    """What the system sustains."""

    state: Literal["found", "never-met", "met-at-full-load", "unfinished"] = Field(
        description=(
            "never-met: no load meets the limits; met-at-full-load: the generator reached its end"
            " first"
        )
    )
    capacity: ConfidenceInterval = Field(description="achieved rate within all limits, in `unit`")
    unit: Literal["iops", "bytes_per_s"] = Field(description="unit of capacity")
    knobs: dict[str, Scalar] = Field(default_factory=dict, description="where it was reached")
    step: int | None = Field(None, description="index of the step that is the evidence")
    binding: str = Field(
        "", description="the limit that is broken first; or the offered rate, where it was not done"
    )
    limiter: str = Field("", description="what limits the system there, in words")
    headroom: dict[str, float] = Field(
        default_factory=dict,
        description="share of each limit that is left at the answer's step, by its text",
    )
    not_tried: list[str] = Field(
        default_factory=list, description="what was not measured, in words"
    )
    doubts: list[str] = Field(
        default_factory=list, description="why points do not fit each other, in words"
    )
    hold: str = Field(
        "", description="for how long and where the answer was held, or why not, in words"
    )
    held_s: float | None = Field(
        None, description="seconds for which the load was held; null: it was not"
    )
    notes: list[str] = Field(
        default_factory=list, description="what holds showed, and what they cannot, in words"
    )
    text: str = Field("", description="the answer in one line, for people")


class KneeRecord(RecordPart):
    """Where latency begins to grow faster than load."""

    iops: ConfidenceInterval = Field(description="achieved rate")
    latency_ns: float | None = Field(None, description="latency there, of `percentile`")
    percentile: str = Field("", description="what the curve is of: p99, write p99.9")
    remark: str = Field("", description="why there is none, or what it cannot say")


class ScalingPointRecord(RecordPart):
    """Throughput with so many hosts."""

    hosts: int = Field(description="number of hosts")
    iops: ConfidenceInterval = Field(description="achieved rate")
    efficiency: float | None = Field(
        None, description="against linear growth from the fewest hosts; 1 is linear"
    )
    extrapolated: bool = Field(False, description="of the model alone; nothing was measured")


class ScalingRecord(RecordPart):
    """Throughput over hosts by the universal scalability law: X(N) = lambda N / (1 + sigma (N-1) +
    kappa N (N-1)).
    """

    points: list[ScalingPointRecord] = Field(
        default_factory=list, description="measured, then extrapolated"
    )
    rate: ConfidenceInterval | None = Field(
        None, description="lambda: I/Os per second of one host alone"
    )
    contention: ConfidenceInterval | None = Field(None, description="sigma")
    coherence: ConfidenceInterval | None = Field(None, description="kappa")
    best_hosts: ConfidenceInterval | None = Field(
        None, description="hosts at which the model has its maximum"
    )
    remark: str = Field("", description="what the model cannot say")


class SearchRecord(RecordPart):
    """A search and what it found."""

    kind: Literal["capacity", "curve", "scaling"] = Field(description="what was asked for")
    objective: Literal["iops", "bandwidth"] = Field(
        "iops", description="what was to be as large as possible"
    )
    limits: list[LimitRecord] = Field(default_factory=list, description="what had to hold")
    over: list[str] = Field(default_factory=list, description="what was searched over")
    most_points: int = Field(description="measurements that were planned; of a capacity, allowed")
    within_s: float | None = Field(None, description="seconds that were allowed; null: no bound")
    spent_s: float = Field(0.0, description="seconds of load and pauses that were spent")
    maximum_iops: ConfidenceInterval | None = Field(None, description="what it did at full load")
    job_shares: dict[str, float] = Field(
        default_factory=dict,
        description="which part of each offered rate a job has, where there are several",
    )
    points: list[SearchPointRecord] = Field(
        default_factory=list, description="in the order they were measured"
    )
    not_tried: list[str] = Field(
        default_factory=list,
        description="of a curve or of scaling: which points it lacks, and why, in words",
    )
    answer: AnswerRecord | None = Field(None, description="of a capacity search")
    knee: KneeRecord | None = Field(None, description="of a load curve")
    scaling: ScalingRecord | None = Field(None, description="over numbers of hosts")
