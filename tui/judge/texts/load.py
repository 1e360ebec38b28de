"""Texts about the load: concurrency, rate, duration, errors."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from tui import workloads
from tui.text.form import Text


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
        "by-generator": workloads.text_of,
        "swept": "{quote}; points that differ only in {axes:all} are the same load",
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
        "ended": "ended after {measured_s:time} of {runtime_s:time}: too short to represent the"
        " load",
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
