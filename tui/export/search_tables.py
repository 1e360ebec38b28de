"""Tables of searches: their points, their figures, the scaling model."""

from __future__ import annotations

from collections.abc import Iterator

from tui.export.export_table import RUN, ExportColumn, ExportTable, Row, percentile_name
from tui.metrics.registry import in_order
from tui.model.record import RunRecord
from tui.record.search_figures import found_figures

SEARCHED = (
    ExportColumn("place", "int"),
    ExportColumn("step", "int"),
    ExportColumn("role", "text"),
    ExportColumn("why", "text"),
    ExportColumn("knobs", "text"),
    ExportColumn("offered_iops", "float"),
    ExportColumn("iops", "float"),
    ExportColumn("bw_bytes_per_s", "float"),
    ExportColumn("seconds", "float"),
    ExportColumn("hosts", "int"),
    ExportColumn("lost", "text"),
    ExportColumn("cut", "bool"),
    ExportColumn("verdict", "text"),
    ExportColumn("direction", "text"),
)


def search_points(record: RunRecord) -> ExportTable:
    """Return one row per point and direction of a search; `offered_iops` is empty at full load.

    Percentiles from the intended start cover all directions together and are repeated in each row.
    """
    points = record.search.points if record.search is not None else []
    actual = sorted(
        {name for point in points for dirs in point.percentiles_ns.values() for name in dirs},
        key=float,
    )
    due = sorted(
        {name for point in points for name in point.intended_ns if name != "mean"}, key=float
    )

    def rows() -> Iterator[Row]:
        for place, point in enumerate(points):
            knobs = " ".join(f"{name}={value}" for name, value in point.knobs.items())
            head = (
                record.run_id,
                place,
                point.step,
                point.role,
                point.why,
                knobs,
                point.offered_iops,
                point.iops,
            )
            more = (
                point.bw_bytes_per_s,
                point.seconds,
                point.hosts,
                " ".join(point.lost),
                point.cut,
                point.verdict,
            )
            intended = tuple(map(point.intended_ns.get, due))
            for name in in_order(point.percentiles_ns):
                yield (*head, *more, name, *map(point.percentiles_ns[name].get, actual), *intended)

    own = [ExportColumn(f"{percentile_name(name)}_ns", "int") for name in actual]
    own += [ExportColumn(f"intended_{percentile_name(name)}_ns", "float") for name in due]
    return ExportTable("points", (RUN[0], *SEARCHED, *own), rows)


def search_figures(record: RunRecord) -> ExportTable:
    """Return one row per figure that a search found, with its 95 % interval."""
    found = found_figures(record.search) if record.search is not None else []
    own = (ExportColumn("figure", "text"), ExportColumn("unit", "text"),
        ExportColumn("value", "float"),
           ExportColumn("low", "float"), ExportColumn("high", "float"),
           ExportColumn("text", "text"))  # fmt: skip

    def rows() -> Iterator[Row]:
        for each in found:
            value, low, high = each.figure.value, each.figure.low, each.figure.high
            yield (record.run_id, each.name, each.unit, value, low, high, each.text or None)

    return ExportTable("search", (RUN[0], *own), rows)


def scaling(record: RunRecord) -> ExportTable:
    """Return one row per number of hosts.

    `extrapolated`: computed by the scaling law, not measured.
    """
    law = record.search.scaling if record.search is not None else None
    own = (ExportColumn("hosts", "int"), ExportColumn("iops", "float"),
        ExportColumn("iops_low", "float"),
           ExportColumn("iops_high", "float"), ExportColumn("efficiency", "float"),
           ExportColumn("extrapolated", "bool"))  # fmt: skip

    def rows() -> Iterator[Row]:
        for each in law.points if law is not None else ():
            rate = each.iops
            yield (
                record.run_id,
                each.hosts,
                rate.value,
                rate.low,
                rate.high,
                each.efficiency,
                each.extrapolated,
            )

    return ExportTable("scaling", (RUN[0], *own), rows)
