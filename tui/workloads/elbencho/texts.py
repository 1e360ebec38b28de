"""How contradictions in elbencho's output are worded, by code."""

from __future__ import annotations

TEXTS = {
    "first": "{told:.0f} {0} when the first thread was done, {other:.0f} when the last was",
    "setting": "{0} {told:.0f}, but the command line has {other:.0f}",
    "time-limit": "took {told:time}, but --timelimit is {other:.0f}",
    "limit": "{told:size} moved, but --{0} allows {other:size}",
    "entries": "{told:.0f} entries, but threads, -n and -N give {other:.0f}",
    "bytes": "{told:.0f} bytes, but the entries have {other:.0f}",
    "not-chosen": "phase {0}, but the command line does not ask for it",
    "missing": "phase {0} without {1}, which the command line asks for",
    "latencies": "{0}: {told:.0f} in total, but {other:.0f} latencies",
    "percentile": "{0}: p{1} {told:g} us, but {other:g} us according to the histogram",
}
