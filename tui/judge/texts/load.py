"""Texts about the load: concurrency, rate, pace, durations, flushes, errors."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from tui.text.form import Text, of_generator
from tui.text.names import names_of


def errors(numbers: Sequence[int]) -> str:
    """Return error numbers with their meaning: ``EIO (Input/output error)``."""
    names = [(each, errno.errorcode.get(each)) for each in numbers]
    return ", ".join(
        f"{name} ({os.strerror(each)})" if name else f"error {each}" for each, name in names
    )


IN_FLIGHT = "expected {held} I/Os in flight on each host: {shares:share1} of that"
LOAD: dict[str, dict[str, Text]] = {
    "concurrency": {
        "in-flight": IN_FLIGHT,
        "opens": f"{IN_FLIGHT}; files are opened and closed between I/Os",
        "cpu-busy": f"{IN_FLIGHT}; the client's CPU was busy",
    },
    "depth": {
        "in-vain": "{quote}",
        "by-generator": of_generator,
        "swept": "{quote}; points that differ only in {axes:all} are the same load",
        "submitting": (
            "{host}: workers spend {share:share} of their time in submission: the queue may not be"
            " full"
        ),
    },
    "offered-rate": {
        "iops": "{of:job}: achieved {reached:iops} of {offered:iops} IOPS offered ({share:share})",
        "bandwidth": (
            "{of:job}: achieved {reached:bandwidth} of {offered:bandwidth} offered ({share:share})"
        ),
    },
    "short": {
        "phase": "the shortest phase took {phase_s:time}: too short to represent the load",
        "operation": "{operation} took only {phase_s:time}: too short to represent the load",
        "measured": "measured {measured_s:time}: too short to represent the load",
        "ended": "ended early: measured {measured_s:time} of {runtime_s:time}",
    },
    "runtime": {
        "measured": "only {measured_s:time} measured ({recommended_s:g} s or more recommended)"
    },
    "slat": {
        "submission": (
            "clat excludes the submission wait: {direction} mean slat {slat_ns:latency}, mean lat"
            " {lat_ns:latency}"
        )
    },
    "sync": {
        "queue": "syncs hold {share:share} of the queue, mean latency {mean_ns:latency}",
        "workers": (
            "syncs take {share:share} of the workers' time, mean latency {mean_ns:latency}"
        ),
        "queue-of-jobs": (
            "{jobs:jobs}: syncs hold {share:share} of the queue, mean latency {mean_ns:latency}"
        ),
        "workers-of-jobs": (
            "{jobs:jobs}: syncs take {share:share} of the workers' time, mean latency"
            " {mean_ns:latency}"
        ),
    },
    "few-samples": {
        "few": "{direction}: {ios:exact} I/Os are too few for p{percentile:g} and above"
    },
    "tool-errors": {
        "failed": "the load generator failed: {wrong}",
        "errors": errors,
        "exit-code": "exit code {exit_code}",
        "failed-ios": "failed I/Os: {ios}",
        "reported": "{quote}",
        "short-ios": "{host}: {ios} short or dropped {direction} I/Os",
    },
    "host-restart": {"restarted": "restarted during the run: {hosts:names}"},
}


def shorter(
    longest_s: float, short_s: Sequence[tuple[str, float]], together_s: float | None
) -> str:
    """Return the hosts that ran for less time than others."""
    named = names_of([f"{host} {seconds:.1f} s" for host, seconds in short_s])
    together = f"{together_s:.1f} s" if together_s is not None else "never"
    return (
        f"ran for less time than the longest-running host ({longest_s:.1f} s): {named}; all hosts"
        f" ran together: {together}"
    )


TIMES: dict[str, dict[str, Text]] = {
    "tool-clock": {
        "factor": (
            "a second of the load generator on {host} lasts {second_s:.2f} s: rates and latencies"
            " are wrong by this factor"
        ),
        "slow": (
            "{host} did I/O for {ran_s:time}, but its load generator measured {measured_s:time}:"
            " its clock may be slow"
        ),
    },
    "end-skew": {"shorter": shorter},
    "job-time": {"early": "{host}, job {job}: ran for {ran_s:time} of {bound_s:time}"},
    "roles-overlap": {
        "alone": "{role}: ran together with {other} for {both_s:time} of {ran_s:time}"
    },
    "no-flush": {
        "never": "no fsync inside the measured time",
        "never-of-jobs": "{jobs:jobs}: no fsync inside the measured time",
        "between-syncs": (
            "{option}: a power cut can lose the last writes of each worker, up to {unsynced}"
        ),
        "at-end": (
            "no fsync during the load, only {flushed} at the end: the rate includes it, the"
            " latencies do not"
        ),
        "at-end-of-jobs": (
            "{jobs:jobs}: no fsync during the load, only {flushed} at the end: the rate includes"
            " it, the latencies do not"
        ),
    },
    "flush-no-op": {
        "no-barrier": (
            "flushes do not reach the device: mounted without barriers on {options:bracket}"
        ),
        "quick": (
            "median flush {median_ns:latency} on {host}: faster than a command to a PCI Express"
            " device"
        ),
        "lost": (
            "{host}: {syncs_per_s:iops} syncs/s by the load generator, but the devices complete"
            " {flushes_per_s:iops} flushes/s"
        ),
    },
}
