"""Storage nodes that are looked at while others generate load: what each does now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tui.app.widgets.host_rows import age_role, percent
from tui.app.widgets.picklist import PickList
from tui.metrics.telemetry import metric_of
from tui.metrics.units import UNKNOWN, bandwidth
from tui.text.line import LABEL, TEXT, VALUE, Line, Run, padded, width_of_runs
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.journal.telemetry import HostTelemetry


class ServerTable(PickList["HostTelemetry"]):
    """The servers, a row each. Takes no room when there is none."""

    DEFAULT_CSS = """
    ServerTable { height: 0; display: none; padding: 0 1; }
    ServerTable.-shown { display: block; }
    """

    def __init__(self, thresholds: Mapping[str, float] | None = None, *, id: str | None = None) -> None:  # noqa: A002
        self.thresholds = thresholds or {}
        super().__init__(self._columns(), lambda host: host.host, id=id)
        self.now = 0.0

    def _columns(self) -> tuple[Column[HostTelemetry], ...]:
        return (
            Column("", lambda host: ("●", "good" if age_role(host, self.now) == TEXT else LABEL), 1),
            Column("server", lambda host: host.host, 12, gap=1),
            *(
                Column(title, partial(self._percent, name), 5, right=True)
                for title, name in (("CPU", "cpu.busy"), ("core", "core.busy"))
            ),
            Column("busiest NIC", self._link, least=14, most=22),
            Column("disk", self._disk, least=12, most=16),
            Column("processes", self._groups, least=10, drop=1),
        )

    def show(self, servers: Sequence[HostTelemetry], now: float) -> None:
        """Show the servers as they are at run time `now`."""
        self.now = now
        if [id(each) for each in servers] != [id(each) for each in self._given]:
            self.set_rows(servers)
        self.update_lines()

    def titles(self, rooms: Sequence[int]) -> Line:
        """The titles, with the rows in sight where there are more."""
        found = super().titles(rooms)
        if not self.scrolls:
            return found
        tail: Run = (f" {self.top + 1}–{min(len(self.rows), self.top + self.room)}/{len(self.rows)}", LABEL)
        return Line.of(*padded(found.runs, self.size.width - width_of_runs([tail])), tail)

    def row_line(self, row: HostTelemetry, rooms: Sequence[int], width: int, fill: str) -> Line:
        """A server's figures; the cursor is seen while one moves it."""
        return super().row_line(row, rooms, width, fill if self.has_focus else "")

    def _percent(self, name: str, host: HostTelemetry) -> Run:
        return percent(host, name, self.now, self.thresholds)

    def _link(self, host: HostTelemetry) -> list[Run]:
        link = host.busiest_link
        if link is None:
            return [(UNKNOWN, LABEL)]
        return [(f"{link[0]} ", LABEL), (bandwidth(link[1]), age_role(host, self.now))]

    def _disk(self, host: HostTelemetry) -> list[Run]:
        disk = host.busiest_disk
        if disk is None:
            return [(UNKNOWN, LABEL)]
        full = metric_of("dev.disk.busy").is_full(disk[1])
        return [(f"{disk[0]} ", LABEL), (f"{disk[1]:.0f} %", "warn" if full else age_role(host, self.now))]

    def _groups(self, host: HostTelemetry) -> list[Run]:
        runs: list[Run] = []
        for name, cpu, count in host.groups:
            many = f"{count} " if count != 1 else ""
            runs += [("  " if runs else "", TEXT), (f"{many}{name} ", LABEL), (f"{cpu:.0f} %", VALUE)]
        return runs
