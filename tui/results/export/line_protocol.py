"""InfluxDB's line protocol: ``measurement,tag=value field=1.5 1700000000000000000``, a point a line, ns from 1970."""

from __future__ import annotations

from collections.abc import Iterator

from tui.model.event import Event
from tui.model.exporter import Exporter, ExportFile, Second, Source, text_parts
from tui.model.record import RunRecord
from tui.results.export.points import Point, point_of, result_points, series_points, telemetry_points


def line_of(point: Point) -> str:
    """Return a point as a line, newline at the end. All fields are floats: a type that changed would be refused."""
    tags = "".join(f",{_key(name)}={_key(value)}" for name, value in sorted(point.tags.items()) if value)
    fields = ",".join(f"{_key(name)}={value!r}" for name, value in point.fields.items())
    return f"{_key(point.name)}{tags} {fields}{'' if point.utc_ns is None else f' {point.utc_ns}'}\n"


def _key(text: str) -> str:
    """Escape what means something; a line break has no escape, and a backslash at the end would be one."""
    flat = " ".join(text.split("\n")).replace("\r", " ").rstrip("\\")
    return flat.replace(",", r"\,").replace("=", r"\=").replace(" ", r"\ ")


def _files(source: Source) -> Iterator[ExportFile]:
    points = (point for found in (series_points, telemetry_points, result_points) for point in found(source.record))
    yield ExportFile(f"{source.record.run_id}.lp", text_parts(map(line_of, points)))


def _stream(moment: Second | Event | RunRecord) -> str:
    if isinstance(moment, RunRecord):
        return "".join(map(line_of, result_points(moment)))
    return line_of(point) if isinstance(moment, Second) and (point := point_of(moment)).fields else ""


LINES = Exporter(
    "Influx line protocol: every second, and what came out (InfluxDB, VictoriaMetrics, Telegraf)",
    _files,
    stream=_stream,
)
