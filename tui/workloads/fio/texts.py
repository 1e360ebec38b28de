"""Texts of contradictions in fio's output and of caveats on plans, by code."""

from __future__ import annotations

from collections.abc import Mapping

from tui.text.form import Text


def _of(job: str) -> str:
    return f"job {job}: " if job else ""


CAVEATS: Mapping[str, Text] = {
    "depth-in-vain": "iodepth has no effect with {engine}: it is synchronous",
    "rate-set-by-search": lambda job, options: (
        f"{_of(job)}{', '.join(options)} is ignored: the search sets the offered load"
    ),
    "length-set-by-search": "{name} is ignored: the search sets the length of each point",
    "fewer-workers": lambda job, workers, of: (
        f"{_of(job)}uses {workers} of {of} workers at this low rate"
    ),
    "above-share": lambda job, iops: (
        f"{_of(job)}{iops} IOPS above the job's share, so that each host gets at least one per"
        " second"
    ),
}

TEXTS = {
    "units": "the figure in KiB is {times:.3g} x the figure in bytes",
    "sample-order": (
        "sample mean {told:.6g} is outside the range of the samples (limit {other:.6g})"
    ),
    "sample-spread": (
        "standard deviation {told:.4g} of the samples does not fit their minimum, mean and maximum"
        " (limit {other:.4g})"
    ),
    "sample-pause": (
        "a sample has {told:.0f} IOPS (mean {other:.6g}), although no I/O took longer than 0.1 s"
    ),
    "samples": "samples add up to {times:.3g} x the total",
    "samples-rest": (
        "{told:.0f} I/Os, but the samples and the time without samples allow at most {other:.0f}"
    ),
    "latency-counts": "{told:.0f} completion latencies, but {other:.0f} total latencies",
    "share-counts": "{told:.0f} completion latencies, but {other:.0f} in the latency shares",
    "share-sum": "latency shares add up to {told:.4g} %, not 100 %",
    "share": (
        "{told:.3g} % of the I/Os are below a limit according to the latency shares,"
        " but {other:.3g} % according to the percentiles"
    ),
    "lowest-above": "the lowest latency is {told:.6g} ns, but its range ends at {other:.6g} ns",
    "lowest-below": "the lowest latency is {told:.6g} ns, but its range begins at {other:.6g} ns",
    "highest-above": "the highest latency is {told:.6g} ns, but its range ends at {other:.6g} ns",
    "highest-below": "the highest latency is {told:.6g} ns, but its range begins at {other:.6g} ns",
    "twice": "the same amount is printed as {told:.5g} and as {other:.5g}",
    "group-bytes": "{other:.4g} bytes in the group line, but its jobs add up to {told:.4g}",
    "group-rate": "{other:.4g} bytes/s in the group line, but its jobs give {told:.4g}",
    "group-time": "{other:.0f} ms in the group line, but its jobs took {told:.0f}",
    "group-share": (
        "samples are {told:.4g} % of the group's rate as printed, but {other:.4g} % according to"
        " its figures"
    ),
    "started": "results of {told:.0f} jobs, but {other:.0f} were started",
    "connected": "results of {told:.0f} hosts, but the client had {other:.0f} servers",
    "no-error": "no error in the result, but the job failed with error {told:.0f}",
    "depth-syncs": "{told:.0f} syncs, but the depth shares contain {other:.0f}",
    "depth-share": (
        "{told:.3g} I/Os in flight (IOPS x latency), but the depth shares have at most {other:.0f}"
    ),
    "syncs": "{told:.0f} syncs, but {other:.0f} sync latencies",
    "syncs-due": "{told:.0f} syncs, but the job requests {other:.0f}",
    "no-ios": "0 I/Os, but {told:.0f} latencies or bytes",
    "direction": "{told:.0f} I/Os, but the job has none in this direction",
    "bytes": (
        "{told:.0f} bytes, but the job ends after {other:.0f}: it was stopped, or a figure"
        " was changed"
    ),
    "more-bytes": "{told:.0f} bytes, but the job ends after {other:.0f}",
    "verify": "{other:.0f} writes, which the job verifies, but {told:.0f} reads",
    "pauses": "{told:.0f} I/Os, but the job's thinktime allows at most {other:.0f}",
    "depth": "queue depth {told:.0f} according to the counters, but the job has {other:.0f}",
    "workers": "the run time is that of {told:.3g} workers, but the job has {other:.0f}",
    "limit": "the load generator used the limit {told:.6g}, but the job requests {other:.6g}",
    "steady": "steady state: {told:.6g}, but {other:.6g} follows from its other figures",
    "mix": "{told:.3g} % of the I/Os are reads, but the job requests {other:g} %",
    "unified": "{told:.0f} for all directions together, but the directions give {other:.0f}",
    "multiples": "all {other:.0f} counts of a histogram are multiples of {told:.0f}",
    "holes": "{told:.0f} empty buckets between full ones: latencies were multiplied",
    "elapsed": "measured for {told:.4g} s, but the load generator had run for only {other:.0f} s",
    "longer": "measured for {told:.4g} s, but runtime={other:g} ends the job",
    "fell": (
        "a figure went from {other:.0f} to {told:.0f} between two status reports of one run: counts"
        " and maxima never fall, minima never rise"
    ),
    "cpu": "CPU time {told:.3g} s, but copying the data takes at least {other:.3g} s",
    "more-cpu": "CPU time {told:.3g} s, but the workers ran for only {other:.3g} s",
    "off-cpu": (
        "calls took {told:.3g} s, CPU time is {other:.3g} s, and there are too few context"
        " switches for the rest"
    ),
    "version": "version {told:version}, but the output has fields added in {other:version}",
    "too-early": "the date is {apart:days} days before this version was released",
    "hist-more": "{told:.0f} I/Os in a bucket of the log, but {other:.0f} in the JSON",
    "hist-fewer": (
        "the I/Os missing from the log took {told:time} in total, but only {other:time} remained"
        " after its last row"
    ),
    "log-rows": "{told:.0f} rows in the log, but {other:.0f} samples in the JSON",
    "log-least": "smallest row of the log {told:.6g}, but the minimum in the JSON is {other:.6g}",
    "log-most": "largest row of the log {told:.6g}, but the maximum in the JSON is {other:.6g}",
    "log-mean": "the rows of the log allow a mean of {told:.6g}, but the JSON has {other:.6g}",
    "log-gap": (
        "{told:.3g} s without a row in the log, although there is one every {other:.3g} s, the load"
        " never pauses, and no I/O took that long"
    ),
    "log-copies": "two workers have the same latency log of {told:.0f} rows",
    "entries": "{told:.0f} entries, but {other:.0f} workers",
    "copies": "two workers have the same {told:.0f} latencies, to the last digit",
    "clients": "{told:.0f} in the sum over all clients, but the clients add up to {other:.0f}",
    "date": "date and time stamp are {apart:time} apart, which is not a time zone offset",
    "devices": (
        "{other:.0f} direct I/Os, but {told:.0f} reached the devices: a cache served the"
        " rest, or their blocks were never written"
    ),
    "device-bytes": (
        "{other:size} of direct I/O, but {told:size} reached the devices, in enough requests: the"
        " blocks were smaller than that, or a cache, holes or compression made up the rest"
    ),
}
