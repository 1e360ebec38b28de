"""How contradictions in mdtest's output are worded, by code."""

from __future__ import annotations

TEXTS = {
    "tasks": "launched with {told:.0f} tasks, but files for {other:.0f} tasks",
    "files-of-tasks": "{told:.0f} files, which {other:.0f} tasks cannot share equally",
    "files": "{told:.0f} files, but tasks and -n give {other:.0f}",
    "iterations": "summary of {told:.0f} iterations, but -i is {other:.0f}",
    "numbers": "summary of {told:.0f} iterations, but the output has {other:.0f}: {0}",
    "rates": "{0}: rates of {told:.0f} iterations, but the summary covers {other:.0f}",
    "mean": "{0}: mean {told:.3f} does not fit minimum and maximum (limit {other:.3f})",
    "deviation": (
        "{0}: standard deviation {told:.3f} does not fit minimum, mean and maximum"
        " (limit {other:.3f})"
    ),
    "summary": "{0}: {1} {told:.3f}, but {other:.3f} from the iterations",
    "items": "{0}: rate x time of iteration {1} is {told:.0f} items, not {other:.0f}",
    "tables": "{0}: rate x time of the tables is {told:.0f} items, not {other:.0f}",
    "ranks": "{told:.0f} rows of ranks, but ranks x iterations give {other:.0f}",
    "rank-items": "{0}: rate x time of rank {1} is {told:.6g} items, not {other:.0f}",
    "all-items": "{0}: rate x time of all ranks is {told:.6g} items, not {other:.0f}",
    "all-time": "{0}: all ranks took {told:.6g} s, but one took {other:.6g} s",
    "all-rate": (
        "{0}: all ranks did {told:.3f} ops/s, outside the range of the iterations (limit"
        " {other:.3f})"
    ),
    "rank-rates": "{0}: rates of {told:.0f} ranks, but {other:.0f} tasks",
    "rank-iterations": "{0}: ranks have {told:.0f} iterations, but the summary has {other:.0f}",
    "slowest": "{0}: {1} {told:.3f} is above {other:.3f}, the figure of the slowest ranks",
    "rank-summary": (
        "{0}: {1} rate of a rank is {told:.3f}, but the rates of all ranks give {other:.3f}"
    ),
    "map": "{told:.0f} tasks, but the node map has {other:.0f}",
    "nodes": "1 node, but {told:.0f} of {other:.0f} tasks ran on others",
    "shift": "ranks shifted by {told:.0f}, but -N gives {other:.0f}",
    "not-chosen": "{0}: {told:.3f} ops/s, but the command line has only {1}",
    "no-rate": "the summary has no rate for {0}",
    "backwards": "finished {told:time} before it began",
    "clock": "phases took {told:time}, but it finished {other:time} after it started",
}
