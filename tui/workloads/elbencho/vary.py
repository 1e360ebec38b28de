"""The same load on the same files with one thing changed: more or fewer in flight, smaller blocks,
no rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tui.model.problem import UsageError
from tui.model.profile import ParamValue, Profile, Scalar
from tui.model.search import Change
from tui.workloads.elbencho.body import Load, resolve, with_options
from tui.workloads.elbencho.pace import LIMITS

LEAST_BLOCK = 4096  # smaller ones cannot be read and written past the page cache everywhere


def vary(profile: Profile, params: Mapping[str, ParamValue], change: Change) -> Profile:
    """Return a profile that does the same but for one change. Raises UsageError when it cannot."""
    make = CHANGES.get(change)
    if make is None:
        raise UsageError(f"{profile.profile}: {change} is no change of its load")
    load = resolve(profile, params, "h1", 1, 1)
    if not load.phase.makes_ios:
        raise UsageError(f"{profile.profile}: phase {load.phase.name} can be done once only")
    return with_options(profile, make(load))


def _twice_in_flight(load: Load) -> Mapping[str, Scalar | None]:
    return {"iodepth": 2 * load.depth}


def _workers(load: Load, threads: int) -> Mapping[str, Scalar | None]:
    if load.directory:
        raise UsageError("each thread has files of its own: other threads are another load")
    if threads < 1:
        raise UsageError("one thread cannot be halved")
    return {"threads": threads}


def _half_block(load: Load) -> Mapping[str, Scalar | None]:
    if load.block < 2 * LEAST_BLOCK or load.block % (2 * LEAST_BLOCK):
        raise UsageError(f"blocks of {load.block} bytes cannot be halved")
    return {"block": load.block // 2}


def _no_rate(load: Load) -> Mapping[str, Scalar | None]:
    if not any(load.flag(name) for name in LIMITS):
        raise UsageError("it has no rate")
    return dict.fromkeys(LIMITS)


CHANGES: dict[str, Callable[[Load], Mapping[str, Scalar | None]]] = {
    "twice-in-flight": _twice_in_flight,
    "twice-workers": lambda load: _workers(load, 2 * load.threads),
    "half-workers": lambda load: _workers(load, load.threads // 2),
    "half-block": _half_block,
    "no-rate": _no_rate,
}
