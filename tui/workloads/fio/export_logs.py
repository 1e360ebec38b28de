"""Export a run as fio's bandwidth, IOPS and latency logs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from tui.model.exporter import Exporter, ExportFile, ExportSource, file_name, text_parts
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.model.problem import UsageError
from tui.workloads.fio.export_json import ExportedMeasurement, measured, placed

DIRECTIONS = {"read": 0, "write": 1, "trim": 2}


def _files(source: ExportSource) -> Iterator[ExportFile]:
    found = [each for each in measured(source.record) if each.step.series is not None]
    if not found:
        raise UsageError(f"{source.record.run_id}: no per-second series, which logs require")
    for folder, each in placed(found):
        kind = source.record.latency_kind_of(each.step)
        for host in _hosts(each):
            for metric in ("bw", "iops", kind):
                if next(_lines(each, metric, host), None) is None:
                    # such as latencies of a load generator that does not tell reads from writes
                    continue
                name = _name(each, metric, host)
                yield ExportFile(
                    posixpath.join(folder, name), text_parts(_lines(each, metric, host))
                )


def _hosts(each: ExportedMeasurement) -> list[str | None]:
    """Return the hosts to write logs for; [None] stands for all hosts together."""
    hosts = list(each.step.results.per_host)
    return [None, *hosts] if len(hosts) > 1 else [None]


def _name(each: ExportedMeasurement, metric: str, host: str | None) -> str:
    depth, jobs = (file_name(each.main[name]) for name in ("iodepth", "numjobs"))
    of_host = "" if host is None else f".{file_name(host)}"
    folder = "" if host is None else "hosts"
    return posixpath.join(
        folder, f"{file_name(each.rw)}-iodepth-{depth}-numjobs-{jobs}_{metric}.1.log{of_host}"
    )


def _lines(each: ExportedMeasurement, metric: str, host: str | None) -> Iterator[str]:
    series = each.step.series
    columns = [] if series is None else [one for one in series.columns if one.host == host]
    shown = {DIRECTIONS[one.direction]: one for one in columns if one.direction in DIRECTIONS}
    blocks = {number: _block(each, one) for number, one in shown.items()}
    for place in range(max((len(one.iops) for one in shown.values()), default=0)):
        for number, one in sorted(shown.items()):
            value = _value(one, metric, place)
            if value is not None:
                yield f"{_ended_ms(series, place)}, {value}, {number}, {blocks[number]}\n"


def _ended_ms(series: SeriesRecord | None, place: int) -> int:
    return round((place + 1) * (series.step_s if series is not None else 1.0) * 1000)


def _value(one: SeriesColumns, metric: str, place: int) -> int | None:
    values = {"bw": one.bw_bytes_per_s, "iops": one.iops}.get(metric, one.lat_mean_ns)
    value = values[place] if place < len(values) else None
    return None if value is None else round(value / 1024 if metric == "bw" else value)


def _block(each: ExportedMeasurement, one: SeriesColumns) -> int:
    """Return the mean I/O size in bytes, which fio writes in lines that average many I/Os."""
    part = each.step.results.aggregate.get(one.direction)
    return round(part.bytes / part.ios) if part is not None and part.ios else 0


LOGS = Exporter(
    "fio's logs",
    _files,
    tools="fio-plot -g, fio2gnuplot",
    details="fio's bw, iops and latency logs, a line per second; fiologparser.py reads them too",
)
