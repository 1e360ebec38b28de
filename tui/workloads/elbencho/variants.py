"""The same load at another rate, for another time, or with one change.

elbencho limits bytes per second and thread. A thread does its share of each second at once, as fast
as it can, and sleeps until the second is over (RateLimiter.h): latencies at a low rate are those of
bursts at full concurrency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from tui.model.address import HostAddress
from tui.model.plan import JobLoad
from tui.model.problem import UsageError
from tui.model.profile import ParamValue, Profile, Scalar, placeholders
from tui.model.search import Change, Offer
from tui.workloads.base import Paced
from tui.workloads.elbencho.body import Load, body_of, resolve, with_options
from tui.workloads.elbencho.plan import build_steps, job_load, shares_of

LIMITS = ("limitread", "limitwrite")
BURSTS = (
    "elbencho sends each second's share in one burst and sleeps for the rest: latencies are those"
    " of bursts, not of I/Os spread over the second"
)


def timed(profile: Profile, seconds: float) -> Profile:
    """Return a profile that puts the same load on the hosts for so long.

    Raises UsageError when it cannot.
    """
    if body_of(profile).phase not in ("write", "read"):
        raise UsageError(f"{profile.profile}: phase {body_of(profile).phase} can be done once only")
    return with_options(profile, {"infloop": True, "timelimit": f"{max(round(seconds), 1)}s"})


def pace(
    profile: Profile,
    params: Mapping[str, ParamValue],
    hosts: Sequence[HostAddress],
    seeds: Mapping[str, int],
    offer: Offer,
) -> Paced:
    """Return the step that offers so many I/Os a second over all hosts. Raises UsageError."""
    free = with_options(timed(profile, offer.seconds), dict.fromkeys(LIMITS))
    rate_iops = offer.rate_iops
    if rate_iops is None:
        return Paced(build_steps(free, params, hosts, seeds)[0])
    loads = [
        resolve(free, params, host.name, index, len(hosts))
        for index, host in enumerate(hosts, start=1)
    ]
    threads = sum(load.threads for load in loads)
    limit = limit_of(loads[0], rate_iops / threads)
    name = "limitwrite" if loads[0].phase.name == "write" else "limitread"
    step = build_steps(with_options(free, {name: limit}), params, hosts, seeds)[0]
    step.jobs = [_offered(loads[0], rate_iops / len(hosts))]
    return Paced(step, (BURSTS,))


def limit_of(load: Load, rate_iops: float) -> int:
    """Return the bytes per second of a thread that make so many I/Os.

    Raises UsageError for less than one a second.
    """
    if rate_iops < 1:
        raise UsageError(
            f"{rate_iops:g} I/Os a second and thread: at least one is needed; use fewer threads"
        )
    if load.even_block is None:
        raise UsageError("size is not a multiple of block: how many bytes an I/O has is not known")
    return round(rate_iops * load.even_block)


def _offered(load: Load, rate_iops: float) -> JobLoad:
    """Return the job with the I/Os a second that it offers on one host."""
    job, shares = job_load(load), shares_of(load)
    return replace(
        job, paced=True, rate_iops={name: rate_iops * shares[name] for name in job.directions}
    )


def set_by_search(profile: Profile, params: Mapping[str, ParamValue]) -> list[str]:
    """Return which limits are left out, and which parameters for the length are not used."""
    given = body_of(profile).options
    left = [
        f"{name}={given[name]} is left out: the search says what load is offered"
        for name in LIMITS
        if name in given
    ]
    defaults = {name: param.default for name, param in profile.params.items()}
    unused = [name for name in lengths(profile) if params.get(name) != defaults.get(name)]
    return left + [f"{name} is not used: each point lasts as its figures need" for name in unused]


def lengths(profile: Profile) -> list[str]:
    """Return the parameters that say only how long it runs."""
    given: Mapping[str, Scalar] = body_of(profile).options
    used = {
        name
        for option, value in given.items()
        if option != "timelimit"
        for name in placeholders(value)
    }
    return [
        name
        for name in placeholders(given.get("timelimit"))
        if name in profile.params and name not in used
    ]


# -- the same load on the same files with one change


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
