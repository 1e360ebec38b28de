"""Texts about the machines: differences, devices, CPU, other programs."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics.facts import FactDifference, FactGroup, Value, leaf_title
from tui.text.form import Text
from tui.text.names import names_of


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
