"""Texts about pace, durations and flushes."""

from __future__ import annotations

from collections.abc import Sequence

from tui.text.form import Text
from tui.text.names import names_of


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
        "at-end": (
            "no fsync during the load, only {flushed} at the end: the rate includes it, the"
            " latencies do not"
        ),
    },
    "flush-no-op": {
        "no-barrier": (
            "flushes do not reach the device: mounted without barriers on {options:bracket}"
        ),
        "quick": "median flush {median_ns:latency} on {host}: a command to a device takes longer",
        "lost": (
            "{host}: {syncs_per_s:iops} syncs/s by the load generator, but the devices complete"
            " {flushes_per_s:iops} flushes/s"
        ),
    },
}
