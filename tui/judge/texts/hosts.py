"""Texts about hosts: stragglers, clocks, start and end, gaps; differences, devices, programs."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics import units
from tui.metrics.facts import FactDifference, FactGroup, Value, leaf_title
from tui.text.form import Text
from tui.text.names import loss_text, names_of, told_of


def unfair(
    direction: str, counted: str, spread: float, jain: float, ends: Sequence[tuple[str, float]]
) -> str:
    """Return the standard deviation of the hosts' rates, with the slowest and the fastest one."""
    (low, least), (high, most) = ends
    span = f"from {units.iops(least)} {counted} ({low}) to {units.iops(most)} ({high})"
    return f"{direction}: hosts deviate by {units.share(spread)}, {span}; Jain's index {jain:.3f}"


def far_below(
    direction: str, counted: str, median: float, shares: Sequence[tuple[str, float]]
) -> str:
    """Return which hosts are far below the median host, each with its share of that rate."""
    slow = names_of([f"{host} at {units.share(share)}" for host, share in shares])
    return f"{direction} {counted} far below the median host's {units.iops(median)}: {slow}"


def apart(
    skew_s: float,
    uncertainty_s: float | None,
    own_clocks: bool,
    late_s: Sequence[tuple[str, float]],
    together_s: float | None,
) -> str:
    """Return how far apart hosts started."""
    late = [f"{name} {delay:+.2f} s" for name, delay in late_s]
    by = "by the hosts' own clocks, which" if own_clocks else "by arrival: clocks"
    error = f"± {uncertainty_s:.2f} s" if uncertainty_s is not None else f"{by} were not compared"
    together = f"{together_s:.1f} s" if together_s is not None else "none"
    return (
        f"hosts started {skew_s:.2f} s apart ({error}): {names_of(late)}; common window: {together}"
    )


def lost(parts: Sequence[str], quotes: Sequence[str]) -> str:
    """Return why allocations ended, or how many hosts were left, and when."""
    losses = "; ".join(parts)
    if not quotes:
        return f"not all hosts measured to the end: {losses}"
    return "; ".join(filter(None, dict.fromkeys([*quotes, losses])))


def _stalled(what: str, why: str) -> Text:
    def text(spans_s: Sequence[tuple[str, int, int]], of_s: int, all_hosts: bool) -> str:
        if all_hosts:
            _, seconds, at_s = spans_s[0]
            when = f"{seconds} of {of_s} s at {units.clock(at_s)}"
            return f"{what} for {when} on all {len(spans_s)} hosts; {why}"
        spans = {host: f"{seconds} s at {units.clock(at_s)}" for host, seconds, at_s in spans_s}
        return f"{what} on {told_of(spans, ' for ')} (of {of_s} s); {why}"

    return text


NO_REPORT = (
    "{host}: no report from the load generator for {interval_s:.1f} s, starting at {from_s:.0f} s"
    " (one is due every second): %s was stopped, had no CPU, or waited for an I/O"
)
HOSTS: dict[str, dict[str, Text]] = {
    "straggler": {
        "rate": far_below,
        "unfair": unfair,
        "ranks": (
            "{operation}: ranks took much longer than on the median host ({median_ns:latency}):"
            " {slow_ns:latency}"
        ),
        "tail": "{direction} p99 far above the median host's {median_ns:latency}:"
        " {slow_ns:latency}",
    },
    "start-skew": {"apart": apart},
    "clock-offset": {
        "off": (
            "clocks differ from the jump host's: {offsets_s:offset}; times in the record are"
            " corrected"
        )
    },
    "clock-step": {
        "set": (
            "the clock of {host} or of the jump host was stepped by about {size_s:+.1f} s after the"
            " comparison; benchtui uses arrival times instead"
        )
    },
    "host-loss": {
        "lost": lost,
        "left": loss_text,
        "idle": "no I/O at all: {hosts:names}; the total covers only the other hosts",
    },
    "never-together": {
        "never": (
            "the hosts never all measured at the same time: the total adds up loads that did not"
            " run together"
        )
    },
    "stall": {
        "paused": (
            "{host}: the client did not run for at least {paused_s:.1f} s of {of_s:.0f} s, starting"
            " at {from_s:.0f} s: no report from the load generator, no telemetry (a paused VM, a"
            " frozen control group, no CPU, or a system disk that blocked both)"
        ),
        "held": NO_REPORT % "it",
        "worker-held": NO_REPORT % "it, or a worker,",
        "stalled": _stalled("I/O stalled", "the host froze, or its storage did not answer"),
        "slow": _stalled(
            "I/O far below normal", "some I/O in every second: a limit, or slower storage"
        ),
    },
}


def differ(what: Sequence[str], count: int) -> str:
    """Return how hosts differ."""
    more = f"; and {count - len(what)} more" if count > len(what) else ""
    return f"hosts differ: {'; '.join(what)}{more}"


def fact(fact: str, groups: Sequence[tuple[Value, Sequence[str]]]) -> str:
    """Return a fact that differs, with the hosts of each value."""
    known = tuple(FactGroup(value, tuple(hosts)) for value, hosts in groups)
    return FactDifference(fact, leaf_title(fact), True, known).text


def versions(versions: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return versions with their hosts."""
    return ", ".join(f"{version} on {names_of(hosts)}" for version, hosts in versions)


def running(running: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return the load generators that were running on hosts."""
    named = names_of([f"{host} ({', '.join(names)})" for host, names in running])
    return f"other load generators were already running: {named}"


def changed(programs: Sequence[tuple[str, str, str]]) -> str:
    """Return the programs that differ from their packages."""
    named = names_of([f"{name} of {package} on {host}" for name, package, host in programs])
    return f"changed since installed: {named}"


ON = "({names:all} on {hosts:names})"
OPENED = "the load opened its files %s O_DIRECT, but the plan has %s: {paths:on}"
MACHINES: dict[str, dict[str, Text]] = {
    "host-differences": {
        "differ": differ,
        "fact": fact,
        "versions": versions,
        "jobs": "{hosts:names} ran different jobs from {first}",
    },
    "one-machine": {
        "machine": "{hosts:names} are one machine (same boot ID)",
        "kernel": "{hosts:names} share one kernel (same boot ID)",
    },
    "direct-io": {
        "in-memory": f"the target is in memory: no storage was measured {ON}",
        "buffered-loop": f"a loop device serves direct I/O from the page cache {ON}",
        "may-cache": f"the file system may serve direct I/O from a cache {ON}",
        "not-direct": OPENED % ("without", "direct=1"),
        "direct": OPENED % ("with", "direct=0"),
    },
    "root-target": {
        "root": (
            "the target is on the root file system ({names:all}) on {hosts:names}: is the storage"
            " mounted?"
        )
    },
    "target-full": {"full": "the target is {share:share} full on {hosts:names}"},
    "raid-rebuild": {
        "ill": lambda host, device, state, done: f"{host}: {device}: {state} {done}".rstrip()
    },
    "cpu-frequency": {
        "governor": "CPU governor {names:all} on {hosts:names}",
        "clock-source": "slow clock source {names:all} on {hosts:names}",
    },
    "other-load": {"running": running},
    "changed-program": {"changed": changed},
}
