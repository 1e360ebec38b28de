"""Find figures in IO500's output that contradict each other, or the rules that IO500 applies.

Each relation follows from IO500's source. Figures have six decimals, times three or four.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from math import sqrt

from tui.model.event import Contradiction
from tui.model.quantities import parse_size
from tui.workloads.io500.output import GIB, PHASES, ROUNDED, SCORED, Io500Output
from tui.workloads.reading import STAMP_S, may_be_set_back

TEXTS = {
    "score": "the score has {told:.6g} {0}, but the geometric mean of the phases is {other:.6g}",
    "total": "TOTAL {told:.6f}, but sqrt(bandwidth * IOPS) is {other:.6f}",
    "missing": "the score covers {told:.0f} of {other:.0f} phases; missing: {0}",
    "short": "{0} took {told:.3f} s, less than {other:.0f} s, but is not marked INVALID",
    "not-marked": "a phase is marked INVALID, but the score is not",
    "phase-score": "{0}: {told:.6f} in the summary, {1} in result.txt",
    "phase-time": "{0}: {told:.3f} s in the summary, {other:.4f} s in result.txt",
    "hash": "hash {0}, but version, scores and validity give {1}",
    "order": "phases out of order: {0}",
    "early": "{0} began {told:time} before the end of {1}",
    "stamps": "{0} took {told:time}, but its time stamps differ from that by {other:time}",
    "few-bytes": "{0}: at most {told:.0f} bytes were written, but {other:.0f} were expected",
    "few-files": "{0}: at most {told:.0f} files were written, but {other:.0f} were expected",
    "find-processes": "find ran on {told:.0f} processes, but the run has {other:.0f}",
    "find-time": "find took {told:time}, but files and rate give {other:time}",
    "own-rate": "{0}: {told:.6f} in the summary, {other:.6f} in its own output",
    "own-tasks": "{0}: {told:.0f} tasks, but {other:.0f} processes",
}


Sections = Mapping[str, Mapping[str, str]]  # of result.txt: section, key, value
WRITES = ("ior-easy-write", "mdtest-easy-write", "ior-hard-write", "mdtest-hard-write")
LIMIT_S, STUDENT_LIMIT_S = 300, 30  # least write phase; that of student cluster competitions
NEAR = 1.1  # of the limit: write phases that it ended took no longer
MILLISECOND = 0.0005  # half a unit of the last digit
OWN_S, OWN = 1.0, 0.1  # of find besides its search: reads its options, writes its files
HASHED = ("MD", "BW", "SCORE")
STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def contradictions(output: Io500Output, result: Sections) -> Iterator[Contradiction]:
    """Yield pairs of figures that contradict each other.

    `result`: sections of result.txt; empty if unknown.
    """
    yield from _total(output)
    yield from _missing(output)
    yield from _short(output, result)
    if result:
        yield from _same(output, result)
        yield from _hash(result)
        yield from _times(result)
        yield from _work(output, result)
        yield from _found(output, result)


def _total(output: Io500Output) -> Iterator[Contradiction]:
    """Yield a score that is not the square root of bandwidth x IOPS."""
    names = ("total", "bandwidth", "metadata")
    total, bandwidth, metadata = (output.scores.get(name, 0.0) for name in names)
    if len(output.scores) < len(names):
        return
    least = sqrt(max(bandwidth - ROUNDED, 0.0) * max(metadata - ROUNDED, 0.0))
    most = sqrt((bandwidth + ROUNDED) * (metadata + ROUNDED))
    if not least - 2 * ROUNDED <= total <= most + 2 * ROUNDED:
        yield Contradiction("total", total, sqrt(bandwidth * metadata))


def _missing(output: Io500Output) -> Iterator[Contradiction]:
    """Yield missing phases. Every run prints all phases, with 0 for those left out."""
    missing = [name for name in SCORED if name not in output.phases]
    if output.score_text and missing and len(missing) < len(SCORED):
        scored = len(SCORED) - len(missing)
        yield Contradiction("missing", scored, len(SCORED), names=(", ".join(missing),))


def _short(output: Io500Output, result: Sections) -> Iterator[Contradiction]:
    """Yield write phases below the time limit that are not marked as invalid, and a score that is
    valid although a phase is not.
    """
    limit_s = _limit_s(output, result)
    for name in WRITES:
        each = output.phases.get(name)
        if each is None or not each.value or each.invalid:
            continue
        if each.seconds + MILLISECOND < limit_s:
            yield Contradiction("short", each.seconds, limit_s, names=(name,))
    scored = [each for name, each in output.phases.items() if name in SCORED]
    if output.score_text and not output.invalid and any(each.invalid for each in scored):
        yield Contradiction("not-marked", 0.0, 0.0)


def _limit_s(output: Io500Output, result: Sections) -> int:
    """Return the length of the shortest valid write phase in seconds. It is the student limit if
    all settings say so, or if there are no settings and at most one write phase ended just above
    the standard limit.
    """
    stonewalls = {_number(_options(result, name).get(flag)) for name, flag in STONEWALLS.items()}
    if known := stonewalls - {None}:
        return STUDENT_LIMIT_S if known == {STUDENT_LIMIT_S} else LIMIT_S
    seconds = [each.seconds for name, each in output.phases.items() if name in WRITES]
    ended = [each for each in seconds if LIMIT_S <= each < LIMIT_S * NEAR]
    return LIMIT_S if len(ended) > 1 else STUDENT_LIMIT_S


STONEWALLS = {
    "ior-easy-write": "D", "ior-hard-write": "D", "mdtest-easy-write": "W", "mdtest-hard-write": "W"
}  # fmt: skip


# -- with result.txt


def _same(output: Io500Output, result: Sections) -> Iterator[Contradiction]:
    """Yield scores and times that differ between result_summary.txt and result.txt."""
    for name, each in output.phases.items():
        own = result.get(name, {})
        score, delta = own.get("score"), _float(own.get("t_delta"))
        if score is not None and f"{each.value:.6f}" != score:
            yield Contradiction("phase-score", each.value, 0.0, names=(name, score))
        if delta is not None and abs(delta - each.seconds) > 2 * MILLISECOND:
            yield Contradiction("phase-time", each.seconds, delta, names=(name,))
    for name, key in (("bandwidth", "BW"), ("metadata", "MD"), ("total", "SCORE")):
        summed = output.scores.get(name)
        score = result.get("SCORE", {}).get(key, "").partition(" ")[0]
        if summed is not None and score and f"{summed:.6f}" != score:
            yield Contradiction("phase-score", summed, 0.0, names=(key, score))


def _hash(result: Sections) -> Iterator[Contradiction]:
    """Yield a hash that does not match version, scores and validity."""
    score, version = result.get("SCORE", {}), result.get("run", {}).get("version", "")
    printed_hash = score.get("hash", "").upper()
    phases = {name: own["score"] for name in SCORED if "score" in (own := result.get(name, {}))}
    if not printed_hash or not version or not all(key in score for key in HASHED):
        return
    pairs = {"version": version, **phases, **{key: score[key] for key in HASHED}}
    pairs["SCORE"], _, mark = pairs["SCORE"].partition(" ")
    if "INVALID" in mark:
        pairs["valid"] = "NO"
    own_hash = 0
    for key, value in pairs.items():
        own_hash ^= _hash_of(f"{key}{value}")
    if f"{own_hash:X}" != printed_hash:
        yield Contradiction("hash", 0.0, 0.0, names=(printed_hash, f"{own_hash:X}"))


def _hash_of(text: str) -> int:
    """Return IO500's hash of a text: rotate by two bits and add, per byte."""
    value = 0
    for byte in text.encode():
        value = (((value << 2) | (value >> 30)) + byte) & 0xFFFFFFFF
    return value


def _times(result: Sections) -> Iterator[Contradiction]:
    """Yield phases that are out of the benchmark's order or overlap, or whose duration differs from
    their time stamps.
    """
    names = [name for name in result if name in PHASES]
    if names != sorted(names, key=PHASES.index):
        yield Contradiction("order", 0.0, 0.0, names=(", ".join(names),))
        return
    clock = [("the run", _stamp(result.get("run", {}).get("START")), 0.0)]
    clock += [
        (name, _stamp(result[name].get("t_start")), _float(result[name].get("t_delta")) or 0.0)
        for name in names
    ]
    clock.append(("the end", _stamp(result.get("SCORE", {}).get("END")), 0.0))
    known = [(name, at_s, delta_s) for name, at_s, delta_s in clock if at_s is not None]
    for (name, at_s, delta_s), (other, next_s, _) in pairwise(known):
        late_s = at_s + delta_s - next_s
        if late_s > STAMP_S and not may_be_set_back(next_s, late_s):
            yield Contradiction("early", late_s, 0.0, names=(other, name))
    for name, at_s, delta_s in known:
        end_s = _stamp(result.get(name, {}).get("t_end"))
        apart_s = 0.0 if end_s is None else abs(end_s - at_s - delta_s)
        late = apart_s > 2 * STAMP_S + MILLISECOND
        if end_s is not None and late and not may_be_set_back(end_s, apart_s):
            yield Contradiction("stamps", delta_s, apart_s, names=(name,))


def _work(output: Io500Output, result: Sections) -> Iterator[Contradiction]:
    """Yield phases that did too little work.

    A phase completes its work or runs until the stonewall: score x time is at least the lesser of
    the two.
    """
    procs = _number(result.get("run", {}).get("procs"))
    if not procs:
        return
    for name, flag in STONEWALLS.items():
        each, given = output.phases.get(name), _options(result, name)
        until_s = _number(given.get(flag))
        if each is None or not each.value or not until_s:
            continue
        unit, what = (GIB, "bytes") if flag == "D" else (1000, "files")
        due = procs * (_ior_bytes(given) if flag == "D" else _number(given.get("n")) or 0)
        rate = (each.value + ROUNDED) * unit
        did = rate * (each.seconds + MILLISECOND)
        if flag == "W" and (total := _number(result.get("find", {}).get("total-files"))):
            did = min(did, total)
        if did < min(due, rate * until_s) * (1 - ROUNDED):
            yield Contradiction(f"few-{what}", did, min(due, rate * until_s), names=(name,))


def _ior_bytes(given: Mapping[str, str]) -> int:
    try:
        return parse_size(given.get("b", "0")) * (_number(given.get("s")) or 1)
    except ValueError:
        return 0


def _found(output: Io500Output, result: Sections) -> Iterator[Contradiction]:
    """Yield more processes of find than the run has, and a find phase that was shorter, or much
    longer, than its search (files divided by rate).
    """
    own, each = result.get("find", {}), output.phases.get("find")
    total, procs = _number(own.get("total-files")), _number(result.get("run", {}).get("procs"))
    if (nproc := _number(own.get("nproc"))) and procs and nproc > procs:
        yield Contradiction("find-processes", nproc, procs)
    if each is None or not total or not each.value:
        return
    searched_s = total / each.value / 1000
    slack_s = MILLISECOND + ROUNDED / each.value * searched_s
    if not searched_s - slack_s <= each.seconds <= searched_s * (1 + OWN) + OWN_S:
        yield Contradiction("find-time", each.seconds, searched_s)


def _options(result: Sections, name: str) -> dict[str, str]:
    """Return the one-letter options in a phase's command line, with their values."""
    words = result.get(name, {}).get("exe", "").split()
    found: dict[str, str] = {}
    for at, word in enumerate(words):
        match = re.fullmatch(r"-(?P<name>[A-Za-z])(?:=(?P<value>.+))?", word)
        if match:
            follows = words[at + 1] if at + 1 < len(words) else ""
            found[match["name"]] = match["value"] or ("" if follows.startswith("-") else follows)
    return found


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and len(text) < DIGITS else None


DIGITS = 16


def _float(text: str | None) -> float | None:
    found = re.fullmatch(r"\d{1,15}(?:\.\d{1,15})?", text or "")
    return float(found[0]) if found else None


def _stamp(text: str | None) -> float | None:
    """Return a local time in epoch seconds, read as UTC; None if it is not one."""
    if text is None or not STAMP.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


# -- compare the phases of an IO500 result with the output that each of them left in its directory


FIND = "find.csv"
FILES = (FIND, *(f"{name}.txt" for name in PHASES))
MIB_PER_GIB, PER_THOUSAND = 1024, 1000
RATE_DIGITS = 1e-5  # the rate of a summary is that of the slowest rank, by another division
TASKS = re.compile(r"^tasks +: (\d+)$|^\S+ was launched with (\d+) total task", re.MULTILINE)
SEARCHED = re.compile(r"^runtime: [\d.]+ rate: (?P<rate>\d+(?:\.\d+)?)$", re.MULTILINE)
ROW = re.compile(r"^(?:write|read) +(?P<rate>\d+(?:\.(?P<decimals>\d+))?) ", re.MULTILINE)
OPERATIONS = {"write": "creation", "stat": "stat", "read": "read", "delete": "removal"}


def against_phases(
    output: Io500Output, texts: Mapping[str, str], procs: int
) -> Iterator[Contradiction]:
    """Yield phases whose own output has another rate or number of tasks.

    `texts`: files in the result directory by name.
    """
    for name, each in output.phases.items():
        text = texts.get(FIND if name == "find" else f"{name}.txt", "")
        own = _rate(name, text)
        if own is not None and abs(own[0] - each.value) > own[1] + ROUNDED:
            yield Contradiction("own-rate", each.value, own[0], names=(name,))
        match = TASKS.search(text)
        if match and procs and int(match[1] or match[2]) != procs:
            yield Contradiction("own-tasks", int(match[1] or match[2]), procs, names=(name,))


def _rate(name: str, text: str) -> tuple[float, float] | None:
    """Return a phase's rate according to its own output, and its possible error; None if there is
    none.
    """
    if name == "find":
        match = SEARCHED.search(text)
        return (float(match["rate"]) / PER_THOUSAND, ROUNDED) if match else None
    if name.startswith("ior"):
        rows = list(ROW.finditer(text))
        if len(rows) != 1:
            return None
        half = 0.5 * 10 ** -len(rows[0]["decimals"] or "")
        return float(rows[0]["rate"]) / MIB_PER_GIB, half / MIB_PER_GIB
    operation = OPERATIONS.get(name.rpartition("-")[2], "")
    mean = re.search(rf"^ {{3}}File {operation} +(?:[\d.]+ +){{2}}(?P<mean>[\d.]+) ", text, re.M)
    if not operation or mean is None:
        return None
    rate = float(mean["mean"]) / PER_THOUSAND
    return rate, rate * RATE_DIGITS
