"""fio's JSON to doctor: kept output of several versions, or of runs that were made for it."""

from __future__ import annotations

import copy
import gzip
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tui.library.imported import records_of

DATA = Path(__file__).parents[3] / "data" / "fio"
Document = dict[str, Any]
KEPT = (
    "size/1job-json+-3.33", "size/1job-json+-master", "size/1job-json-3.33",
    "size/1job-json-master",
    "size/100psync-gr-json+-3.33", "size/100psync-gr-json-master",
    "size/192posixaio-gr-json+-master",
    "stall/lat100ms-50threads-master", "stream/basic-randread-2jobs-3.42", "stream/ramp-3.33",
    "stream/mix-master",
)  # fmt: skip
FRESH_S = 6
FRESH: dict[str, tuple[str, ...]] = {
    "reads": ("--rw=randread", "--bs=4k", "--ioengine=psync", "--direct=1", "--numjobs=2",
        "--size=16m",
              "--group_reporting"),
    "queued": ("--rw=randrw", "--bs=8k", "--ioengine=libaio", "--iodepth=4", "--direct=1",
        "--size=16m"),
    "paced": ("--rw=randwrite", "--bs=16k", "--ioengine=psync", "--direct=1", "--size=16m",
        "--rate_iops=400"),
    "large": ("--rw=read", "--bs=256k", "--ioengine=psync", "--direct=1", "--size=32m",
        "--rate=50m"),
    "two jobs": ("--rw=randread", "--bs=4k", "--direct=1", "--size=16m", "--rate_iops=300",
                 "--name=log", "--rw=write", "--bs=32k", "--direct=1", "--size=16m",
                 "--rate_iops=60"),
    "flushing": ("--rw=randwrite", "--bs=4k", "--ioengine=psync", "--size=16m", "--fsync=8",
        "--rate_iops=400"),
    "mixed group": ("--rw=randrw", "--rwmixread=70", "--bs=8k", "--ioengine=libaio", "--iodepth=4",
        "--direct=1", "--size=16m", "--numjobs=3", "--group_reporting"),
    "flushing group": ("--rw=randwrite", "--bs=4k", "--ioengine=psync", "--size=16m", "--fsync=16",
        "--numjobs=3", "--group_reporting"),
    "thinking": ("--rw=randread", "--bs=4k", "--ioengine=psync", "--direct=1", "--size=16m",
        "--thinktime=2000"),
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """One load, and its output on one or more hosts."""

    name: str
    hosts: tuple[Document, ...]

    @cached_property
    def has_histograms(self) -> bool:
        """Whether its latencies come with all buckets."""
        return any(
            "bins" in latency
            for _, _, part in parts_of(self.hosts[0])
            for _, latency in latencies_of(part)
        )


def last_object(text: str) -> Document:
    """Return the last JSON object in fio's output: the result, after its status."""
    decoder, at = json.JSONDecoder(), 0
    last: Document = {}
    while (at := text.find("{", at)) >= 0:
        last, at = decoder.raw_decode(text, at)
    return last


def kept(names: Sequence[str] = KEPT) -> list[Source]:
    """Return the output that is kept with the tests."""
    return [
        Source(
            name,
            (last_object(gzip.decompress((DATA / f"{name}.stdout.gz").read_bytes()).decode()),),
        )
        for name in names
    ]


def fresh(folder: Path, hosts: int = 3) -> Iterator[Source]:
    """Run fio on this machine for each load, as often as there are to be hosts, and yield what it
    printed.
    """
    for name, options in FRESH.items():
        command = ["fio", "--output-format=json+", "--lat_percentiles=1", "--time_based=1"]
        command += [f"--runtime={FRESH_S}", "--randrepeat=0"]
        made = [
            subprocess.Popen(
                [*command, f"--filename={folder}/{name}.{host}", f"--name={name}", *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for host in range(hosts)
        ]
        yield Source(
            f"fresh {name}", tuple(last_object(each.communicate()[0].decode()) for each in made)
        )
        for host in range(hosts):
            (folder / f"{name}.{host}").unlink(missing_ok=True)


def doctored_copy(document: Document) -> Document:
    """Return a copy that can be changed."""
    return copy.deepcopy(document)


def parts_of(document: Document) -> Iterator[tuple[Document, str, Document]]:
    """Yield job, direction and result wherever enough was done, and long enough, for figures to be
    told apart.
    """
    names = [job["jobname"] for job in document["jobs"]]
    for job in document["jobs"]:
        for name in ("read", "write"):
            part = job.get(name) or {}
            # else a part of what is reported under this name
            alone = names.count(job["jobname"]) == 1
            if (
                alone
                and part.get("total_ios", 0) >= 500
                and part["runtime"] >= 1500
                and not job["error"]
            ):
                yield job, name, part


def latencies_of(part: Document) -> Iterator[tuple[str, Document]]:
    """Yield the latencies of a direction in which something was counted."""
    for kind in ("slat_ns", "clat_ns", "lat_ns"):
        if part.get(kind, {}).get("N"):
            yield kind, part[kind]


def option(document: Document, job: Document, name: str, default: str = "") -> str:
    """Return an option of a job as fio prints it."""
    return str(job["job options"].get(name, document.get("global options", {}).get(name, default)))


def imported(folder: Path, hosts: Sequence[Document]) -> frozenset[str]:
    """Return the checks that weaken what is imported of these hosts."""
    paths = []
    for number, document in enumerate(hosts, 1):
        path = folder / f"h{number}.json"
        path.write_text(json.dumps(document))
        paths.append(path)
    return weakening(paths)


def weakening(paths: Sequence[Path]) -> frozenset[str]:
    """Return the checks that weaken what is imported of these files."""
    return frozenset(
        finding.id
        for each in records_of(paths)
        for finding in each.record.findings
        if finding.severity != "info"
    )
