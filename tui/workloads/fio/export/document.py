"""fio's JSON+ of a run: one document a measurement, as one fio prints it (`jobs`) or a client (`client_stats`).

What only fio itself knows and the record does not hold, such as `iodepth_level` or `ctx`, is left out.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from statistics import fmean
from typing import Any

from tui.metrics.registry import direction
from tui.model.exporter import Exporter, ExportFile, Source
from tui.model.record import RunRecord
from tui.model.step_record import DirectionRecord, SeriesColumns
from tui.model.utc import parse_utc
from tui.workloads.fio.export.figures import direction_json, latency_json, latency_shares
from tui.workloads.fio.export.options import Measured, Options, measured, placed
from tui.workloads.fio.kept_json import ALL_CLIENTS

Json = dict[str, Any]
Shape = Callable[[RunRecord, Measured], Json]


def _files(source: Source, shape: Shape) -> Iterator[ExportFile]:
    for folder, each in placed(measured(source.record)):
        text = json.dumps(_head(source.record, each) | shape(source.record, each), indent=1, ensure_ascii=False)
        yield ExportFile(posixpath.join(folder, f"{each.stem}.json"), [text.encode() + b"\n"])


def _head(record: RunRecord, each: Measured) -> Json:
    ended = _ended(record, each)
    versions = sorted({task.tool_version for task in each.step.tasks.values() if task.tool_version})
    known: Json = {"fio version": ", ".join(versions) or "unknown"}
    if ended is not None:
        known |= {"timestamp": int(ended.timestamp()), "timestamp_ms": round(ended.timestamp() * 1000)}
        known["time"] = f"{ended:%a %b %d %H:%M:%S %Y}"
    own = {"run_id": record.run_id, "step": each.step.index, "hosts": sorted(each.step.results.per_host)}
    if each.derived:
        own["options"] = "derived from the figures: the record has no job file"
    return {**known, "global options": each.shared, "benchtui": own}


def _ended(record: RunRecord, each: Measured) -> datetime | None:
    begun = parse_utc(record.created_utc) if record.created_utc else None
    ends = [task.end_s for task in each.step.tasks.values() if task.end_s is not None]
    if begun is None or not ends:
        return begun
    return datetime.fromtimestamp(begun.timestamp() + max(ends), begun.tzinfo)


def _standalone(_: RunRecord, each: Measured) -> Json:
    """Return all hosts as one group of one fio: a group a job, where there is more than one."""
    jobs = each.step.results.jobs or {}
    if not jobs:
        name = next(iter(each.jobs))
        return {"jobs": [_entry(each, name, each.main, each.step.results.aggregate, None, series=True)]}
    return {
        "jobs": [
            _entry(each, name, each.jobs.get(name, each.main), dirs, None, group=group)
            for group, (name, dirs) in enumerate(jobs.items())
        ]
    }


def _clients(_: RunRecord, each: Measured) -> Json:
    """Return the hosts as servers of one client, and "All clients": with the percentiles that fio's client lacks."""
    entries = [_of_host(each, host, dirs) for host, dirs in each.step.results.per_host.items()]
    over_all = _entry(each, ALL_CLIENTS, each.main, each.step.results.aggregate, None, series=True)
    return {"client_stats": [*(job for jobs in entries for job in jobs), over_all]}


def _of_host(each: Measured, host: str, dirs: Mapping[str, DirectionRecord]) -> list[Json]:
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
    each: Measured,
    name: str,
    options: Options,
    dirs: Mapping[str, DirectionRecord],
    host: str | None,
    *,
    group: int = 0,
    series: bool = False,
) -> Json:
    """Return one entry of ``jobs`` or ``client_stats``. `host` None: of all hosts."""
    tasks = [task for name_, task in each.step.tasks.items() if host in (None, name_)]
    seconds = _seconds(each, host) if series else {}
    errors = [error for task in tasks for error in task.errors]
    runtime_s = max((part.runtime_s or 0.0 for part in dirs.values()), default=0.0)
    shown = ["mixed"] if "mixed" in dirs and not dirs.keys() & {"read", "write"} else ["read", "write", "trim"]
    sync = dirs.get("sync")
    return {
        "jobname": name,
        "groupid": group,
        "error": errors[0] if errors else 0,
        "eta": 0,
        "elapsed": round(runtime_s),
        "job options": options,
        **{name: direction_json(dirs.get(name), seconds.get(name)) for name in shown},
        "sync": {"total_ios": sync.ios if sync is not None else 0, "lat_ns": latency_json(sync.lat if sync else None)},
        "job_runtime": round(runtime_s * 1000),
        "usr_cpu": _mean([task.usr_cpu for task in tasks]),
        "sys_cpu": _mean([task.sys_cpu for task in tasks]),
        **latency_shares({name: part for name, part in dirs.items() if direction(name).in_total}),
    }


def _seconds(each: Measured, host: str | None) -> dict[str, SeriesColumns]:
    series = each.step.series
    return {column.direction: column for column in series.columns if column.host == host} if series else {}


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


JOBS = Exporter(
    "fio's JSON+ of one process: all hosts merged into one group (fio_jsonplus_clat2csv, CBT, scripts, fio-plot)",
    lambda source: _files(source, _standalone),
)
CLIENTS = Exporter(
    "fio's JSON+ of a client: each host, and 'All clients' with merged bins and percentiles (fio-plot, pbench)",
    lambda source: _files(source, _clients),
)
