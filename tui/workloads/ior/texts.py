"""How contradictions in IOR's output are worded, by code."""

from __future__ import annotations

TEXTS = {
    "tasks": "{told:.0f} tasks in one place, {other:.0f} in another",
    "moved": "{told:size} moved, but tasks, segments and block size give {other:size}",
    "aggregate": (
        "aggregate file size {told:size}, but tasks, segments and block size give {other:size}"
    ),
    "setting": "{0}: {told:.0f} in the {1}, but {other:.0f} in the {2}",
    "rows": "rows of {told:.0f} iterations, but {other:.0f} repetitions",
    "summary": "{0} {told:.6g} MiB/s, but {other:.6g} from the iterations",
    "mean-time": "mean time {told:.6g} s, but {other:.6g} s from the iterations",
    "product": "rate x time is {told:.6g} MiB, but {other:.6g} MiB were moved",
    "ranks": "rows of {told:.0f} ranks, but {other:.0f} tasks",
    "rank-moved": (
        "rank {0} moved {told:.6g} MiB according to one time, {other:.6g} MiB according to the"
        " other"
    ),
    "ranks-moved": "ranks moved {told:.6g} MiB, but {other:.6g} MiB in total",
    "rank-time": "a rank took {told:.6g} s, but all ranks together {other:.6g} s",
    "backwards": "finished {told:time} before it began",
    "clock": "iterations took {told:time}, but it finished {other:time} after it began",
}
