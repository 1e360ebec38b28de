"""Telemetry of one host in one step, in columns of four-byte numbers."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tui.model.event import TelemetryColumns, TelemetrySample

UNKNOWN = float("nan")
KEPT_S = 600  # history for screens; the record has all


class HostTelemetry(Struct):
    """Telemetry of one host: per interval its end and length in run time, whether quiet, and
    values.

    Unknown values are NaN, also before a column began and after it ended.
    """

    host: str
    role: Literal["client", "server"] = "client"
    devices: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    columns: dict[str, array[float]] = field(default_factory=dict)
    end_t: array[float] = field(default_factory=lambda: array("d"))
    interval_s: array[float] = field(default_factory=lambda: array("f"))
    quiet: array[int] = field(default_factory=lambda: array("b"))
    last_ms: int = 0  # host time of the newest interval
    current: list[str] = field(default_factory=list)  # columns of the samples that follow
    place: int | None = -1  # index of the current interval, the newest; None without one
    lately_s: float = 0.0  # current values are means over this many seconds; 0: of one interval
    # subjects of the known columns, by family
    _subjects: dict[str, list[str]] = field(default_factory=dict)

    def head(self, event: TelemetryColumns) -> None:
        """Set the columns of the samples that follow."""
        self.role, self.current = event.role, event.columns
        self.devices.update(event.devices)
        self.unknown.update(event.unknown)
        self._subjects.clear()
        for name in event.columns:
            if name not in self.columns:
                self.columns[name] = array("f", [UNKNOWN]) * len(self.end_t)

    def add(self, event: TelemetrySample, end_t: float, *, keep_all: bool) -> None:
        """Add an interval that ended at `end_t`; ignored if it does not match the columns."""
        if len(event.values) != len(self.current):
            return
        self.last_ms = event.host_time_ms
        self.end_t.append(end_t)
        self.interval_s.append(event.interval_s)
        self.quiet.append(event.quiet)
        for values in self.columns.values():
            values.append(UNKNOWN)
        for name, value in zip(self.current, event.values, strict=True):
            if value is not None:
                self.columns[name][-1] = value
        if not keep_all and len(self.end_t) > 2 * KEPT_S:
            self._forget_old()

    def _forget_old(self) -> None:
        del self.quiet[:-KEPT_S]
        for each in (self.end_t, self.interval_s, *self.columns.values()):
            del each[:-KEPT_S]

    def at(self, second: int) -> HostTelemetry:
        """Return this telemetry with the interval that contains the middle of a second of the run
        as the current one; with none if no interval contains it.
        """
        middle = second + 0.5
        place = bisect_left(self.end_t, middle)
        held = place < len(self.end_t) and self.end_t[place] - self.interval_s[place] <= middle
        return replace(self, place=place if held else None)

    def lately(self, seconds: float) -> HostTelemetry:
        """Return this telemetry with means over the last `seconds` as its current values."""
        return replace(self, lately_s=seconds)

    def newest(self, name: str) -> float | None:
        """Return a column's value in the current interval, or its recent mean; None if unknown."""
        values = self.columns.get(name)
        if not values or self.place is None:
            return None
        if not self.lately_s:
            return _known(values[self.place])
        last = self.place % len(values)
        since_t = self.end_t[last] - self.lately_s
        first = bisect_left(self.end_t, since_t + self.interval_s[last] / 2, hi=last)
        known = [value for value in values[first : last + 1] if value == value]
        return sum(known) / len(known) if known else None

    @property
    def newest_t(self) -> float | None:
        """End of the current interval in run time; None if there is none."""
        return self.end_t[self.place] if self.end_t and self.place is not None else None

    @property
    def busiest_link(self) -> tuple[str, float] | None:
        """NIC or RDMA port with the most traffic now, and its bytes per second in both directions;
        None if unknown.
        """
        links = (*self.subjects("nic"), *self.subjects("rdma"))
        rates = {name: self._sum(f"{name}.rx", f"{name}.tx") for name in links}
        return _most({name: rate for name, rate in rates.items() if not name.endswith(".others")})

    @property
    def busiest_disk(self) -> tuple[str, float] | None:
        """Busiest disk now, and its utilisation in per cent; None if unknown."""
        return _most({name: self.newest(f"{name}.busy") for name in self.subjects("dev")})

    @property
    def in_flight(self) -> float | None:
        """Requests in flight on all monitored disks now; None if unknown."""
        return self._sum(*(f"{name}.queue" for name in self.subjects("dev")))

    @property
    def groups(self) -> list[tuple[str, float, int]]:
        """Process groups with their current CPU use in per cent of a core, and number of
        processes.
        """
        named = [
            (name, self.newest(f"{name}.cpu"), self.newest(f"{name}.procs"))
            for name in self.subjects("group")
        ]
        return [
            (name.partition(".")[2], cpu, round(count or 0))
            for name, cpu, count in named
            if cpu is not None
        ]

    def _sum(self, *names: str) -> float | None:
        known = [value for name in names if (value := self.newest(name)) is not None]
        return sum(known) if known else None

    def values(self, name: str) -> list[float | None]:
        """Return a column with one value per interval; None if unknown."""
        return [_known(value) for value in self.columns[name]]

    def weighted(self, name: str, start_t: float, end_t: float) -> Iterator[tuple[float, float]]:
        """Yield (value, seconds) of known values between two times, without quiet intervals.

        The seconds are the interval's overlap with that time.
        """
        rows: Sequence[tuple[float, float, int, float]]
        rows = list(
            zip(self.end_t, self.interval_s, self.quiet, self.columns.get(name, ()), strict=False)
        )
        for end, seconds, quiet, value in rows:
            inside = min(end, end_t) - max(end - seconds, start_t)
            if inside > 0 and not quiet and value == value:
                yield value, inside

    def subjects(self, family: str) -> list[str]:
        """Return the distinct subjects of a column family, including its name: nic.eth0,
        nic.eth1.
        """
        found = self._subjects.get(family)
        if found is None:
            names = (
                name.rpartition(".")[0] for name in self.columns if name.startswith(f"{family}.")
            )
            found = self._subjects[family] = list(dict.fromkeys(names))
        return found


def _most(values: Mapping[str, float | None]) -> tuple[str, float] | None:
    """Return the subject with the largest value, without the family's name; None if all are
    unknown.
    """
    known = {name.partition(".")[2]: value for name, value in values.items() if value is not None}
    name = max(known, key=lambda each: known[each], default=None)
    return None if name is None else (name, known[name])


def _known(value: float) -> float | None:
    """Return a value, with NaN converted to None."""
    return value if value == value else None
