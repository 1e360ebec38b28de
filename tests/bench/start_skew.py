"""Start skew over many hosts: ours beside `fio --client`, alternating in one run on the same machine.

A host's start is the time of its first completed I/O in fio's own latency log (log_unix_epoch=1), for both alike.
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

PROFILE = """profile: bench/skew
title: Start skew
tool: fio
params:
  directory: {default: /tmp, kind: directory}
  logs:      {default: /tmp, kind: directory}
fio:
  global: {ioengine: psync, direct: 0, time_based: 1, runtime: 3, size: 1M, rate_iops: 500}
  jobs:
    skew:
      rw: randread
      bs: 4k
      directory: "{directory}/{host}"
      write_lat_log: "{logs}/{host}"
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


def first_io_ms(logs: Path) -> list[int]:
    """The first stamp of every host's latency log."""
    return [int(path.read_text().split(",", 1)[0]) for path in sorted(logs.glob("*_lat.*log*"))]


def skew_ms(logs: Path, hosts: int) -> int:
    stamps = first_io_ms(logs)
    if len(stamps) != hosts:
        raise RuntimeError(f"{len(stamps)} of {hosts} hosts left a log in {logs}")
    return max(stamps) - min(stamps)


def ours(lab: SshdLab, root: Path, trial: int) -> int:
    """One run of ours; returns its start skew in ms."""
    logs = root / f"ours-{trial}"
    logs.mkdir()
    profile = root / "skew.yaml"
    profile.write_text(PROFILE)
    hosts = ["--hosts", f"h[1-{len(lab.hosts)}]", "--ssh-config", str(lab.ssh_config)]
    settings = ["--set", f"directory={root}", "--set", f"logs={logs}"]
    done = benchtui(root / "home", "run", str(profile), *hosts, *settings)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return skew_ms(logs, len(lab.hosts))


@contextlib.contextmanager
def fio_servers(count: int, root: Path) -> Iterator[list[int]]:
    """`count` fio servers on loopback; ended by pid."""
    ports = [free_port() for _ in range(count)]
    servers = []
    for port in ports:
        command = ["fio", f"--server=127.0.0.1,{port}"]
        servers.append(subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
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


def theirs(ports: list[int], root: Path, trial: int) -> int:
    """One run of fio --client on as many servers; returns its start skew in ms."""
    logs = root / f"client-{trial}"
    logs.mkdir()
    command = ["fio", "--output-format=json", f"--output={logs / 'out.json'}"]
    for number, port in enumerate(ports, 1):
        job = logs / f"{number}.fio"
        job.write_text(JOB.format(file=root / f"h{number}" / "skew.0.0", log=logs / f"h{number}"))
        command += [f"--client=127.0.0.1,{port}", str(job)]
    subprocess.run(command, cwd=logs, check=True, capture_output=True, timeout=120)
    return skew_ms(logs, len(ports))


def line(name: str, values: list[int]) -> str:
    return f"  {name:<14} median {statistics.median(values):6.0f} ms   of {sorted(values)}"


def main(hosts: int = 16, trials: int = 5) -> int:
    """Print both, alternating; the exit code is 1 when ours is the larger one in the median."""
    os.environ.setdefault("BENCHTUI_LOCKS", tempfile.mkdtemp())
    with tempfile.TemporaryDirectory() as folder, SshdLab(Path(folder) / "lab", hosts=hosts) as lab:
        root = Path(folder)
        (root / "home").mkdir()
        mine: list[int] = []
        client: list[int] = []
        with fio_servers(hosts, root) as ports:
            for trial in range(trials):
                mine.append(ours(lab, root, trial))
                client.append(theirs(ports, root, trial))
    print(f"start skew over {hosts} loopback hosts, {trials} runs each, alternating")
    print(line("benchtui", mine))
    print(line("fio --client", client))
    ratio = statistics.median(mine) / max(1.0, statistics.median(client))
    print(f"  ratio of the medians {ratio:.2f}")
    return 0 if ratio <= 1 else 1
