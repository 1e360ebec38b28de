"""Compare consecutive states that one fio printed (--status-interval)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tui.model.event import Contradiction
from tui.workloads.fio.options import JobOptions
from tui.workloads.fio.printed import RAMPS, has
from tui.workloads.fio.snapshot import StatusDirection, StatusJob

RESETTING = (*RAMPS, "latency_target", "steadystate", "verify", "loops")


def fallen(
    before: Sequence[StatusJob], after: Sequence[StatusJob], shared: Mapping[str, str]
) -> Iterator[Contradiction]:
    """Yield counts and maxima that fell, and minima that rose, from one state to the next.

    fio counts from the start of a job; some options make it start anew.
    """
    for then, now in zip(before, after, strict=False):
        if has(JobOptions(now.jobname, shared, now.options), RESETTING):
            continue
        earlier = then.directions()
        for name, part in now.directions().items():
            if name in earlier and earlier[name].total_ios:
                for was, became in _lower(earlier[name], part):
                    yield Contradiction("fell", became, was, now.jobname, name)


def _lower(then: StatusDirection, now: StatusDirection) -> Iterator[tuple[float, float]]:
    """Yield (before, after) of figures that only grow."""
    pairs = [(then.total_ios, now.total_ios), (then.io_bytes, now.io_bytes)]
    for was, became in ((then.clat, now.clat), (then.lat, now.lat), (then.slat, now.slat)):
        if was is not None and became is not None and was.n:
            pairs += [(was.n, became.n), (round(was.max), round(became.max))]
            if became.n and was.min < became.min:
                yield was.min, became.min
    yield from ((was, became) for was, became in pairs if became < was)
