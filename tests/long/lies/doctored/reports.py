"""Lies in fio's report and terse output that keep what is printed beside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tests.long.lies.classes import Kind
from tests.long.lies.doctored.case import Case, factor
from tests.long.lies.doctored.documents import DATA
from tests.long.lies.doctored.texts import before, said

REPORTS = ("hum-3.33", "hum-3.42", "hum-master", "three-workers-3.33")
WORKERS = "three-workers-3.33"
CLIENTS = ("two-normal-3.33", "two-normal-master")
TERSE = "terse-randrw-3.33"
KIND: Kind = "identities"
OWN = ("own-figures", "latency-mismatch", "rate-mismatch", "above-depth", "concurrency")
LEAST = 0.05  # beyond what three printed digits hide, several times over
Change = Callable[[Random, str], tuple[str, str] | None]


def _scaled(text: str, by: float) -> str:
    places = len(text.partition(".")[2])
    return f"{float(text) * by:.{places}f}"


def _sections(text: str) -> list[re.Match[str]]:
    """Return each job's section, without the lines of groups."""
    form = r"^\S.*?: \(groupid=\d+.*?(?=^\S.*?: \(groupid=|^Run status|\Z)"
    return list(re.finditer(form, text, re.M | re.S))


def _in_section(
    rng: Random, text: str, pattern: str, make: Callable[[re.Match[str]], str | None]
) -> str | None:
    """Return a text in which the first match within one section is another one."""
    section = rng.choice(_sections(text))
    found = re.search(pattern, section[0])
    made = make(found) if found is not None else None
    if found is None or made is None or made == found[0]:
        return None
    start = section.start() + found.start()
    return text[:start] + made + text[start + len(found[0]) :]


def rates(rng: Random, text: str) -> tuple[str, str] | None:
    """All amounts of one direction, and the line of its group; samples and latencies are kept."""
    by = factor(rng, LEAST, 4.0)
    section = rng.choice([each for each in _sections(text) if " IOPS=" in each[0]])
    rate = re.search(r"  (read|write): IOPS=.*", section[0])
    if rate is None:
        return None
    amount = re.compile(r"(?<==|\()([\d.]+)(?=[kMG]?i?B?(?:/s)?[,)/ ])")
    runtime = re.search(r"/(\d+)msec", rate[0])
    line = amount.sub(lambda each: _scaled(each[0], by), rate[0])
    line = re.sub(r"/\d+msec", f"/{runtime[1]}msec" if runtime else "", line)
    at = 0 if rate[1] == "read" else 1
    issued = re.search(r"total=([\d,]+)", section[0])
    assert issued is not None
    counts = issued[1].split(",")
    counts[at] = str(round(int(counts[at]) * by))
    made = section[0].replace(rate[0], line).replace(issued[0], f"total={','.join(counts)}")
    return text.replace(section[0], made), f"{rate[1]} rates x {by:.3g}"


def tail(rng: Random, text: str) -> tuple[str, str] | None:
    """Percentiles from one on are a fifth or less; the shares of latencies are kept."""
    by, first = rng.uniform(0.03, 0.2), rng.choice((50.0, 70.0, 90.0))
    section = rng.choice(_sections(text))
    block = re.search(r"    clat percentiles.*\n(?:     \|.*\n)+", section[0])
    if block is None or len(re.findall(r"clat percentiles", section[0])) > 1:
        return None

    def lower(mark: re.Match[str]) -> str:
        value = str(max(round(int(mark[3]) * by), 1)) if float(mark[1]) >= first else mark[3]
        return f"{mark[1]}th=[{value.rjust(len(mark[2]) + len(mark[3]))}]"

    made = re.sub(r"([\d.]+)th=\[( *)(\d+)\]", lower, block[0])
    return text.replace(block[0], made), f"p{first:g} and above x {by:.2g}"


def longest(rng: Random, text: str) -> tuple[str, str] | None:
    """The maximum of completions is a third or less."""
    by = rng.uniform(0.05, 0.3)
    made = _in_section(
        rng,
        text,
        r"(?<=clat )\((?:nsec|usec)\): min= *[\d.k]+, max= *([\d.]+)",
        lambda each: each[0].replace(f"max={each[1]}", f"max={_scaled(each[1], by)}"),
    )
    return (made, f"maximum x {by:.2g}") if made else None


def syncs(rng: Random, text: str) -> tuple[str, str] | None:
    """Two to nine times the syncs, or their latencies left out."""
    if rng.random() < 0.5:
        by = rng.uniform(2, 9)
        made = _in_section(
            rng,
            text,
            r"total=(\d+,\d+,\d+),([1-9]\d{2,})",
            lambda each: f"total={each[1]},{round(int(each[2]) * by)}",
        )
        return (made, f"syncs x {by:.3g}") if made else None
    block = r"  fsync/fdatasync.*\n    sync \(.*\n(?:    sync percent.*\n(?:     \|.*\n)+)?"
    made = _in_section(rng, text, block, lambda _: "")
    return (made, "no latencies of syncs") if made else None


def group(rng: Random, text: str) -> tuple[str, str] | None:
    """A rate or an amount of a group, in both of its units."""
    by, name = factor(rng, LEAST, 4.0), rng.choice(("bw", "io"))
    lines = list(re.finditer(rf"{name}=([\d.]+)(\w+/?s?) \(([\d.]+)(\w+/?s?)\)", text))
    line = rng.choice(lines)
    made = f"{name}={_scaled(line[1], by)}{line[2]} ({_scaled(line[3], by)}{line[4]})"
    if made == line[0]:
        return None
    return text[: line.start()] + made + text[line.end() :], f"{name} of a group x {by:.3g}"


def worker_out(rng: Random, text: str) -> tuple[str, str] | None:
    """One of several workers, left out."""
    section = rng.choice(_sections(text))
    return text.replace(section[0], "", 1), "a worker left out"


def worker_copied(rng: Random, text: str) -> tuple[str, str] | None:
    """One worker's section in the place of another's, with its own process number."""
    one, other = rng.sample(_sections(text), 2)
    pid = re.search(r"pid=\d+", other[0])
    made = re.sub(r"pid=\d+", pid[0] if pid else "", one[0])
    return text[: other.start()] + made + text[other.end() :], "a worker twice"


def clients(rng: Random, text: str) -> tuple[str, str] | None:
    """The sum over all clients: its I/Os, with its rate."""
    by = factor(rng, LEAST, 4.0)
    start = text.index("All clients:")
    issued = re.search(r"total=(\d+),(\d+)", text[start:])
    if issued is None:
        return None
    made = f"total={round(int(issued[1]) * by)},{issued[2]}"
    whole = text[start:].replace(issued[0], made)
    whole = re.sub(r"(?<=read: IOPS=)\d+", lambda each: _scaled(each[0], by), whole, count=1)
    return text[:start] + whole, f"reads of all clients x {by:.3g}"


def error(rng: Random, text: str) -> tuple[str, str] | None:
    """A failed job without its error."""
    return re.sub(r"err=\s*\d+ \(.*?\)(?=: pid)", "err= 0", text, count=1), "an error left out"


def terse(rng: Random, text: str) -> tuple[str, str] | None:
    """One direction's amounts in a terse line, or its percentiles from one on."""
    fields, first = text.split(";"), rng.choice((5, 46))
    if rng.random() < 0.5:
        by = factor(rng, LEAST, 4.0)
        for at in range(3):
            fields[first + at] = str(round(int(fields[first + at]) * by))
        return ";".join(fields), f"terse rates x {by:.3g}"
    by = rng.uniform(0.02, 0.2)
    for at in range(first + 12 + rng.choice((6, 8)), first + 12 + 17):
        name, _, value = fields[at].partition("=")
        fields[at] = f"{name}={round(int(value) * by)}"
    return ";".join(fields), f"terse percentiles x {by:.2g}"


LIES: dict[str, tuple[Change, tuple[str, ...]]] = {
    "rates of a report": (rates, REPORTS),
    "tail of a report": (tail, REPORTS),
    "maximum of a report": (longest, REPORTS),
    "syncs of a report": (syncs, REPORTS),
    "line of a group": (group, REPORTS),
    "a worker of a report left out": (worker_out, (WORKERS,)),
    "a worker of a report twice": (worker_copied, (WORKERS,)),
    "all clients of a report": (clients, CLIENTS),
    "an error of a report left out": (error, ("err-3.33",)),
    "terse output": (terse, (TERSE,)),
}


def draw(rng: Random, name: str) -> Case | None:
    """Draw one case of a lie."""
    change, sources = LIES[name]
    source = rng.choice(sources)
    folder = DATA / ("cs" if source in CLIENTS else "human")
    text = (folder / f"{source}.stdout").read_text()
    changed = change(rng, text)
    if changed is None or changed[0] == text:
        return None
    told = f"{source}: {changed[1]}"
    return Case(KIND, name, told, OWN, said(changed[0], ".txt"), before(text, ".txt"))
