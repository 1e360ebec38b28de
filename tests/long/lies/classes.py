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
    "time": "every host and job measured for the whole time",
    "place": "files are on the storage under test, separate for each host, with space left",
    "cache": (
        "data came from the storage, not from memory, and from more of it than a cache holds"
    ),
    "content": "written data cannot be reduced",
    "durability": "flushed data reached a device",
    "provenance": "record, journal, plan and raw output belong to the same run and are unchanged",
    "load": "the load ran as stated: rate, depth, engine",
    "hosts": "all hosts performed alike, undisturbed, without a restart",
    "steadiness": "the rate was steady, without stalls, for long enough",
}

OF_CHECK: dict[Kind, tuple[str, ...]] = {
    "identities": (
        "rate-mismatch", "size-mismatch", "above-offered", "above-depth", "latency-mismatch",
        "series-mismatch",
        "copied-output", "iterations", "concurrency", "own-figures", "few-samples",
    ),
    "time": ("short", "start-skew", "end-skew", "job-time", "never-together", "impossible-time",
        "clock-offset", "clock-step", "roles-overlap", "tool-clock"),
    "place": ("direct-io", "shared-files", "target-full", "raid-rebuild", "root-target"),
    "cache": ("storage-traffic", "unwritten-data", "working-set", "hot-set", "same-offsets",
        "page-cache", "object-traffic", "memory-limit"),
    "content": ("reducible-data", "content"),
    "durability": ("no-flush", "flush-no-op", "sync"),
    "provenance": ("verify", "changed-program"),
    "load": ("offered-rate", "depth", "slat", "tool-errors", "planned-command", "no-storage",
        "random-share"),
    "hosts": (
        "straggler", "host-restart", "host-loss", "background-load", "client-cpu", "other-load",
        "other-traffic",
        "host-differences", "one-machine", "network", "io-limit",
    ),
    "steadiness": ("steady-state", "stall", "warm-up", "missing-samples", "runtime"),
}  # fmt: skip


def kind_of(check: str) -> Kind:
    """Return the class whose principle a check is about."""
    return next(kind for kind, checks in OF_CHECK.items() if check in checks)
