"""The classes of lies, by the principle that tells them, in the order of docs/truth.md."""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "identities",
    "time",
    "place",
    "cache",
    "content",
    "durability",
    "provenance",
    "load",
    "hosts",
    "steadiness",
]
PRINCIPLES: dict[Kind, str] = {
    "identities": (
        "figures of one result satisfy arithmetic: counts, rates, times, latencies, intervals"
    ),
    "time": "every host and job measured for all of the time that the figure is about",
    "place": "the files lie on storage, each host on its own, with room left",
    "cache": (
        "bytes that the load got came from storage, not from memory, and from more of it than a"
        " cache holds"
    ),
    "content": "what was written cannot be stored as less",
    "durability": "what was flushed reached a device",
    "provenance": "record, journal, plan and raw output are of one run and as they were",
    "load": "the load was the one that is named: rate, depth, engine",
    "hosts": "all hosts did alike, undisturbed, without a restart",
    "steadiness": "the rate did not move, stand still, or last too short to tell",
}

OF_CHECK: dict[Kind, tuple[str, ...]] = {
    "identities": (
        "rate-mismatch", "size-mismatch", "above-offered", "above-depth", "latency-mismatch",
        "series-mismatch",
        "copied-output", "iterations", "concurrency",
    ),
    "time": ("short", "start-skew", "end-skew", "job-time", "never-together", "impossible-time",
        "clock-offset", "roles-overlap"),
    "place": ("direct-io", "shared-files", "target-full", "raid-rebuild"),
    "cache": ("storage-traffic", "unwritten-data", "working-set", "hot-set", "same-offsets",
        "page-cache", "object-traffic", "memory-limit"),
    "content": ("reducible-data",),
    "durability": ("no-flush", "flush-no-op", "sync"),
    "provenance": ("verify", "changed-program"),
    "load": ("offered-rate", "depth", "slat", "tool-errors"),
    "hosts": (
        "straggler", "host-restart", "host-loss", "background-load", "client-cpu", "other-load",
        "other-traffic",
        "host-differences", "network", "io-limit",
    ),
    "steadiness": ("steady-state", "stall", "warm-up", "missing-samples", "runtime"),
}  # fmt: skip


def kind_of(check: str) -> Kind:
    """Return the class whose principle a check is about."""
    return next(kind for kind, checks in OF_CHECK.items() if check in checks)
