"""Export a run as fio's JSON+, as if from one fio or from a client with servers."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any

from tui.metrics.buckets import index_to_value
from tui.metrics.registry import direction
from tui.model.exporter import Exporter, ExportFile, ExportSource, file_name
from tui.model.figure_record import DirectionRecord, LatencyRecord, SeriesColumns
from tui.model.plain_data import parse_utc
from tui.model.problem import UsageError
from tui.model.quantities import parse_duration
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.workloads.fio.options import ALIASES, JobFileSection, read_sections
from tui.workloads.fio.snapshot import ALL_CLIENTS

Options = dict[str, str]
DEFAULTS = {"rw": "read", "bs": "4k", "iodepth": "1", "numjobs": "1"}
MIX = "rwmixread"


@dataclass(frozen=True, slots=True)
class ExportedMeasurement:
    """One measurement: its jobs by name with options common to all hosts, and each host's own.

    `derived`: the record has no job file, so options are derived from the figures.
    """

    step: StepRecord
    jobs: dict[str, Options]
    of_hosts: dict[str, dict[str, Options]]
    derived: bool = False

    @property
    def main(self) -> Options:
        """The options of the first job."""
        return next(iter(self.jobs.values()))

    @property
    def rw(self) -> str:
        """The first job's rw, without the number in ``rw=randread:8``."""
        return self.main["rw"].partition(":")[0]

    @property
    def stem(self) -> str:
        """File name that fio-plot expects: ``randread-16-4``."""
        return "-".join(
            file_name(part) for part in (self.rw, self.main["iodepth"], self.main["numjobs"])
        )

    @property
    def shared(self) -> Options:
        """Options common to all jobs."""
        first, *others = self.jobs.values()
        return {
            name: value
            for name, value in first.items()
            if all(job.get(name) == value for job in others)
        }


def measured(record: RunRecord) -> list[ExportedMeasurement]:
    """Return the measurements of a run that fio's formats can express: no warm-ups, no MPI
    programs.

    Raises UsageError if there are none.
    """
    steps = [
        step
        for step in record.steps
        if not step.warmup and step.results.aggregate and step.metadata is None
    ]
    if not steps:
        tools = ", ".join(sorted({step.tool or "" for step in record.steps if step.metadata}))
        raise UsageError(
            f"{record.run_id}: no result that fio's formats can express"
            + (f"; this run used {tools}" if tools else "")
        )
    return [_measured(record, step) for step in steps]


def _measured(record: RunRecord, step: StepRecord) -> ExportedMeasurement:
    texts = {
        each.host: each.text
        for each in record.profile.job_files
        if each.step == step.index and each.text
    }
    of_hosts = {host: jobs for host, text in texts.items() if (jobs := _jobs(text, step))}
    if not of_hosts:
        return ExportedMeasurement(
            step, {step.name: _completed(_derived(step), step)}, {}, derived=True
        )
    return ExportedMeasurement(step, _in_common(list(of_hosts.values())), of_hosts)


def _jobs(text: str, step: StepRecord) -> dict[str, Options]:
    """Return the jobs in a job file by name; empty if it is not a fio job file."""
    try:
        sections = read_sections(text, "job file")
    except UsageError:
        return {}
    shared: Options = {}
    jobs: dict[str, Options] = {}
    for section in sections:
        if section.shared:
            shared |= _options(section)
        else:
            jobs[section.name] = _completed(shared | _options(section), step)
    return jobs


def _options(section: JobFileSection) -> Options:
    given = {
        option.name: "1" if option.value is None else option.value for option in section.options
    }
    names = {other: name for name, other in ALIASES.items()}
    return {names.get(name, name): value for name, value in given.items()}


def _completed(given: Options, step: StepRecord) -> Options:
    """Add options that readers of the export expect, and the runtime in seconds."""
    options = DEFAULTS | given
    runtime_s = _duration_s(given.get("runtime"))
    runtime_s = step.runtime_s or step.measured_s if runtime_s is None else runtime_s
    if runtime_s is not None:
        options["runtime"] = f"{runtime_s:.0f}"
    if options["rw"].partition(":")[0] in ("rw", "readwrite", "randrw"):
        read = options.setdefault(MIX, _reads(options))
        options["rwmixwrite"] = str(100 - int(read)) if read.isdecimal() else "50"
    stem = ExportedMeasurement(step, {"": options}, {}).stem
    return options | {"write_iops_log": options.get("write_iops_log", stem)}


def _reads(options: Options) -> str:
    writes = options.get("rwmixwrite", "")
    return str(100 - int(writes)) if writes.isdecimal() else "50"


def _duration_s(text: str | None) -> float | None:
    try:
        return parse_duration(text) if text else None
    except ValueError:
        return None


def _in_common(hosts: Sequence[dict[str, Options]]) -> dict[str, Options]:
    """Return each job with the options that are equal on all hosts or that identify it."""
    first, *others = hosts

    def same(job: str, key: str, value: str) -> bool:
        return key in DEFAULTS or all(each.get(job, {}).get(key) == value for each in others)

    return {
        name: {key: value for key, value in job.items() if same(name, key, value)}
        for name, job in first.items()
    }


def _derived(step: StepRecord) -> Options:
    """Return options derived from the figures, for a record without a job file."""
    dirs = step.results.aggregate
    both = {"read", "write"} <= dirs.keys()
    name = next((name for name in ("read", "write", "trim") if name in dirs), "read")
    part = dirs.get(name)
    found = {"rw": "rw" if both else name}
    if part is not None and part.ios and part.bytes and part.bytes % part.ios == 0:
        found["bs"] = str(part.bytes // part.ios)
    hosts = len(step.results.per_host)
    if step.in_flight and hosts:
        found["iodepth"] = str(step.in_flight // hosts)
    return found


def placed(found: Sequence[ExportedMeasurement]) -> Iterator[tuple[str, ExportedMeasurement]]:
    """Yield each measurement with the folder for its files; "" if file names alone distinguish
    them.

    A folder contains the data of one chart: points that differ only in queue depth and number of
    jobs.
    """
    axes = [axis for axis in _axes(found) if not _distinct_by_name(found, axis)]
    repeats = any(each.step.repetition > 1 for each in found)
    suite = len({each.step.profile for each in found}) > 1
    taken = set()
    for each in found:
        parts = [file_name(each.step.profile or "")] if suite else []
        # full load has no rate
        point = {axis: each.step.point[axis] for axis in axes if axis in each.step.point}
        parts += (
            ["_".join(file_name(f"{axis}-{value}") for axis, value in point.items())]
            if point
            else []
        )
        parts += [f"rep-{each.step.repetition}"] if repeats else []
        if (posixpath.join("", *parts), each.stem) in taken:  # a search may measure a point twice
            parts.append(f"step-{each.step.index}")
        taken.add((posixpath.join("", *parts), each.stem))
        yield posixpath.join("", *parts), each


def _axes(found: Sequence[ExportedMeasurement]) -> list[str]:
    return list(dict.fromkeys(axis for each in found for axis in each.step.point))


def _distinct_by_name(found: Sequence[ExportedMeasurement], axis: str) -> bool:
    """Return whether different values of this axis give different file names."""
    pairs = {(each.stem, each.step.point.get(axis)) for each in found}
    return len(pairs) == len({stem for stem, _ in pairs})


Json = dict[str, Any]
KINDS = ("slat", "clat", "lat")
NO_LATENCY = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
# of the shares of I/Os by latency, in ns, us and ms
BOUNDS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)


def latency_json(latency: LatencyRecord | None) -> Json:
    """Return one kind of latency with percentiles and JSON+ bins; zeros, as fio prints, if there
    are no counts.
    """
    if latency is None or not latency.n:
        return dict(NO_LATENCY)
    found: Json = {
        "min": latency.min_ns,
        "max": latency.max_ns,
        "mean": latency.mean_ns,
        "stddev": latency.stddev_ns,
        "N": latency.n,
    }
    if latency.percentiles_ns:
        found["percentile"] = {
            f"{float(name):.6f}": value for name, value in latency.percentiles_ns.items()
        }
    if latency.histogram is not None:
        counts = zip(latency.histogram.idx, latency.histogram.n, strict=True)
        found["bins"] = {str(index_to_value(index)): count for index, count in counts}
    return found


def direction_json(part: DirectionRecord | None, seconds: SeriesColumns | None) -> Json:
    """Return one direction in the form of fio's JSON.

    `seconds`: per-second values, from which fio's range, mean and deviation are computed.
    """
    part = part or DirectionRecord(ios=0, bytes=0)
    bandwidth = part.bw_bytes_per_s or 0.0
    return {
        "io_bytes": part.bytes,
        "io_kbytes": part.bytes // 1024,
        "bw_bytes": round(bandwidth),
        "bw": round(bandwidth / 1024),
        "iops": float(part.iops or 0.0),
        "runtime": round((part.runtime_s or 0.0) * 1000),
        "total_ios": part.ios,
        "short_ios": part.short_ios or 0,
        "drop_ios": part.drop_ios or 0,
        **{f"{kind}_ns": latency_json(getattr(part, kind)) for kind in KINDS},
        **_over_time(seconds, bandwidth=part.bw_bytes_per_s is not None),
    }


def _over_time(seconds: SeriesColumns | None, *, bandwidth: bool) -> Json:
    iops = _spread(seconds.iops if seconds is not None else ())
    bw = _spread(
        [each / 1024 for each in seconds.bw_bytes_per_s if each is not None]
        if seconds is not None
        else ()
    )
    return {
        "bw_min": round(bw[0]),
        "bw_max": round(bw[1]),
        "bw_agg": 100.0 if bandwidth else 0.0,
        "bw_mean": bw[2],
        "bw_dev": bw[3],
        "bw_samples": bw[4],
        "iops_min": round(iops[0]),
        "iops_max": round(iops[1]),
        "iops_mean": iops[2],
        "iops_stddev": iops[3],
        "iops_samples": iops[4],
    }


def _spread(values: Iterable[float | None]) -> tuple[float, float, float, float, int]:
    """Return minimum, maximum, mean, sample deviation and count; zeros, as fio prints, if there are
    no values.
    """
    known = [value for value in values if value is not None]
    if not known:
        return 0.0, 0.0, 0.0, 0.0, 0
    return min(known), max(known), fmean(known), stdev(known) if len(known) > 1 else 0.0, len(known)


def latency_shares(dirs: Mapping[str, DirectionRecord]) -> Json:
    """Return the share of I/Os, in percent, in each range of ``latency_ns``, ``_us`` and
    ``_ms``.
    """
    split = "read" in dirs or "write" in dirs
    names = ("read", "write", "trim") if split else ("trim", "mixed")
    kept = [part.clat or part.lat for name, part in dirs.items() if name in names]
    counts = [
        (index_to_value(index), count)
        for each in kept
        if each is not None and each.histogram is not None
        for index, count in zip(each.histogram.idx, each.histogram.n, strict=True)
    ]
    total = sum(count for _, count in counts)
    return {
        "latency_ns": _shares(counts, 1, BOUNDS, total),
        "latency_us": _shares(counts, 1000, BOUNDS, total),
        "latency_ms": _shares(counts, 1_000_000, (*BOUNDS, 2000, None), total),
    }


def _shares(
    counts: Sequence[tuple[int, int]], unit_ns: int, bounds: Sequence[int | None], total: int
) -> Json:
    """Return the share of I/Os, in percent, by upper bound.

    The first range of each unit begins where the previous unit ends.
    """
    found: Json = {}
    for low, high in pairwise((0 if unit_ns == 1 else 1, *bounds)):
        inside = sum(
            count
            for value, count in counts
            if value >= (low or 0) * unit_ns and (high is None or value < high * unit_ns)
        )
        name = f">={low}" if high is None else str(high)
        found[name] = round(100 * inside / total, 6) if total else 0.0
    return found


Shape = Callable[[RunRecord, ExportedMeasurement], Json]


def _files(source: ExportSource, shape: Shape) -> Iterator[ExportFile]:
    for folder, each in placed(measured(source.record)):
        text = json.dumps(
            _head(source.record, each) | shape(source.record, each), indent=1, ensure_ascii=False
        )
        yield ExportFile(posixpath.join(folder, f"{each.stem}.json"), [text.encode() + b"\n"])


def _head(record: RunRecord, each: ExportedMeasurement) -> Json:
    ended = _ended(record, each)
    versions = sorted({task.tool_version for task in each.step.tasks.values() if task.tool_version})
    known: Json = {"fio version": ", ".join(versions) or "unknown"}
    if ended is not None:
        known |= {
            "timestamp": int(ended.timestamp()),
            "timestamp_ms": round(ended.timestamp() * 1000),
        }
        known["time"] = f"{ended:%a %b %d %H:%M:%S %Y}"
    own = {
        "run_id": record.run_id,
        "step": each.step.index,
        "hosts": sorted(each.step.results.per_host),
    }
    if each.derived:
        own["options"] = "derived from the figures; the record has no job file"
    return {**known, "global options": each.shared, "benchtui": own}


def _ended(record: RunRecord, each: ExportedMeasurement) -> datetime | None:
    begun = parse_utc(record.created_utc) if record.created_utc else None
    ends = [task.end_s for task in each.step.tasks.values() if task.end_s is not None]
    if begun is None or not ends:
        return begun
    return datetime.fromtimestamp(begun.timestamp() + max(ends), begun.tzinfo)


def _standalone(_: RunRecord, each: ExportedMeasurement) -> Json:
    """Return all hosts as one fio process with one group, or one group per job."""
    jobs = each.step.results.jobs or {}
    if not jobs:
        name = next(iter(each.jobs))
        return {
            "jobs": [_entry(each, name, each.main, each.step.results.aggregate, None, series=True)]
        }
    return {
        "jobs": [
            _entry(each, name, each.jobs.get(name, each.main), dirs, None) | {"groupid": group}
            for group, (name, dirs) in enumerate(jobs.items())
        ]
    }


def _clients(_: RunRecord, each: ExportedMeasurement) -> Json:
    """Return the hosts as servers of one client, and "All clients" with merged percentiles, which
    fio itself omits.
    """
    entries = [_of_host(each, host, dirs) for host, dirs in each.step.results.per_host.items()]
    over_all = _entry(each, ALL_CLIENTS, each.main, each.step.results.aggregate, None, series=True)
    return {"client_stats": [*(job for jobs in entries for job in jobs), over_all]}


def _of_host(
    each: ExportedMeasurement, host: str, dirs: Mapping[str, DirectionRecord]
) -> list[Json]:
    options = each.of_hosts.get(host, each.jobs)
    jobs = (each.step.results.per_job or {}).get(host)
    first = next(iter(options))
    split: Mapping[str, Mapping[str, DirectionRecord]] = jobs or {first: dirs}
    return [
        {
            **_entry(each, name, options.get(name, each.main), part, host, series=not jobs),
            "hostname": host,
            "port": 8765,
        }
        for name, part in split.items()
    ]


def _entry(
    each: ExportedMeasurement,
    name: str,
    options: Options,
    dirs: Mapping[str, DirectionRecord],
    host: str | None,
    *,
    series: bool = False,
) -> Json:
    """Return one entry of ``jobs`` or ``client_stats``; `host` None means all hosts."""
    tasks = [task for name_, task in each.step.tasks.items() if host in (None, name_)]
    seconds = _series_columns(each, host) if series else {}
    errors = [error for task in tasks for error in task.errors]
    runtime_s = max((part.runtime_s or 0.0 for part in dirs.values()), default=0.0)
    shown = (
        ["mixed"]
        if "mixed" in dirs and not dirs.keys() & {"read", "write"}
        else ["read", "write", "trim"]
    )
    sync = dirs.get("sync")
    return {
        "jobname": name,
        "groupid": 0,
        "error": errors[0] if errors else 0,
        "eta": 0,
        "elapsed": round(runtime_s),
        "job options": options,
        **{name: direction_json(dirs.get(name), seconds.get(name)) for name in shown},
        "sync": {
            "total_ios": sync.ios if sync is not None else 0,
            "lat_ns": latency_json(sync.lat if sync else None),
        },
        "job_runtime": round(runtime_s * 1000),
        "usr_cpu": _mean([task.usr_cpu for task in tasks]),
        "sys_cpu": _mean([task.sys_cpu for task in tasks]),
        **latency_shares({name: part for name, part in dirs.items() if direction(name).in_total}),
    }


def _series_columns(each: ExportedMeasurement, host: str | None) -> dict[str, SeriesColumns]:
    series = each.step.series
    return (
        {column.direction: column for column in series.columns if column.host == host}
        if series
        else {}
    )


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


JOBS = Exporter(
    "fio JSON+, all hosts",
    lambda source: _files(source, _standalone),
    tools="fio-plot, CBT, scripts",
    details="as if from one fio process: hosts merged, one group per job; also for"
    " fio_jsonplus_clat2csv",
)
CLIENTS = Exporter(
    "fio JSON+ of each host",
    lambda source: _files(source, _clients),
    tools="fio-plot, pbench",
    details="as if from fio --client: each host, and 'All clients' with merged percentiles",
)
