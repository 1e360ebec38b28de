"""How contradictions in IOR's output are worded, by code."""

from __future__ import annotations

TEXTS = {
    "tasks": "{told:.0f} tasks, but also {other:.0f} tasks",
    "moved": "{told:size} moved, but tasks, segments and block size make {other:size}",
    "setting": "{0}: {told:.0f} in the {1}, but {other:.0f} in the {2}",
    "rows": "rows of {told:.0f} iterations, but {other:.0f} repetitions",
    "summary": "{0} {told:.6g} MiB/s, but {other:.6g} by the iterations",
    "mean-time": "mean time {told:.6g} s, but {other:.6g} s by the iterations",
    "product": "rate x time is {told:.6g} MiB, but {other:.6g} MiB were moved",
    "ranks": "rows of {told:.0f} ranks, but {other:.0f} tasks",
    "rank-moved": "rank {0} moved {told:.6g} MiB by one time, {other:.6g} MiB by the other",
    "ranks-moved": "ranks moved {told:.6g} MiB, but {other:.6g} MiB in the whole",
    "rank-time": "a rank took {told:.6g} s, but all of them {other:.6g} s",
    "backwards": "finished {told:time} before it began",
    "clock": "iterations took {told:time}, but it finished {other:time} after it began",
}
