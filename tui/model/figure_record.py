"""Figures in the record: latencies, directions, totals, per-second series."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from tui.model.operands import Clause
from tui.model.plain_data import MEAN, MEAN_PATTERN, PATTERN, is_percentile


def _percentile(name: str) -> str:
    if not is_percentile(name):
        raise PydanticCustomError(
            "percentile",
            "found '{name}', allowed: numbers from 0 to 100 such as '99.9'",
            {"name": name},
        )
    return name


def _mean_or_percentile(name: str) -> str:
    return name if name == MEAN else _percentile(name)


def _text_like(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern})


PercentileKey = Annotated[str, AfterValidator(_percentile), _text_like(PATTERN)]
MeanOrPercentileKey = Annotated[str, AfterValidator(_mean_or_percentile), _text_like(MEAN_PATTERN)]


UTC_PATTERN = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$"


class RecordPart(BaseModel):
    """Base of all parts of a record; unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True, defer_build=True)


class CodedText(RecordPart):
    """A text, as a code and its operands.

    Older records and `runs show --json` have the text itself instead.
    """

    code: str = Field(description="code of the text")
    operands: dict[str, Any] = Field(
        default_factory=dict, description="its figures and names, in base units"
    )


def coded(told: Clause | str | None) -> CodedText | str:
    """Return a text as records store it; empty for None."""
    return CodedText.model_validate(told) if isinstance(told, dict) else told or ""


class HistogramRecord(RecordPart):
    """A latency histogram in fio's buckets; merge by adding counts of equal indices."""

    scheme: Literal["fio-plat/6x29"] = Field(
        "fio-plat/6x29", description="fio's histogram: 29 groups of 64 buckets"
    )
    unit: Literal["ns"] = Field("ns", description="unit of the bucket values")
    idx: list[int] = Field(description="indices of the non-empty buckets, ascending")
    n: list[int] = Field(description="bucket counts, in the same order")
    upper_ns: list[int] | None = Field(
        None,
        description=(
            "upper edges in the same order, for a tool with its own, wider buckets; null "
            "for the scheme's edges"
        ),
    )

    @model_validator(mode="after")
    def _same_length(self) -> HistogramRecord:
        if len(self.idx) != len(self.n):
            raise ValueError(
                f"found {len(self.idx)} entries in idx; expected {len(self.n)}, as many as in n"
            )
        if self.upper_ns is not None and len(self.upper_ns) != len(self.n):
            raise ValueError(
                f"found {len(self.upper_ns)} entries in upper_ns; expected {len(self.n)}, as many"
                " as in n"
            )
        return self


class LatencyRecord(RecordPart):
    """One latency kind of one direction.

    Percentiles by fio's rule: the middle of the bucket that contains the rank, but never above the
    exact maximum.
    """

    n: int = Field(description="I/Os counted")
    min_ns: int | None = Field(
        None, description="exact minimum; accurate to one bucket if rebuilt from samples"
    )
    max_ns: int | None = Field(None, description="exact maximum")
    mean_ns: float | None = Field(None, description="mean over all I/Os")
    stddev_ns: float | None = Field(None, description="standard deviation (n-1) over all I/Os")
    percentiles_ns: dict[PercentileKey, int] = Field(
        default_factory=dict,
        description=(
            "ns by percentile: 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99;"
            " imports may have others"
        ),
    )
    percentiles_behind: dict[PercentileKey, float] = Field(
        default_factory=dict,
        description=(
            "I/Os slower than each percentile; below 10 the percentile is unreliable and"
            " printed as n<10"
        ),
    )
    histogram: HistogramRecord | None = Field(None, description="histogram behind the percentiles")
    bucket_width: float | None = Field(
        None,
        description=(
            "percentiles are upper edges of the tool's own buckets, above the true value by at "
            "most this share; null for the scheme's buckets, ±0.0078"
        ),
    )

    @property
    def buckets(self) -> HistogramRecord | None:
        """The histogram, under the name that journal results use."""
        return self.histogram


class DirectionRecord(RecordPart):
    """One direction over one measurement."""

    ios: int = Field(description="I/Os completed")
    bytes: int = Field(description="bytes completed")
    runtime_s: float | None = Field(
        None, description="seconds measured, as reported by the tool; aggregates: maximum"
    )
    iops: float | None = Field(
        None, description="I/Os per second over the runtime; aggregates: sum"
    )
    bw_bytes_per_s: float | None = Field(
        None, description="bytes per second over the runtime; aggregates: sum"
    )
    short_ios: int | None = Field(None, description="I/Os that moved less than requested")
    drop_ios: int | None = Field(None, description="I/Os dropped")
    slat: LatencyRecord | None = Field(
        None, description="submission latency, if the I/O engine has one"
    )
    clat: LatencyRecord | None = Field(
        None, description="completion latency, submission to completion"
    )
    lat: LatencyRecord | None = Field(None, description="total latency, slat + clat")
    from_samples: bool = Field(
        False, description="true: rebuilt from samples, because the tool gave no result"
    )
    rounded: list[str] = Field(
        default_factory=list,
        description=("fields known only as printed, with fewer digits (imports)"),
    )


class TimeSpanRecord(RecordPart):
    """A span of run time."""

    start_s: float = Field(description="start, seconds from created_utc")
    end_s: float = Field(description="end, seconds from created_utc")


class WindowRecord(TimeSpanRecord):
    """The time during which all hosts of a step were measuring."""

    length_s: float = Field(description="length, seconds")
    uncertainty_s: float | None = Field(
        None, description="uncertainty of start and end; null if unknown"
    )


class AggregateRecord(DirectionRecord):
    """One direction over several hosts: counts are summed, histograms merged bucket by bucket."""

    hosts: list[str] = Field(description="hosts included")
    interval: TimeSpanRecord | None = Field(
        None, description="common window: the time in which all these hosts were measuring"
    )
    iops_window: float | None = Field(
        None, description="I/Os per second in the common window, from samples"
    )
    bw_window_bytes_per_s: float | None = Field(
        None, description="bytes per second in the common window, from samples"
    )
    window_difference: float | None = Field(
        None, description="iops_window / iops - 1; null if either is unknown"
    )


class ResultsRecord(RecordPart):
    """Results of a step. Directions: read, write, and mixed (both together) if both exist."""

    aggregate: dict[str, AggregateRecord] = Field(
        default_factory=dict, description="figures over all hosts, by direction"
    )
    per_host: dict[str, dict[str, DirectionRecord]] = Field(
        default_factory=dict, description="figures by host and direction"
    )
    per_job: dict[str, dict[str, dict[str, DirectionRecord]]] | None = Field(
        None,
        description=(
            "figures by host, job name and direction, if a host ran more than one job group"
        ),
    )
    jobs: dict[str, dict[str, AggregateRecord]] | None = Field(
        None,
        description=(
            "figures over all hosts by job name and direction, if there was more than one job group"
        ),
    )


class SeriesColumns(RecordPart):
    """Per-second values in one direction, for one host or all hosts.

    Null means unknown in that second.
    """

    host: str | None = Field(None, description="host name; null for all hosts together")
    direction: str = Field(description="read, write, ...")
    iops: list[float | None] = Field(default_factory=list, description="I/Os per second")
    bw_bytes_per_s: list[float | None] = Field(default_factory=list, description="bytes per second")
    lat_mean_ns: list[float | None] = Field(
        default_factory=list, description="mean latency in that second"
    )
    p99_ns: list[int | None] = Field(
        default_factory=list,
        description="99th percentile of the interval that covers the middle of the second",
    )
    printed_ns: dict[PercentileKey, list[int | None]] = Field(
        default_factory=dict,
        description=(
            "single hosts: percentiles per second as the tool printed them, by name; they"
            " cannot be merged"
        ),
    )


class SeriesRecord(RecordPart):
    """Measured load over time in equal steps, without the ramp."""

    step_s: float = Field(1.0, description="seconds per value")
    start_s: float = Field(description="start of the first value, seconds from created_utc")
    columns: list[SeriesColumns] = Field(
        default_factory=list, description="one per host and direction; all hosts together first"
    )
