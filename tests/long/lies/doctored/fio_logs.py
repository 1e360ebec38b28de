"""Lies in fio's logs beside the JSON of the same run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.long.lies.doctored.case import Case, factor
from tests.long.lies.doctored.documents import DATA, weakening

Files = dict[str, list[list[int]]]
OWN = ("own-figures", "series-mismatch")
RATES, LATENCIES = ("bw", "iops"), ("lat", "clat", "slat")
SETS = ("avg", "each")
LEAST = 0.15  # more than the rows of an interval differ by


def _files(folder: str) -> Files:
    return {
        path.name: [
            [int(word) for word in line.split(",") if word.strip()]
            for line in path.read_text().splitlines()
        ]
        for path in sorted((DATA / "logs" / folder).glob("*.log"))
    }


def _of(files: Files, kinds: tuple[str, ...]) -> list[str]:
    return [name for name in files if any(f"_{kind}." in name for kind in kinds)]


def scaled_rates(rng: Random, files: Files) -> str:
    """Rates, or what the rows of single I/Os say of them."""
    by = factor(rng, LEAST, 4)
    for name in _of(files, ("bw",)):
        files[name] = [[row[0], round(row[1] * by), *row[2:]] for row in files[name]]
    return f"bandwidth x {by:.3g}"


def scaled_latencies(rng: Random, files: Files) -> str:
    """Latencies of all rows."""
    by = factor(rng, 0.8, 9)
    for name in _of(files, ("lat", "clat")):
        files[name] = [[row[0], round(row[1] * by), *row[2:]] for row in files[name]]
    return f"latencies x {by:.3g}"


def cut(rng: Random, files: Files) -> str:
    """The end of all logs."""
    share = rng.uniform(0.2, 0.8)
    for name, rows in files.items():
        files[name] = rows[: max(2, round(len(rows) * share))]
    return f"{share:.0%} of all rows"


def slow_ones_left_out(rng: Random, files: Files) -> str:
    """The slowest rows of latencies."""
    share = rng.uniform(0.03, 0.4)
    for name in _of(files, ("lat", "clat")):
        rows = files[name]
        gone = sorted(rows, key=lambda row: -row[1])[: max(1, round(len(rows) * share))]
        files[name] = [row for row in rows if row not in gone]
    for name in _of(files, RATES):
        files[name] = files[name][: -max(2, round(len(files[name]) * share))]
    return f"the slowest {share:.0%} left out"


def copied(_: Random, files: Files) -> str:
    """One worker's logs in the place of another's."""
    for name in list(files):
        if ".2." in name:
            files[name] = files[name.replace(".2.", ".1.")]
    return "logs of worker 1 as those of worker 2"


LIES: dict[str, Callable[[Random, Files], str]] = {
    "rates": scaled_rates,
    "latencies": scaled_latencies,
    "an end": cut,
    "slow I/Os": slow_ones_left_out,
    "another worker": copied,
}


def _said(folder: str, files: Files) -> Callable[[Path], frozenset[str]]:
    def judge(place: Path) -> frozenset[str]:
        own = place / "logs"
        own.mkdir(exist_ok=True)
        for path in own.iterdir():
            path.unlink()
        for name, rows in files.items():
            (own / name).write_text("".join(f"{', '.join(map(str, row))}\n" for row in rows))
        (own / "run.json").write_text((DATA / "logs" / folder / "run.json").read_text())
        return weakening([own])

    return judge


def fio_logs(rng: Random) -> Case | None:
    """One kind of log, or all, of a run that is kept."""
    folder, name = rng.choice(SETS), rng.choice(list(LIES))
    files = _files(folder)
    what = LIES[name](rng, files)
    return Case(
        "identities",
        "fio's logs",
        f"logs {folder}: {what}",
        OWN,
        _said(folder, files),
        frozenset({"runtime", "slat"}),
    )


def histogram_logs(rng: Random) -> Case:
    """Histogram logs without their slowest I/Os, or with more of all."""
    files = _files("hist")
    share, by = rng.uniform(0.02, 0.3), rng.randint(2, 5)
    without = rng.random() < 0.5
    for name, rows in files.items():
        end = _end_of(rows, 1 - share)
        files[name] = [
            [*row[:3], *row[3 : 3 + end], *[0] * (len(row) - 3 - end)]
            if without
            else [*row[:3], *(by * count for count in row[3:])]
            for row in rows
        ]
    what = f"the slowest {share:.0%} left out" if without else f"counts x {by}"
    return Case("identities", "fio's histogram logs", f"logs hist: {what}", OWN,
                _said("hist", files), frozenset({"runtime", "slat"}))  # fmt: skip


def _end_of(rows: list[list[int]], share: float) -> int:
    """Return up to which bucket histograms have this share of the I/Os."""
    summed, below = [sum(each) for each in zip(*(row[3:] for row in rows), strict=True)], 0
    for at, count in enumerate(summed):
        below += count
        if below > share * sum(summed):
            return at
    return len(summed)
