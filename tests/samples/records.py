"""Records for tests of comparisons: figures, seconds and histograms that can be checked by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tests.samples.events import histogram
from tui.analysis.measured import (
    Configuration,
    Floor,
    NoiseFloors,
    configuration,
    name_of,
    points_of,
)
from tui.metrics.histogram import Histogram
from tui.model.figure_record import (
    AggregateRecord,
    HistogramRecord,
    LatencyRecord,
    ResultsRecord,
    SeriesColumns,
    SeriesRecord,
)
from tui.model.host_record import HostRecord
from tui.model.hostfacts import Fact
from tui.model.record import (
    CellRecord,
    HeadlineRecord,
    MatrixRecord,
    ProfileRecord,
    RunRecord,
    parse_record,
)
from tui.model.step_record import MetadataRecord, OperationRecord, Scalar, StepRecord
from tui.record.headline import told_headline

IOPS = 10_000.0


def latency_of(values_ns: Sequence[int]) -> LatencyRecord:
    """Return the latency of these I/Os."""
    buckets = histogram(values_ns)
    found = Histogram.from_buckets(buckets).percentiles(at_most=max(values_ns))
    return LatencyRecord(
        n=len(values_ns),
        min_ns=min(values_ns),
        max_ns=max(values_ns),
        mean_ns=float(np.mean(values_ns)),
        stddev_ns=float(np.std(values_ns)),
        percentiles_ns=found,
        histogram=HistogramRecord(idx=buckets.idx, n=buckets.n),
    )


@cache
def spread(scale: float, seed: int) -> LatencyRecord:
    """Return the latency of `latencies`, worked out once: nobody writes into it."""
    return latency_of(latencies(scale, seed=seed))


def latencies(scale: float = 1.0, count: int = 20_000, seed: int = 1) -> list[int]:
    """Return latencies with a tail, around 100 µs times `scale`."""
    drawn = np.random.default_rng(seed).lognormal(0.0, 0.3, count)
    return [int(value) for value in drawn * 100_000 * scale]


def seconds(mean: float, count: int = 60, noise: float = 0.01, seed: int = 1) -> list[float]:
    """Return independent values around a mean, one a second."""
    if not count:
        return []
    drawn = np.random.default_rng(seed).normal(1.0, noise, count)
    return [float(value) for value in drawn / drawn.mean() * mean]


def step(
    iops: float = IOPS,
    *,
    index: int = 0,
    scale: float = 1.0,
    seed: int = 1,
    noise: float = 0.01,
    count: int = 60,
    params: Mapping[str, Scalar] | None = None,
    point: Mapping[str, Scalar] | None = None,
    repetition: int = 1,
    latency: LatencyRecord | None = None,
) -> StepRecord:
    """Return a step that read at `iops`, each second within `noise` of it.

    Without seconds when `count` is 0.
    """
    if latency is None:  # of another rate: another measurement
        found = spread(scale, seed)
        latency = found.model_copy(update={"stddev_ns": (found.stddev_ns or 0.0) + iops / 1e6})
    read = AggregateRecord(
        ios=1, bytes=4096, iops=iops, bw_bytes_per_s=iops * 4096, clat=latency, hosts=["h1"]
    )
    rates: list[float | None] = [*seconds(iops, count, noise, seed)]
    means: list[float | None] = [*seconds(latency.mean_ns or 0.0, count, noise, seed + 1000)]
    columns = SeriesColumns(
        host=None, direction="read", iops=rates,
        bw_bytes_per_s=[(each or 0) * 4096 for each in rates],
        lat_mean_ns=means, p99_ns=[round((each or 0) * 2) for each in means],
    )  # fmt: skip
    cell = " ".join(["test/p", *(f"{name}={value}" for name, value in (point or {}).items())])
    return StepRecord(
        index=index,
        name=cell,
        tool="fio",
        params=dict(params or {"numjobs": 1, "directory": "/mnt/a"}),
        point=dict(point or {}),
        cell=cell,
        repetition=repetition,
        state="done",
        headline=iops,
        results=ResultsRecord(aggregate={"read": read}),
        series=SeriesRecord(start_s=0.0, columns=[columns]) if count else None,
    )


def run(
    *steps: StepRecord, run_id: str = "20260101T000000Z-a", facts: Mapping[str, Fact] | None = None
) -> RunRecord:
    """Return a complete, valid run of these steps on one host."""
    steps = steps or (step(),)
    headline = HeadlineRecord(
        metric="iops", direction="read", value=steps[0].headline, unit="iops", step=0
    )
    cells = list(dict.fromkeys(each.cell or "" for each in steps))
    matrix = MatrixRecord(
        cells=[
            CellRecord(
                key=key,
                steps=[s.index for s in steps if s.cell == key],
                state="done",
                headline=headline,
            )
            for key in cells
        ]
    )
    return RunRecord(
        schema_name="benchtui.run/1",
        run_id=run_id,
        created_utc="2026-01-01T00:00:00Z",
        state="complete",
        verdict="valid",
        headline=headline,
        profile=ProfileRecord(tag="test/p", version=1, params=dict(steps[0].params)),
        hosts=[
            HostRecord(name="h1", facts=dict(facts or {"kernel": "6.1", "fio_version": "fio-3.33"}))
        ],
        steps=list(steps),
        matrix=matrix if len(steps) > 1 else None,
    )


def repeated(values: Sequence[float], run_id: str = "20260101T000000Z-a") -> RunRecord:
    """Return a run whose point was repeated with these figures."""
    return run(
        *(step(each, index=at, repetition=at + 1, seed=at) for at, each in enumerate(values)),
        run_id=run_id,
    )


NUMBERS = count(1)


def again(record: RunRecord) -> RunRecord:
    """Return a run as if it had been measured once more: its figures differ by next to nothing."""
    made, nearly = record.model_copy(deep=True), 1 + 1e-9 * next(NUMBERS)
    made.provenance.artefacts = []
    for each in made.steps:
        for total in each.results.aggregate.values():
            total.iops = total.iops and total.iops * nearly
            for latency in filter(None, (total.clat, total.lat)):
                latency.stddev_ns = latency.stddev_ns and latency.stddev_ns * nearly
    return made


def runs_of(values: Sequence[float], letter: str = "a") -> list[RunRecord]:
    """Return separate runs, each with one of these figures."""
    return [
        run(step(each, seed=at), run_id=f"20260101T0000{at:02}Z-{letter}")
        for at, each in enumerate(values)
    ]


def quiet(*records: RunRecord, cov: float = 0.002, n: int = 30) -> NoiseFloors:
    """Return the noise floors of a target on which runs of the same come out alike.

    Without a run that of `run()`.
    """
    found = [calm(record, cov, n) for record in records or (run(),)]
    return NoiseFloors(Path("noise.json"), {each.key: each for each in found})


def calm(record: RunRecord, cov: float = 0.002, n: int = 30) -> Configuration:
    """Return a run's configuration with the same noise floor for every figure."""
    found, points = configuration(record), points_of([record]).values()
    found.runs = [f"r{number}" for number in range(n)]
    found.figures = {
        name_of(point, figure): Floor(n, cov) for point in points for figure in point.figures
    }
    return found


def metadata_run(
    rates: Mapping[str, Sequence[float]], run_id: str = "20260101T000000Z-m"
) -> RunRecord:
    """Return a run of a metadata benchmark with these iterations."""
    operations = {
        name: OperationRecord(mean=float(np.mean(each)), iterations=list(each))
        for name, each in rates.items()
    }
    metadata = MetadataRecord(
        tool="mdtest", version="3.3.0", tasks=2, ranks_per_host=2, items_per_rank=10, files=20,
        iterations=3,
        operations=operations,
    )  # fmt: skip
    only = StepRecord(
        index=0, name="m", tool="mdtest", params={"items": 10}, state="done", metadata=metadata
    )
    record = run(only, run_id=run_id)
    record.headline = HeadlineRecord(
        metric="ops", direction="create", value=1.0, unit="ops_per_s", step=0
    )
    return record


def headline_of(document: Any) -> str:
    """Return the headline of a record as JSON, as text."""
    return told_headline(parse_record(json.dumps(document).encode()))


SENTENCE = re.compile(r"\S+ \S*[a-z]\S* \S+")


def with_texts_of(shown: Any, kept: Any) -> bool:
    """Return whether JSON is that of a record, with texts in place of codes."""
    if isinstance(kept, dict) and kept.keys() == {"code", "operands"}:
        return isinstance(shown, str) and bool(shown)
    if kept is None:  # also a text that follows from other fields
        return shown is None or isinstance(shown, str)
    if isinstance(kept, dict):
        return shown.keys() == kept.keys() and all(
            with_texts_of(shown[name], value) for name, value in kept.items()
        )
    if isinstance(kept, list):
        return len(shown) == len(kept) and all(map(with_texts_of, shown, kept))
    return bool(shown == kept)


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each string in a record with its place, without positions in lists."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from strings(each, f"{path}.{key}".strip("."))
    elif isinstance(value, list):
        for each in value:
            yield from strings(each, path)
