"""Lies in what mdtest, IOR, IO500, elbencho and wekatester print beside their results."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

from tests.long.lies.doctored.case import Case, factor
from tests.long.lies.doctored.documents import DATA, weakening

AIMS = ("own-figures", "concurrency", "tool-errors", "iterations", "rate-mismatch", "size-mismatch",
    "latency-mismatch")  # fmt: skip
ROOT = DATA.parent
Files = dict[str, str]  # text by name
Change = Callable[[Random, Files], str | None]


def _read(*places: str) -> Files:
    return {Path(place).name: (ROOT / place).read_text() for place in places}


def _said(files: Files) -> frozenset[str]:
    """Return the checks that speak up on these files in one directory."""
    with tempfile.TemporaryDirectory(prefix="lies-") as name:
        for each, text in files.items():
            (Path(name) / each).write_text(text)
        paths = [Path(name) / each for each in files] if len(files) == 1 else [Path(name)]
        return weakening(paths)


def _number(
    rng: Random, files: Files, *, within: str, least: float, up: bool = False, file: str = ""
) -> str | None:
    """Change one number that a pattern finds, at least by a share; keep its digits."""
    name = file or next(iter(files))
    found = list(re.finditer(within, files[name], re.M))
    if not found:
        return None
    match = rng.choice(found)
    by = factor(rng, least)
    by = max(by, 1 / by) if up else by
    places = len(match[1].partition(".")[2])
    other = f"{float(match[1]) * by:.{places}f}"
    if other == match[1] or abs(float(other) / float(match[1]) - 1) < least / 2:
        return None
    text = files[name]
    files[name] = text[: match.start(1)] + other + text[match.end(1) :]
    return f"{match[1]} is {other}"


def _other(rng: Random, files: Files, *, old: str, new: str, file: str = "") -> str | None:
    """Put one text in the place of another, everywhere."""
    name = file or next(iter(files))
    files[name], count = re.subn(old, new, files[name], flags=re.M | re.S)
    return f"{old} is {new or 'left out'}" if count else None


def _without(rng: Random, files: Files, *, lines: str, file: str = "") -> str | None:
    """Leave out one of the lines that a pattern finds."""
    name = file or next(iter(files))
    found = list(re.finditer(rf"^{lines}$\n?", files[name], re.M))
    if not found:
        return None
    match = rng.choice(found)
    files[name] = files[name][: match.start()] + files[name][match.end() :]
    return f"without {match[0].strip()[:40]}"


VERBOSE = ("mdtest/mdtest-main-profile-v.out", "mdtest/mdtest-3.3.0-profile-v.out",
    "mdtest/mdtest-1.9.3-profile-v.out", "mdtest/mdtest-main-W2.out")  # fmt: skip
MAIN, RANKS = VERBOSE[0], "mdtest/mdtest-main-ranks.out"
TABLES, HOSTS = "mdtest/mdtest-main-P-ratetime.out", "mdtest/mdtest-main-2hosts-N1.out"
IOR = ("ior/3.2.1-fpp.out", "ior/3.3.0-fpp.out", "ior/4.0.0-fpp.out", "ior/main-fpp.out",
    "ior/main-shared.out", "ior/main-stonewall.out")  # fmt: skip
JSON = ("ior/main-json.out", "ior/3.3.0-json.out")
IO500 = "io500/result_summary.txt", "io500/result.txt"
RESULT = "result.txt"
PHASED = tuple(
    f"io500-phases/{name}"
    for name in (
        "result_summary.txt",
        RESULT,
        "ior-hard-read.txt",
        "mdtest-easy-stat.txt",
        "find.csv",
    )
)
FILES = "elbencho/files-write-read"
_TIMED = r"File \w+ *: +0\.(?:[1-9]\d\d|0[1-9]\d) sec, +([\d.]+) ops"

# subject, recordings of which one is drawn, what is changed
KINDS: Sequence[tuple[str, Sequence[Sequence[str]], Change]] = (
    ("mdtest's iterations", [[each] for each in VERBOSE], partial(_number, within=_TIMED, least=0.2)),
    ("mdtest's iterations", [[MAIN], [VERBOSE[3]]],
     partial(_number, within=r"^ +File \w+ +([\d.]+) ", least=0.05, up=True)),
    ("mdtest's iterations", [[each] for each in VERBOSE[:3]],
     partial(_without, lines=r".*File \w+ *: .*ops/sec")),
    ("mdtest's command line", [[each] for each in VERBOSE],
     partial(_number, within=r"-i'? '?(\d)\b", least=0.5, up=True)),
    ("mdtest's ranks", [[RANKS]], partial(_without, lines=r"[0-3],,.*")),
    ("mdtest's ranks", [[RANKS]], partial(_number, within=r"(\d\.\d{10})e[+-]0\d", least=0.002)),
    ("mdtest's ranks", [["mdtest/mdtest-main-csv.out"]],
     partial(_number, within=r"^ +File \w+ +(\d+\.\d+)", least=0.01)),
    ("mdtest's tables", [[TABLES]], partial(_number, within=r"^ +File creation +(0\.\d+)", least=0.1)),
    ("mdtest's tables", [[TABLES]],
     partial(_number, within=r"^ +File creation +(\d{4}\.\d+)", least=0.05)),
    ("mdtest's nodes", [[HOSTS]], partial(_other, old="on 2 node", new="on 1 node")),
    ("mdtest's nodes", [[HOSTS]], partial(_number, within=r"Shifting ranks by (\d+)", least=0.6, up=True)),
    ("mdtest's phases", [["mdtest/mdtest-main-C-only.out"]],
     partial(_other, old=r"^(   File (?:stat|read) +)0\.000( +)0\.000( +)0\.000",
             new=r"\g<1>900.000\g<2>900.000\g<3>900.000")),
    ("mdtest's clock", [["mdtest/mdtest-main-i1.out"], [TABLES]],
     partial(_other, old=r"(finished at \S+) 00:2\d", new=r"\g<1> 00:11")),
    ("IOR's iterations", [[each] for each in IOR],
     partial(_number, within=r"^(?:write|read) +(\d+\.\d+) .* \d *$", least=0.02)),
    ("IOR's iterations", [[each] for each in IOR],
     partial(_number, within=r"^Max \w+: +(\d+\.\d+) MiB", least=0.01)),
    ("IOR's iterations", [[each] for each in IOR], partial(_without, lines=r"(?:write|read) .* [01] *")),
    ("IOR's iterations", [[each] for each in JSON],
     partial(_number, within=r'"bw(?:Max|Min|Mean)MIB": (\d+\.\d+)', least=0.002)),
    ("IOR's ranks", [["ior/main-stonewall.out"], ["ior/main-fpp.out"]],
     partial(_without, lines=r"(?:write|read),\d,.*")),
    ("IOR's ranks", [["ior/main-stonewall.out"]],
     partial(_number, within=r"^(?:write|read),\d,(\d\.\d+)e", least=0.002)),
    ("IOR's settings", [[each] for each in IOR],
     partial(_other, old=r"^(Command line.*) -F", new=r"\g<1> -z")),
    ("IOR's settings", [[each] for each in IOR],
     partial(_number, within=r"^aggregate filesize *: (\d+(?:\.\d+)?)", least=0.05)),
    ("IOR's settings", [[JSON[0]]],
     partial(_number, within=r'"(?:transferSize|blockSize|repetitions)": (\d+)', least=0.5)),
    ("IO500's score", [IO500, IO500[:1], ["io500/valid.out"]],
     partial(_number, within=r"TOTAL (\d+\.\d+)", least=0.002)),
    ("IO500's score", [IO500[:1]],
     partial(_number, within=r"^\[RESULT\].* (\d+\.\d+) (?:GiB/s|kIOPS)", least=0.002)),
    ("IO500's score", [IO500],
     partial(_number, within=r"^score +=\s(\d+\.\d+)", least=0.002, file=RESULT)),
    ("IO500's rules", [IO500, IO500[:1]], partial(_other, old=r" \[INVALID\]", new="")),
    ("IO500's rules", [IO500, IO500[:1]], partial(_without, lines=r"\[RESULT\].*")),
    ("IO500's rules", [["io500/valid.out"]],
     partial(_other, old=r"(ior-hard-write .* time )300", new=r"\g<1>211")),
    ("IO500's work", [IO500], partial(_other, old=r"procs( +)= 2", new=r"procs\g<1>= 48", file=RESULT)),
    ("IO500's work", [IO500], partial(_other, old=r"-n 1500 ", new="-n 90000 ", file=RESULT)),
    ("IO500's work", [IO500], partial(_other, old=r"-b 32m", new="-b 8g", file=RESULT)),
    ("IO500's clock", [IO500],
     partial(_other, old=r"(\[find\]\nt_start.*) 22:48:01", new=r"\g<1> 22:46:01", file=RESULT)),
    ("IO500's clock", [IO500],
     partial(_number, within=r"^t_delta +=\s([1-9]\.\d+)", least=1.5, up=True, file=RESULT)),
    ("IO500's phases", [PHASED],
     partial(_number, within=r"^read +(\d+\.\d+) ", least=0.01, file="ior-hard-read.txt")),
    ("IO500's phases", [PHASED],
     partial(_number, within=r"^ +File stat.* (\d{3,}\.\d+) +0\.000$", least=0.01,
             file="mdtest-easy-stat.txt")),
    ("IO500's phases", [PHASED], partial(_number, within=r"rate: (\d+\.\d+)", least=0.01, file="find.csv")),
    ("elbencho's amounts", [[f"{FILES}.json"]],
     partial(_number, within=r'"last_done".{0,120}?"entries":"(\d+)"', least=0.1)),
    ("elbencho's amounts", [[f"{FILES}.json"]], partial(_number, within=r'"threads":"(\d+)"', least=0.5)),
    ("elbencho's phases", [[f"{FILES}.json"], [f"{FILES}.csv"]],
     partial(_without, lines=r".*(?:WRITE|STAT|READ|RMFILES).*")),
    ("elbencho's limits", [["elbencho/limited.json"]],
     partial(_other, old=r'"--limitread\\" \\"1m', new=r'"--limitread\\" \\"100k')),
    ("elbencho's limits", [["elbencho/rand-read-live.json"]],
     partial(_other, old=r'"elapsed_time_ms":"6', new=r'"elapsed_time_ms":"600')),
    ("elbencho's depth", [["elbencho/rand-read-live.csv"]],
     partial(_other, old=",53,375,8702,", new=",5,37,870,")),
    ("elbencho's formats", [[f"{FILES}.json", f"{FILES}.csv"]],
     partial(_number, within=r",(?:WRITE|READ),(?:\d*,){9,11}(\d{3}),", least=0.1, file="files-write-read.csv")),
    ("elbencho's table", [[f"{FILES}.out"]],
     partial(_number, within=r"99%<=(\d{2,})", least=0.5)),
    ("wekatester's sums", [["foreign/wekatester.log"]],
     partial(_number, within=r"(?:total|average) bandwidth: (\d\.\d+)", least=0.02)),
)  # fmt: skip
_known: dict[tuple[str, ...], frozenset[str]] = {}


def draw(rng: Random, at: int) -> Case | None:
    """Doctor one recording as the kind at a place says."""
    subject, recordings, change = KINDS[at]
    places = tuple(rng.choice(recordings))
    files = _read(*places)
    before = _known[places] if places in _known else _known.setdefault(places, _said(dict(files)))
    what = change(rng, files)
    if what is None:
        return None
    told = f"{Path(places[0]).stem}: {what}"
    return Case("identities", subject, told, AIMS, lambda folder: _said(files), before)


LIES = [partial(draw, at=at) for at in range(len(KINDS))]
