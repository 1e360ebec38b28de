"""Lies in text that people send around: fio's report, mdtest's summary, elbencho's JSON.

Few digits are printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.long.lies.doctored.case import Case, factor
from tests.long.lies.doctored.documents import DATA, weakening

FIO = ("mapr-randread-256k", "mapr-randwrite-256k", "mapr-randwrite-8k", "nfs-client-1",
    "nfs-client-4",
       "weka-read-iops", "weka-read-latency", "weka-read-throughput", "weka-write-iops",
       "weka-write-throughput")  # fmt: skip
IOR = ("3.2.1-fpp", "3.3.0-fpp", "4.0.0-fpp", "main-fpp", "main-shared")
MDTEST = (
    "mdtest-main-profile-quiet",
    "mdtest-1.9.3-profile-quiet",
    "mdtest-3.3.0-profile-quiet",
    "mdtest-main-W2",
)
ELBENCHO = ("rand-read-live", "rand-read-live-ex", "limited")
CONTRADICTIONS = (
    "rate-mismatch",
    "size-mismatch",
    "latency-mismatch",
    "above-depth",
    "above-offered",
    "concurrency",
)
THREE_DIGITS = 0.03  # three figures of three digits each, twice
_SCALE = {"": 1.0, "k": 1e3, "M": 1e6}


def said(text: str, suffix: str) -> Callable[[Path], frozenset[str]]:
    """Return what judges a text: the checks that weaken what is imported of it."""

    def judge(folder: Path) -> frozenset[str]:
        path = folder / f"h1{suffix}"
        path.write_text(text)
        return weakening([path])

    return judge


def _numbers(text: str, pattern: str, by: float) -> str | None:
    """Return a text in which the first number that a pattern finds is another one, with as many
    digits.
    """
    if (found := re.search(pattern, text)) is None:
        return None
    value, places = float(found[1]), len(found[1].partition(".")[2])
    changed = f"{value * by:.{places}f}"
    return None if changed == found[1] else text[: found.start(1)] + changed + text[found.end(1) :]


FIO_LIES = {
    "IOPS": r"IOPS=([\d.]+)",
    "bandwidth": r"BW=([\d.]+)",
    "runtime": r"/(\d+)msec\)",
    "bytes": r"\(([\d.]+)[KMGT]iB/\d+msec",
    "block size": r"-bs=(\d+)",
}


def fio_text(rng: Random) -> Case | None:
    """One figure of fio's report."""
    name, what = rng.choice(FIO), rng.choice(list(FIO_LIES))
    text = (DATA / "text" / f"{name}.txt").read_text()
    by = factor(rng, THREE_DIGITS) if what != "block size" else rng.choice((0.5, 2.0, 4.0))
    changed = _numbers(text, FIO_LIES[what], by)
    if changed is None:
        return None
    if what == "bandwidth":  # fio prints it in two units: who lies changes both
        changed = _numbers(changed, r"BW=[\d.]+\w+/s \(([\d.]+)", by) or changed
    told = f"text {name}: {what} x {by:.4g}"
    return Case(
        "identities",
        "fio's text",
        told,
        CONTRADICTIONS,
        said(changed, ".txt"),
        before(text, ".txt"),
    )


def fio_percentiles(rng: Random) -> Case | None:
    """Two percentiles of fio's report in each other's place."""
    name = rng.choice(FIO)
    text = (DATA / "text" / f"{name}.txt").read_text()
    marks = list(re.finditer(r"([\d.]+)th=\[ *(\d+)\]", text))
    one, other = sorted(rng.sample(range(len(marks)), 2))
    if marks[one][2] == marks[other][2]:
        return None
    width = max(len(marks[one][2]), len(marks[other][2]))
    low, high = (marks[at][2].rjust(width) for at in (one, other))
    changed = text[: marks[one].start(2)] + high + text[marks[one].end(2) : marks[other].start(2)]
    changed += low + text[marks[other].end(2) :]
    told = f"text {name}: p{marks[one][1]} and p{marks[other][1]} swapped"
    aims = ("latency-mismatch", *CONTRADICTIONS)
    return Case("identities", "fio's text", told, aims, said(changed, ".txt"), before(text, ".txt"))


def mdtest(rng: Random) -> Case | None:
    """One figure of a line of mdtest's summary: the mean beyond the extremes, the smallest above
    the largest.
    """
    name = rng.choice(MDTEST)
    text = (DATA.parent / "mdtest" / f"{name}.out").read_text()
    rows = [
        each
        for each in re.finditer(r"^ +(?:File|Directory|Tree) .*$", text, re.M)
        if len(_rates(each[0])) == 4
    ]
    row = rng.choice(rows)
    high, low, mean, deviation = _rates(row[0])
    kind = rng.choice(
        (
            "mean above the maximum",
            "mean below the minimum",
            "minimum above the maximum",
            "deviation",
        )
    )
    more = 1 + 10 ** rng.uniform(-2, 0.5)
    if high <= low:
        return None
    changed = {
        "mean above the maximum": (high, low, high * more, deviation),
        "mean below the minimum": (high, low, low / more, deviation),
        "minimum above the maximum": (low, high * more, mean, deviation),
        "deviation": (high, low, mean, (high - low) * more),
    }[kind]
    numbers = [f"{value:.3f}" for value in changed]
    spans = [each.span() for each in re.finditer(r"\d+\.\d+", row[0])]
    line = row[0]
    for (start, end), number in reversed(list(zip(spans, numbers, strict=True))):
        line = line[:start] + number.rjust(end - start) + line[end:]
    text_now = text[: row.start()] + line + text[row.end() :]
    told = f"{name}: {line.split()[0]} {line.split()[1]}, {kind}"
    known = before(text, ".out")
    return Case(
        "identities", "mdtest's summary", told, ("iterations",), said(text_now, ".out"), known
    )


def mdtest_header(rng: Random) -> Case | None:
    """Another number of tasks or files in mdtest's header, beside the same rates."""
    name = rng.choice(MDTEST)
    text = (DATA.parent / "mdtest" / f"{name}.out").read_text()
    places = [
        match.span(1)
        for form in (r"was launched with (\d+) total", r"^(\d+) tasks,", r"^\d+ tasks, (\d+) ")
        if (match := re.search(form, text, re.M))
    ]
    if not places or re.search(r"Command line used.* '?-[bzIL]", text):
        return None
    start, end = rng.choice(places)
    other = max(1, round(int(text[start:end]) * factor(rng, 0.3)))
    if other == int(text[start:end]):
        return None
    told = f"{name}: {other} instead of {text[start:end]}"
    changed = f"{text[:start]}{other}{text[end:]}"
    known = before(text, ".out")
    aims = ("own-figures", "iterations")
    return Case("identities", "mdtest's header", told, aims, said(changed, ".out"), known)


def ior(rng: Random) -> Case | None:
    """Another number of tasks, or of bytes moved, in IOR's summary, beside the same rates."""
    name = rng.choice(IOR)
    text = (DATA.parent / "ior" / f"{name}.out").read_text()
    titles = next(line for line in text.splitlines() if line.startswith("Operation "))
    column = rng.choice(("#Tasks", "aggs(MiB)"))
    at = len(titles.split()) - titles.split().index(column)  # API may be empty in front of it
    row = re.search(r"^(?:write|read) .*$", text[text.index(titles) :], re.M)
    if row is None:
        return None
    words = row[0].split()
    was = words[-at]
    told = (
        f"{float(was) * factor(rng, 0.3):.1f}" if "." in was else str(int(was) + rng.randint(1, 9))
    )
    words[-at] = told
    changed = text.replace(row[0], " ".join(words))
    known = before(text, ".out")
    what = f"{name}: {column} {told} instead of {was}"
    return Case("identities", "IOR's summary", what, ("own-figures",), said(changed, ".out"), known)


def _rates(line: str) -> list[float]:
    return [float(each) for each in re.findall(r"\d+\.\d+", line)]


def elbencho(rng: Random) -> Case | None:
    """One figure of elbencho's JSON."""
    name = rng.choice(ELBENCHO)
    text = (DATA.parent / "elbencho" / f"{name}.json").read_text()
    found = json.loads(text.splitlines()[-1])
    done, by = found["last_done"], factor(rng, THREE_DIGITS)
    what = rng.choice(
        ("iops", "bytes/s", "bytes", "elapsed_time_ms", "avg_us", "block_size", "count")
    )
    if what == "avg_us":
        latency = done["latency"]["IO"]
        latency["avg_us"] = str(round(int(latency["avg_us"]) * by))
        # its buckets are a quarter of a power of two wide
        if abs(by - 1) < 0.3 or "histogram" not in latency:
            return None
    elif what == "block_size":
        found["config"]["block_size"] = str(int(found["config"]["block_size"]) * rng.choice((2, 4)))
    elif what == "count":
        counts = done["latency"]["IO"].get("histogram", {"buckets": []})["buckets"]
        # of fewer, a half more is below what is printed
        many = [one for one in counts if int(one["count"]) > 1000]
        if not many:
            return None
        bucket = rng.choice(many)
        bucket["count"] = str(int(int(bucket["count"]) * 1.5))
    else:
        for part in (found["first_done"], done):
            part[what] = str(round(int(part[what]) * by))
    told = f"elbencho {name}: {what} x {by:.4g}"
    changed, plain = json.dumps(found), json.dumps(json.loads(text.splitlines()[-1]))
    return Case(
        "identities",
        "elbencho's JSON",
        told,
        CONTRADICTIONS,
        said(changed, ".json"),
        before(plain, ".json"),
    )


def terse_rate(rng: Random) -> Case:
    """The rate of a terse line, which does not say of how many workers it is the sum."""
    text = (DATA / "human" / "terse-group-3.33.stdout").read_text()
    at, by = text.index("fio-3"), rng.uniform(1.3, 3.0)
    words = text[at:].split(";")
    words[6] = str(round(int(words[6]) * by))
    return Case(
        "identities",
        "fio's terse output",
        f"terse: IOPS x {by:.3g}",
        (),
        said(text[:at] + ";".join(words), ".txt"),
        before(text, ".txt"),
        "the number of workers behind a terse line",
    )


def elbencho_block(rng: Random) -> Case:
    """The block size of elbencho's command line and of its column."""
    text = (DATA.parent / "elbencho" / "rand-read-live.csv").read_text()
    size = rng.choice((2, 8, 16, 64, 256))
    changed = text.replace('"-b" "4k"', f'"-b" "{size}k"').replace(
        ",67108864,4096,", f",67108864,{size * 1024},"
    )
    return Case("identities", "elbencho's CSV", f"elbencho: -b {size}k", ("own-figures", *CONTRADICTIONS),
                said(changed, ".csv"), before(text, ".csv"))  # fmt: skip


_known: dict[str, frozenset[str]] = {}


def before(text: str, suffix: str) -> frozenset[str]:
    """Return what was said before anything was changed."""
    import tempfile

    if text not in _known:
        with tempfile.TemporaryDirectory(prefix="lies-") as name:
            _known[text] = said(text, suffix)(Path(name))
    return _known[text]


LIES = (fio_text, fio_text, fio_percentiles, mdtest, mdtest_header, ior, elbencho)
