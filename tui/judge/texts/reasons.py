"""Texts of the reasons why a check does not apply or cannot run, by code.

Most codes name the evidence that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.text.form import Text
from tui.text.names import names_of


def _on(hosts: Sequence[str]) -> str:
    """Return hosts without data, if the reason names them."""
    return f" on {names_of(hosts)}" if hosts else ""


REASONS: Mapping[str, Text] = {
    # codes of Moot: the check does not apply
    "no-reads": "nothing is read",
    "no-writes": "nothing is written",
    "no-random": "no random I/O",
    "one-host": "only one host",
    "no-cache-drop": "dropping caches was not requested",
    "has-ramp": "the load has a ramp",
    "no-rounds": "no rounds were requested",
    "no-conditions": "the profile has no conditions to attest",
    "no-rank-shift": "no ranks were shifted",
    "no-sweep": "no sweep",
    "no-other-profile": "no other profile ran at the same time",
    "counter-experiment": "a counter-experiment compares loads that differ on purpose",
    "no-rate": "no rate was requested",
    "paced": "the load is limited by a rate or think time",
    "objects": "objects do not use files, devices or the page cache of the hosts",
    "no-objects": "no objects are read or written",
    "no-data": "the load moves no data",
    "direct": "direct I/O does not use the page cache",
    "no-network": "the load does not go over the network",
    "no-submission": "the engine has no submission latency",
    "no-syncs": "no syncs were measured",
    "no-own-verdict": "the load generator does not judge its own result",
    "one-iteration": "no operation has more than one iteration",
    # the evidence is missing, or too little
    "nothing-measured": "nothing was measured",
    "no-completed-io": "no I/O completed",
    "running": "the run is still running",
    "stopped": "the load was stopped before its end",
    "too-short": "measured for less than {least_s:g} s",
    "no-jump": "no jump in the rate; judging steadiness needs {least_s:g} s or more",
    "few-hosts": lambda least: f"needs data from {'two' if least == 2 else least} hosts or more",
    "boot-ids": "fewer than two hosts reported a boot ID",
    "host-times": "start and end times of the hosts are unknown",
    "timed-jobs": "fewer than two timed jobs",
    "size-bound": "the load is size-bound: it tapers off at the end",
    "jobs-in-sequence": "jobs run one after the other",
    "hosts-differ": "hosts have different numbers of I/Os in flight",
    "page-cache": "no direct I/O: the page cache is between load and storage",
    "job-parameters": "the job parameters are unknown",
    "command-lines": "command lines are unknown",
    "open-files": "the files that the load had open are unknown",
    "exit-status": "the exit status of the load generator is unknown",
    "concurrent-loads": "the results of concurrent loads are unknown",
    "io-range": "the range of the I/O is unknown",
    "io-count": "the number of I/Os is unknown",
    "block-sizes": "block sizes are unknown, or no data is moved",
    "file-sizes": "the file sizes or the memory of the hosts are unknown",
    "queue-depth": "the queue depth is unknown",
    "seeds": "the seeds are unknown",
    "latencies": "the latencies are unknown",
    "sync-latency": "the time that syncs waited is unknown",
    "flush-counts": "the devices' flushes were not counted",
    "measured-time": "the measured time is unknown",
    "samples": "no samples, or too few",
    "whole-samples": "samples do not cover the whole measurement",
    "counts": "no final result with counts",
    "own-figures": "the output has no other figures to compare",
    "clocks": "clocks were not compared",
    "host-facts": "the host facts are unknown",
    "governor": lambda hosts=(): f"no CPU governor was read{_on(hosts)}",
    "target-devices": "the file system or devices of the target are unknown",
    "free-space": "the free space of the target is unknown",
    "package-checksums": "no package owns the load generators, or the package has no checksums",
    "control-groups": "the control groups are unknown",
    "telemetry": "no telemetry",
    "idle-telemetry": "no telemetry before the load",
    "client-cpus": "client CPUs were not monitored",
    "client-links": "client links were not monitored",
    "link-speed": lambda hosts=(): f"the link speed is unknown{_on(hosts)}",
    "byte-counters": "no lower-level byte counters",
    "file-extents": lambda quote="": quote or "file extents were not read",
    "file-blocks": lambda quote="": quote or "file blocks were not sampled",
}
