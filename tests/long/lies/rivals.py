"""Doctored output given to another program that reads fio's JSON: fio-plot, from its package."""

from __future__ import annotations

import json
import subprocess
from importlib.metadata import PathDistribution
from pathlib import Path
from random import Random
from typing import Any

from tests.long.bench.peers import program
from tests.long.lies.doctored.case import judged
from tests.long.lies.doctored.change import Lied
from tests.long.lies.doctored.documents import (
    FRESH_S,
    Document,
    Source,
    doctored_copy,
    imported,
    last_object,
)
from tests.long.lies.doctored.drawn import ATTEMPTS
from tests.long.lies.doctored.fio_json import LIES, case_of

Row = dict[str, Any]
LOAD = ("--name=reads", "--rw=randread", "--bs=4k", "--ioengine=psync", "--direct=1", "--iodepth=1",
    "--numjobs=2",
        "--size=16m", "--group_reporting=1", "--time_based=1", f"--runtime={FRESH_S}",
        "--randrepeat=0",
        "--lat_percentiles=1", "--output-format=json+")  # fmt: skip
PATIENCE_S = 60


def side_by_side(folder: Path, seed: int) -> list[Row]:
    """Return what fio-plot and benchtui say of one doctored result of each kind.

    Nothing where it cannot be had.
    """
    found = program("fio-plot", "fio-plot")
    if found is None:
        return []
    name = f"fio-plot {_version(found)}"
    command = ["fio", *LOAD, f"--filename={folder}/reads.0"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (folder / "reads.0").unlink(missing_ok=True)
    source = Source("reads", (last_object(printed),))
    before, rng = imported(folder, source.hosts), Random(seed)
    rows: list[Row] = [
        {
            "changed": "nothing",
            name: _plotted(found, folder, source.hosts[0]),
            "benchtui": ", ".join(f"`{check}`" for check in sorted(before)) or "nothing",
        }
    ]
    for lie in LIES:
        made = next(
            (each for _ in range(ATTEMPTS) if (each := _lied(rng, source, lie)) is not None), None
        )
        if made is None:
            continue
        document, lied = made
        said = judged(case_of(lie, source, lied, [document], before), folder).said
        text = ", ".join(f"`{check}`" for check in sorted(said)) or "nothing"
        rows.append(
            {"changed": lied.what, name: _plotted(found, folder, document), "benchtui": text}
        )
    return rows


def _lied(rng: Random, source: Source, name: str) -> tuple[Document, Lied] | None:
    document = doctored_copy(source.hosts[0])
    lied = LIES[name][1](rng, document, source)
    return (document, lied) if lied is not None and lied.aims else None


def _plotted(path: Path, folder: Path, document: Document) -> str:
    """Return how fio-plot took a result."""
    place = folder / "plot"
    place.mkdir(exist_ok=True)
    (place / "randread-1-2.json").write_text(json.dumps(document))
    picture = place / "out.png"
    picture.unlink(missing_ok=True)
    command = [
        str(path),
        "-i",
        str(place),
        "-T",
        "reads",
        "-r",
        "randread",
        "-d",
        "1",
        "-n",
        "2",
        "-l",
        "-o",
        str(picture),
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:  # on a machine that is busy
        return "not told: it did not end in time"
    said = [
        line
        for line in (done.stdout + done.stderr).split("\n")
        if line.strip() and "Saving to file" not in line
    ]
    drawn = "draws it" if picture.exists() else "draws nothing"
    return f"exit {done.returncode}, {drawn}" + (f": {said[-1].strip()[:60]}" if said else "")


def _version(path: Path) -> str:
    found = next(path.parents[1].glob("lib/python*/site-packages/fio_plot-*.dist-info"), None)
    return PathDistribution(found).version if found is not None else ""
