"""What is asked of a run of 64 hosts for an hour: seconds, memory, bytes of files. The run is made,
not measured.

The journal holds a sample a host and second with some 60 filled buckets; series and telemetry are
as a run keeps them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e.command import command, environment
from tui.metrics.buckets import label, value_to_index
from tui.metrics.histogram import PERCENTILES, Histogram
from tui.model.event import HostClock, RunStarted, encode
from tui.model.record import RunRecord

HOSTS, SECONDS = 64, 3600
START_S = 10.0
STALL = range(1800, 1806)
SLOW = 17  # the host that is behind the others
COLUMNS = ("cpu.busy", "cpu.iowait", "core.busy", "gen.cpu", "gen.thread", "nic.eth0.rx",
    "nic.eth0.tx",
           "dev.nvme0n1.rd", "dev.nvme0n1.wr", "dev.nvme0n1.busy")  # fmt: skip
LARGEST = 2 << 20
WORSE = 1


def shapes(chance: random.Random) -> list[dict[int, int]]:
    """Return histograms of a second's 1500 I/Os, to be drawn from."""
    found = []
    for _ in range(40):
        counts: dict[int, int] = {}
        for _ in range(1500):
            mean = 12.3 if chance.random() < 0.97 else 14.8
            index = value_to_index(int(2.718281828 ** chance.gauss(mean, 0.25)))
            counts[index] = counts.get(index, 0) + 1
        found.append(dict(sorted(counts.items())))
    return found


def write_journal(
    path: Path, names: list[str], found: list[dict[int, int]], chance: random.Random
) -> dict[str, Histogram]:
    """Write the journal and return each host's histogram."""
    whole = {name: Histogram() for name in names}
    parts = [json.dumps({"idx": list(counts), "n": list(counts.values())}) for counts in found]
    with path.open("wb") as file:
        utc = "2026-11-22T01:33:06.311Z"
        file.write(
            encode(
                RunStarted(
                    t=0.0,
                    run_id="bench",
                    utc=utc,
                    benchtui_version="0",
                    profile="demo/quick",
                    hosts=names,
                )
            )
        )
        for name in names:
            file.write(
                encode(
                    HostClock(
                        t=0.0,
                        host=name,
                        offset_s=0.0,
                        uncertainty_s=0.001,
                        rtt_s=0.002,
                        run_zero_ms=0.0,
                    )
                )
            )
        for second in range(SECONDS):
            for place, name in enumerate(names):
                shape = chance.randrange(len(parts))
                counts = sum(found[shape].values())
                t = START_S + second + 1
                line = (
                    f'{{"type":"sample","t":{t + 0.02},"host":"{name}","step":0,"phase":"measure",'
                    f'"host_time_ms":{round(t * 1000)},"interval_s":1.0,"dirs":{{"read":{{"ios":{counts},'
                    f'"bytes":{counts * 4096},"lat_sum_ns":{counts * 250000},"lat_max_ns":9000000,'
                    f'"lat":{parts[shape]}}}}}}}\n'
                )
                file.write(line.encode())
                # a sixtieth of them stands for all: this is about size
                if second % 60 == place % 60:
                    whole[name].merge(
                        Histogram({index: n * 60 for index, n in found[shape].items()})
                    )
    return whole


def latency(histogram: Histogram) -> dict[str, Any]:
    counts = dict(histogram.items())
    total = sum(counts.values())
    return {
        "n": total, "min_ns": 90000, "max_ns": 9000000, "mean_ns": 250000.0, "stddev_ns": 300000.0,
        "percentiles_ns": {label(p): histogram.percentiles((p,))[label(p)] for p in PERCENTILES},
        "histogram": {"idx": sorted(counts), "n": [counts[index] for index in sorted(counts)]},
    }  # fmt: skip


def record_of(
    names: list[str], whole: dict[str, Histogram], chance: random.Random
) -> dict[str, Any]:
    """Return the record of the run, made of the smallest one of the tests."""
    record: dict[str, Any] = json.loads(
        (Path(__file__).parents[2] / "data" / "runs" / "plain" / "run.json").read_text()
    )
    host, step = record["hosts"][0], record["steps"][0]
    job = record["profile"]["job_files"][0]["text"]
    record["hosts"] = [{**host, "name": name, "files_removed": []} for name in names]
    record["profile"]["job_files"] = [
        {"step": 0, "host": n, "text": f"{job}randseed={i}\n"} for i, n in enumerate(names)
    ]
    record["provenance"]["tool_versions"] = dict.fromkeys(names, "fio-3.36")
    record["duration_s"] = START_S + SECONDS + 8
    record["headline"].update(direction="read", value=1500.0 * HOSTS)
    merged = Histogram()
    for each in whole.values():
        merged.merge(each)
    step.update(
        measured_s=float(SECONDS),
        runtime_s=float(SECONDS),
        timing=None,
        tasks={},
        phases=[],
        headline=1500.0 * HOSTS,
    )
    per_host = {
        n: {"read": direction(whole[n], 1, 0.7 if i == SLOW else 1.0)} for i, n in enumerate(names)
    }
    aggregate = {**direction(merged, HOSTS, 1.0), "hosts": names}
    step["results"] = {"aggregate": {"read": aggregate}, "per_host": per_host}
    rates = {name: series(chance, i == SLOW) for i, name in enumerate(names)}
    total = [round(sum(row), 1) for row in zip(*rates.values(), strict=True)]
    columns = [column(None, total), *(column(name, rates[name]) for name in names)]
    step["series"] = {"step_s": 1.0, "start_s": START_S, "columns": columns}
    step["telemetry"] = [telemetry(name, chance) for name in names]
    return record


def direction(histogram: Histogram, hosts: int, share: float) -> dict[str, Any]:
    rate = 1500.0 * hosts * share
    ios = int(rate * SECONDS)
    return {"ios": ios, "bytes": ios * 4096, "runtime_s": SECONDS, "iops": rate,
        "bw_bytes_per_s": rate * 4096,
            "clat": latency(histogram)}  # fmt: skip


def series(chance: random.Random, slow: bool) -> list[float]:
    level = 1050.0 if slow else 1500.0
    return [
        round(level * (0.02 if second in STALL else chance.uniform(0.95, 1.05)), 1)
        for second in range(SECONDS)
    ]


def column(host: str | None, rates: list[float]) -> dict[str, Any]:
    return {"host": host, "direction": "read", "iops": rates,
        "bw_bytes_per_s": [rate * 4096 for rate in rates],
            "lat_mean_ns": [250000.0] * SECONDS, "p99_ns": [2500000] * SECONDS}  # fmt: skip


def telemetry(host: str, chance: random.Random) -> dict[str, Any]:
    def values(name: str) -> list[float]:
        top = 1e9 if name.startswith(("nic", "dev")) and not name.endswith("busy") else 60.0
        return [round(top * chance.uniform(0.8, 1.0), 1) for _ in range(SECONDS)]

    def told(name: str) -> dict[str, Any]:
        unit = (
            "percent"
            if name.endswith(("busy", "iowait"))
            else "core_percent"
            if name.startswith("gen")
            else "bytes_per_s"
        )
        found = values(name)
        return {
            "name": name,
            "unit": unit,
            "mean": sum(found) / SECONDS,
            "max": max(found),
            "values": found,
        }

    return {
        "host": host,
        "start_s": START_S,
        "end_s": START_S + SECONDS,
        "t_s": [START_S + second + 1 for second in range(SECONDS)],
        "interval_s": [1.0] * SECONDS,
        "devices": {"nvme0n1": "top"},
        "columns": [told(name) for name in COLUMNS],
    }


def make_run(run_dir: Path) -> None:
    """Make the run's directory."""
    chance = random.Random(10)
    names = [f"client{number:02}" for number in range(1, HOSTS + 1)]
    run_dir.mkdir(parents=True)
    whole = write_journal(run_dir / "journal.jsonl", names, shapes(chance), chance)
    record = RunRecord.model_validate(record_of(names, whole, chance))
    (run_dir / "run.json").write_text(record.to_json())


def cost(words: Sequence[str | Path], root: Path) -> tuple[float, float, int]:
    """Run a command; return its seconds, its seconds of CPU, and its memory at most in MiB."""
    began = time.monotonic()
    with subprocess.Popen(
        command(*words), env=environment(root), stdout=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, WORSE):
        raise SystemExit(f"{' '.join(map(str, words))} ended with {process.returncode}")
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files of a directory; 0 when there is none."""
    return (
        path.stat().st_size
        if path.is_file()
        else sum(each.stat().st_size for each in path.rglob("*.*"))
    )


def main() -> int:
    """Print the figures; the exit code is 1 when the HTML is larger than 2 MiB."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        run, other = root / "runs" / "bench", root / "runs" / "other"
        make_run(run)
        shutil.copytree(run, other, copy_function=os.link)
        print(
            f"{HOSTS} hosts x {SECONDS} s: "
            + ", ".join(
                f"{path.name} {path.stat().st_size >> 20} MiB" for path in sorted(run.iterdir())
            )
        )
        rows: list[tuple[str, list[str | Path], str]] = [
            ("runs show", ["runs", "show", run], ""),
            ("compare", ["compare", run, other], ""),
            ("report, HTML", ["report", run, "-o", root / "r.html"], "r.html"),
            ("report, Markdown", ["report", run, "-o", root / "r.md"], "r.md"),
            (
                "report --redact",
                ["report", run, "--redact", "-o", root / "redacted.html"],
                "redacted.html",
            ),
            ("export csv", ["export", run, "csv", "-o", root / "csv"], "csv"),
        ]
        for name, words, made in rows:
            seconds, cpu, memory = cost(words, root)
            size = f"{size_of(root / made) / 1000:10.0f} kB" if made else ""
            print(f"  {name:<18}{seconds:6.1f} s, {cpu:6.1f} s of CPU, {memory:5} MiB{size}")
        return int(size_of(root / "r.html") > LARGEST)
