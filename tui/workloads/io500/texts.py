"""How contradictions in IO500's output are worded, by code."""

from __future__ import annotations

TEXTS = {
    "score": "the score has {told:.6g} {0}, but the geometric mean of the phases is {other:.6g}",
    "total": "TOTAL {told:.6f}, but sqrt(bandwidth * IOPS) is {other:.6f}",
    "missing": "the score covers {told:.0f} of {other:.0f} phases; missing: {0}",
    "short": "{0} took {told:.3f} s of {other:.0f} s, but is not marked INVALID",
    "not-marked": "a phase is marked INVALID, but the score is not",
    "phase-score": "{0}: {told:.6f} in the summary, {1} in result.txt",
    "phase-time": "{0}: {told:.3f} s in the summary, {other:.4f} s in result.txt",
    "hash": "hash {0}, but version, scores and validity give {1}",
    "order": "phases out of order: {0}",
    "early": "{0} began {told:time} before the end of {1}",
    "stamps": "{0} took {told:time}, but its time stamps differ from that by {other:time}",
    "few-bytes": "{0}: at most {told:.0f} bytes were written, but {other:.0f} were expected",
    "few-files": "{0}: at most {told:.0f} files were written, but {other:.0f} were expected",
    "find-processes": "find ran on {told:.0f} of {other:.0f} processes",
    "find-time": "find took {told:time}, but files and rate give {other:time}",
    "own-rate": "{0}: {told:.6f} in the summary, {other:.6f} in its own output",
    "own-tasks": "{0}: {told:.0f} tasks, but {other:.0f} processes",
}
