"""Telemetry of a step that goes on, as its record will have it: a column is summed up when a check asks for it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import mul

from pydantic import PrivateAttr

from tui.journal.telemetry import HostTelemetry
from tui.metrics.telemetry import TelemetryUnit, metric_of
from tui.model.step_record import HostTelemetryRecord, TelemetryColumn


@dataclass(slots=True)
class ColumnSum:
    """The values of one column up to the newest one taken; each is taken once."""

    unit: TelemetryUnit
    until_t: float
    weight: float = 0.0
    weighted: float = 0.0
    total: float = 0.0
    highest: float | None = None
    same: float | None = None  # the value of all, as long as there is one

    def take(self, values: Sequence[float], seconds: Sequence[float]) -> None:
        """Take values with the seconds that each counts for."""
        weighted = sum(map(mul, values, seconds))
        if weighted != weighted:  # some are unknown
            known = [(value, weight) for value, weight in zip(values, seconds, strict=True) if value == value]
            values, seconds = [value for value, _ in known], [weight for _, weight in known]
            weighted = sum(map(mul, values, seconds))
        if values:
            low, high = min(values), max(values)
            self.same = high if low == high and (not self.weight or self.same == high) else None
            self.weight, self.weighted = self.weight + sum(seconds), self.weighted + weighted
            self.total += sum(values)
            self.highest = high if self.highest is None else max(self.highest, high)

    def column(self, name: str) -> TelemetryColumn:
        """Return mean and maximum so far, of a count its sum; an id has neither, but the one value there was."""
        if self.unit == "id" or not self.weight:
            return TelemetryColumn(name=name, unit=self.unit, constant=self.same if self.unit == "id" else None)
        mean = self.total if self.unit == "count" else self.weighted / self.weight
        return TelemetryColumn(name=name, unit=self.unit, mean=mean, max=self.highest)


Sums = dict[str, ColumnSum]


@dataclass(slots=True)
class Look:
    """One look at one host: its columns from `start_t` on, and the sums that go on from look to look."""

    seen: HostTelemetry
    start_t: float
    sums: Sums
    made: dict[str, TelemetryColumn] = field(default_factory=dict)
    _new: dict[float, tuple[int, int, list[float]]] = field(default_factory=dict)  # rows by what was taken before

    def column(self, name: str) -> TelemetryColumn:
        """Return a column of this look."""
        made = self.made.get(name)
        if made is None:
            sums = self.sums.get(name)
            if sums is None:
                sums = self.sums[name] = ColumnSum(metric_of(name).unit, self.start_t)
            first, end, seconds = self._rows(sums.until_t)
            if first < end:
                sums.take(self.seen.columns[name][first:end], seconds)
                sums.until_t = self.seen.end_t[end - 1]
            made = self.made[name] = sums.column(name)
        return made

    def _rows(self, until_t: float) -> tuple[int, int, list[float]]:
        """Return the rows that end after a time, and the seconds that each counts for: quiet ones come before."""
        found = self._new.get(until_t)
        if found is None:
            seen, end = self.seen, len(self.seen.end_t)
            first = bisect_right(seen.end_t, until_t)
            while first < end and seen.quiet[first]:
                first += 1
            rows = range(first, end)
            seconds = [min(seen.interval_s[row], seen.end_t[row] - self.start_t) for row in rows]
            found = self._new[until_t] = (first, end, seconds)
        return found


class RunningTelemetry(HostTelemetryRecord):
    """What one host has done so far. `values` of its columns are not made: `values_of` has them."""

    _look: Look = PrivateAttr()

    @classmethod
    def of(cls, seen: HostTelemetry, start_s: float | None, sums: Sums) -> RunningTelemetry:
        """Return it from `start_s` on; None: it does not measure. `sums` are those of the look before, and grow."""
        made = cls(
            host=seen.host,
            role=seen.role,
            start_s=start_s,
            end_s=seen.end_t[-1] if seen.end_t else start_s,
            quiet=sum(seen.quiet),
            devices=seen.devices,
            unknown=seen.unknown,
        )
        made._look = Look(seen, start_s or 0.0, sums)
        return made

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return list(self._look.seen.columns)

    def column(self, name: str) -> TelemetryColumn | None:
        """Return a column with mean and maximum; None when the host did not give it."""
        look = self._look
        return look.column(name) if name in look.seen.columns and self.start_s is not None else None

    def values_of(self, name: str) -> list[float | None]:
        """Return a column second by second, as far back as it is kept."""
        seen = self._look.seen
        return seen.values(name) if name in seen.columns else []

    @property
    def ends_s(self) -> Sequence[float]:
        """The ends of the intervals that are kept."""
        return self._look.seen.end_t
