"""Start and end skew over many hosts: ours beside `fio --client`, alternating in one run on the
same machine.

A host starts and ends with the first and the last completed I/O of fio's own latency log
(log_unix_epoch=1), for both alike. SKEW_HOSTS=16 chooses how many hosts, TIMES=5 how many runs.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.command import benchtui
from tests.lab.sshd import SshdLab, free_port
from tests.long.bench.kept import Row, told
from tests.long.bench.logging_fio import logging_fio

SIZES = tuple(int(word) for word in os.environ.get("SKEW_HOSTS", "16").split(","))
TIMES = int(os.environ.get("TIMES", "5"))
PROFILE = """profile: bench/skew
title: Start skew
tool: fio
params:
  directory: {default: /tmp, kind: directory}
fio:
  global: {ioengine: psync, direct: 0, time_based: 1, runtime: 3, size: 1M, rate_iops: 500}
  jobs:
    skew:
      rw: randread
      bs: 4k
      directory: "{directory}/{host}"
      write_lat_log: "{host}"
      log_unix_epoch: 1
  extra_options: [write_lat_log, log_unix_epoch]
prepare: {layout: true}
headline: {metric: iops, direction: read}
"""
JOB = """[skew]
ioengine=psync
time_based=1
runtime=3
size=1M
rate_iops=500
rw=randread
bs=4k
filename={file}
write_lat_log={log}
log_unix_epoch=1
"""


# ms between the first and the last host: of their first I/Os, of their last ones
Skews = tuple[int, int]


def skews_ms(logs: Path, hosts: int) -> Skews:
    """Return the skews of one run. Raises RuntimeError when a host left no log."""
    stamps = [
        [int(line.split(",", 1)[0]) for line in path.open()] for path in logs.glob("*_lat.*log*")
    ]
    if len(stamps) != hosts:
        raise RuntimeError(f"{len(stamps)} of {hosts} hosts left a log in {logs}")
    begun, ended = [each[0] for each in stamps], [each[-1] for each in stamps]
    return max(begun) - min(begun), max(ended) - min(ended)


def ours(lab: SshdLab, root: Path) -> Skews:
    """One run of ours; returns its skews."""
    for log in (root / "logs").iterdir():
        log.unlink()
    profile = root / "skew.yaml"
    profile.write_text(PROFILE)
    hosts = ["--hosts", f"h[1-{len(lab.hosts)}]", "--ssh-config", str(lab.ssh_config)]
    settings = ["--set", f"directory={root}"]
    done = benchtui(root / "home", "run", str(profile), *hosts, *settings)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return skews_ms(root / "logs", len(lab.hosts))


@contextlib.contextmanager
def fio_servers(count: int, root: Path) -> Iterator[list[int]]:
    """`count` fio servers on loopback; ended by pid."""
    ports = [free_port() for _ in range(count)]
    servers = []
    for port in ports:
        command = ["fio", f"--server=127.0.0.1,{port}"]
        servers.append(
            subprocess.Popen(
                command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )
    try:
        for port in ports:
            await_port(port)
        yield ports
    finally:
        for server in servers:
            server.terminate()
            server.wait(10)


def await_port(port: int, address: str = "127.0.0.1") -> None:
    little_endian = "".join(f"{int(part):02X}" for part in reversed(address.split(".")))
    wanted = f"{little_endian}:{port:04X} 00000000:0000 0A"
    deadline = time.monotonic() + 10
    while wanted not in Path("/proc/net/tcp").read_text():
        if time.monotonic() > deadline:
            raise RuntimeError(f"no fio server at port {port}")
        time.sleep(0.02)


def theirs(ports: list[int], root: Path, trial: int) -> Skews:
    """One run of fio --client on as many servers; returns its skews."""
    logs = root / f"client-{trial}"
    logs.mkdir()
    command = ["fio", "--output-format=json", f"--output={logs / 'out.json'}"]
    for number, port in enumerate(ports, 1):
        job = logs / f"{number}.fio"
        job.write_text(JOB.format(file=root / f"h{number}" / "skew.0.0", log=logs / f"h{number}"))
        command += [f"--client=127.0.0.1,{port}", str(job)]
    subprocess.run(command, cwd=logs, check=True, capture_output=True, timeout=120)
    return skews_ms(logs, len(ports))


def row_of(hosts: int, program: str, found: list[Skews]) -> Row:
    """Return the median and the extremes of one program."""
    row: Row = {"hosts": hosts, "program": program}
    for name, values in zip(("start", "end"), zip(*found, strict=True), strict=True):
        row[f"{name} skew median, ms"] = float(statistics.median(values))
        row[f"{name} skew min and max, ms"] = f"{min(values)} to {max(values)}"
    return row


def rows_of(hosts: int) -> list[Row]:
    """Measure both over so many hosts, alternating."""
    with (
        tempfile.TemporaryDirectory() as folder,
        SshdLab(
            Path(folder) / "lab",
            hosts,
            extra_config=logging_fio(Path(folder), Path(folder) / "logs"),
        ) as lab,
    ):
        root = Path(folder)
        (root / "home").mkdir()
        mine: list[Skews] = []
        client: list[Skews] = []
        with fio_servers(hosts, root) as ports:
            for trial in range(TIMES):
                mine.append(ours(lab, root))
                client.append(theirs(ports, root, trial))
    return [row_of(hosts, "benchtui", mine), row_of(hosts, "fio --client", client)]


def main() -> int:
    """Print both; the exit code is 1 when ours starts with more skew in the median."""
    os.environ.setdefault("BENCHTUI_LOCKS", tempfile.mkdtemp())
    rows = [row for hosts in SIZES for row in rows_of(hosts)]
    told("start_skew", rows, f"{TIMES} runs each, alternating, of 3 s with 500 IOPS a host.")
    starts = [row["start skew median, ms"] for row in rows]
    return int(any(mine > client for mine, client in zip(starts[::2], starts[1::2], strict=True)))
