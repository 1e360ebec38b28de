"""The tables that elbencho prints, as rows of its CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tui.workloads.reading import numbered

HEADER = re.compile(r"OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*")
ROW = re.compile(
    r"(?P<phase>[A-Z0-9]+)?\s+(?P<what>[A-Za-z][\w/%]*+(?: ++[\w/%]++)*+)\s*:\s+(?P<values>\S.*)"
)
STAMP = re.compile(r"ISO DATE(?: start)?\s*: (\S+)")
COMMAND = re.compile(r"COMMAND LINE: (.*)")
ELAPSED = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?")
HUMAN_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
LATENCY = re.compile(r"\b(min|avg|max)=([\d.]+)(us|ms|s)\b")
PERCENTILE = re.compile(r"(?<![\d.])([\d.]+)%<=(\d+)")
OPTIONS = {
    "-t": "threads", "--threads": "threads", "--iodepth": "IO depth", "-b": "block size",
    "--block": "block size",
}  # fmt: skip
SIZES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
NAMES = {
    "IOPS": "IOPS", "IOPS write": "IOPS", "IOPS read": "rwmix read IOPS",
    "Total MiB": "MiB", "MiB write": "MiB", "MiB read": "rwmix read MiB",
    "IOs total": "IOs", "IOs write": "IOs", "IOs read": "rwmix read IOs",
    "Files/s": "entries/s", "Dirs/s": "entries/s", "Objects/s": "entries/s",
    "Files total": "entries", "Dirs total": "entries", "Objects total": "entries",
}  # fmt: skip
PREFIXES = {"IO": "", "IO wr": "", "IO rd": "rwmix read "}


def table_rows(text: str, file: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each phase of the tables in a text with its line."""
    inside, row, line, above = False, dict[str, str](), 0, dict[str, str]()
    for number, raw in numbered(text, file):
        if match := STAMP.match(raw):
            above = {"ISO date": match[1], "begins": "1"}
        elif match := COMMAND.match(raw):
            above |= {"command": match[1], **_options(match[1])}
        elif HEADER.fullmatch(raw.rstrip()):
            inside = True
        elif inside and (match := ROW.fullmatch(raw.rstrip())):
            if match["phase"]:
                if row:
                    yield line, row
                row, line = {**above, "operation": match["phase"]}, number
            if row:
                _take(row, match["what"].strip(), match["values"])
    if row:
        yield line, row


def _options(command: str) -> dict[str, str]:
    """Return what the command tells of the load."""
    words, found = command.replace('"', " ").replace("=", " ").split(), dict[str, str]()
    for word, value in pairwise(words):
        if word in OPTIONS:
            found[OPTIONS[word]] = _size(value)
    found["direct IO"] = str(int("--direct" in words))
    found["random"] = str(int("--rand" in words))
    hosts = next((value for word, value in pairwise(words) if word == "--hosts"), "")
    if hosts and "[" not in hosts:
        found["hosts"] = str(hosts.count(",") + 1)
    return found


def _size(text: str) -> str:
    factor = SIZES.get(text[-1:].lower(), 1)
    digits = text.rstrip("kKmMgG")
    return str(int(digits) * factor) if digits.isdigit() else ""


def _take(row: dict[str, str], what: str, values: str) -> None:
    """Put a line of a table into a row: of two columns the last."""
    last = values.rsplit(maxsplit=1)[-1]
    if what == "Elapsed time":
        row["time ms [last]"] = str(_milliseconds(last))
    elif what.startswith("CPU util"):
        row["CPU% [last]"] = last
    elif what in NAMES:
        row[f"{NAMES[what]} [last]"] = last
    elif (
        what.endswith(" latency")
        and (prefix := PREFIXES.get(what.removesuffix(" latency"))) is not None
    ):
        for name, value, unit in LATENCY.findall(values):
            row[f"{prefix}IO lat us [{name}]"] = str(float(value) * HUMAN_US[unit])
    elif (
        what.endswith(" lat % us")
        and (prefix := PREFIXES.get(what.removesuffix(" lat % us"))) is not None
    ):
        found = dict(PERCENTILE.findall(values))
        row[f"{prefix}IO percentiles"] = " ".join(found)
        row |= {f"{prefix}IO p{name}": value for name, value in found.items()}


def _milliseconds(text: str) -> float:
    """Return a time as elbencho prints it: 2m3.241s, 30.140s, 586ms. Raises ValueError."""
    match = ELAPSED.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"'{text}' as a time")
    hours, minutes, seconds, milliseconds = (float(group or 0) for group in match.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds
