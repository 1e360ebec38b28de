"""`fio --server` and `--client` as launchers of a cluster: what they add up, keep in flight, open
and leave behind.

All of it happens in a network namespace of its own, so that the open port is open to nobody: as
root, or where user namespaces are allowed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.long.bench.kept import ROOT, Row, told

HOSTS, FIRST_PORT, RATE, SLOW = 4, 8765, 500, 0.2
SECONDS, PATIENCE_S = 4, 30.0
INSIDE = "BENCH_FIO_SERVER_INSIDE"
ENTER = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]
JOB = "[global]\nioengine={engine}\niodepth={depth}\nrw=randread\nbs=4k\nsize=8m\nruntime={seconds}\ntime_based\n{more}"


def main() -> int:
    """Measure in a namespace of our own, and print a row for each finding."""
    if not os.environ.get(INSIDE):
        command = [*ENTER, sys.executable, "-m", "tests.long.bench", "fio_server"]
        return subprocess.run(
            command, env={**os.environ, INSIDE: "1"}, cwd=ROOT, check=False
        ).returncode
    version = subprocess.run(
        ["fio", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row for look in (aggregate, depth, port, killed_client) for row in look(Path(folder))
        ]
    return told("fio_server", rows, f"{version}, {HOSTS} servers on loopback, {RATE} IOPS each.")


def job(
    folder: Path, more: str, engine: str = "psync", depth: int = 1, seconds: int = SECONDS
) -> Path:
    """Write a job; `more` are options of it."""
    path = folder / "job.fio"
    path.write_text(
        JOB.format(engine=engine, depth=depth, seconds=seconds, more="") + f"[job]\n{more}\n"
    )
    return path


@contextmanager
def servers(folder: Path, count: int = HOSTS) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start servers as such tools do, on all addresses, each with a directory of its own."""
    started = []
    for number in range(count):
        place = folder / f"host{number + 1}"
        place.mkdir(exist_ok=True)
        command = ["fio", f"--server=0.0.0.0,{FIRST_PORT + number}"]
        quiet = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        started.append(subprocess.Popen(command, cwd=place, start_new_session=True, **quiet))  # type: ignore[call-overload]
    try:
        wait_until(lambda: all(FIRST_PORT + number in listening() for number in range(count)))
        yield started
    finally:
        for each in started:
            os.killpg(each.pid, signal.SIGKILL)
            each.wait()


def client(jobs: Sequence[Path]) -> list[str]:
    """Return the command of a client, a server a job."""
    words = ["fio", "--output-format=json+"]
    for number, path in enumerate(jobs):
        words += [f"--client=127.0.0.1,{FIRST_PORT + number}", str(path)]
    return words


def results(words: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Return what the client printed of each server, and of all."""
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    stats: list[dict[str, Any]] = json.loads(done.stdout[done.stdout.index("\n{") :])[
        "client_stats"
    ]
    return stats


def aggregate(folder: Path) -> Iterator[Row]:
    """Yield what the row of all servers has, and what a program prints that looks for it in the
    wrong place.
    """
    paths = []
    for number in range(HOSTS):
        place = folder / f"job{number}"
        place.mkdir()
        paths.append(job(place, f"rate_iops={round(RATE * (SLOW if number == 0 else 1))}"))
    with servers(folder):
        stats = results(client(paths), folder)
    hosts = [each["read"]["iops"] for each in stats if each["jobname"] != "All clients"]
    every = next((each for each in stats if each["jobname"] == "All clients"), None)
    wrong = next((each for each in reversed(stats) if each["hostname"] == "All clients"), stats[0])
    yield {"question": "sum of all hosts (one is slow)", "found": f"{sum(hosts):.0f} IOPS"}
    yield {
        "question": "'All clients' looked for under hostname (ElMaestro)",
        "found": f"{wrong['read']['iops']:.0f} IOPS",
    }
    percentiles = every is not None and bool(every["read"]["clat_ns"].get("percentile"))
    yield {
        "question": "percentiles of all hosts in fio's own row",
        "found": "yes" if percentiles else "none",
    }
    name = (
        "All clients"
        if any(each["hostname"] == "All clients" for each in stats)
        else "empty or a host"
    )
    yield {"question": "hostname of that row", "found": name}


def depth(folder: Path) -> Iterator[Row]:
    """Yield how many I/Os psync keeps in flight of those that were asked for."""
    path = job(folder, f"rate_iops={RATE}", depth=16, seconds=2)
    done = subprocess.run(
        ["fio", "--output-format=json", path],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    document = json.loads(done.stdout[done.stdout.index("{") :])
    levels = {name: share for name, share in document["jobs"][0]["iodepth_level"].items() if share}
    asked = document["global options"]["iodepth"]
    yield {
        "question": f"psync, iodepth={asked}: I/Os in flight",
        "found": ", ".join(f"{n}: {s:g} %" for n, s in levels.items()),
    }


def port(folder: Path) -> Iterator[Row]:
    """Yield who may connect to a server, and what a stranger's job does there."""
    mark = folder / "mark"
    path = job(folder, f"exec_prerun=touch {mark}", seconds=1)
    with servers(folder, 1):
        yield {"question": "address a server listens on", "found": listening()[FIRST_PORT]}
        results([*client([path])], folder)
    found = f"ran as {mark.owner()}" if mark.exists() else "was not run"
    yield {"question": "exec_prerun of a job from a stranger, no password", "found": found}


def killed_client(folder: Path) -> Iterator[Row]:
    """Yield what is left when a client is killed, and when it only stops."""
    for sent in (signal.SIGKILL, signal.SIGSTOP):
        path = job(folder, f"rate_iops={RATE}", seconds=60)
        with servers(folder):
            running = subprocess.Popen(
                client([path] * HOSTS),
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            wait_until(lambda: len(loads()) >= HOSTS)
            running.send_signal(sent)
            time.sleep(8)  # longer than a lease of ours could be short
            left, listens = len(loads()), len(listening())
            running.kill()
            running.wait()
        files = [each for place in folder.glob("host*") for each in place.iterdir()]
        yield {
            "question": f"8 s after the client's {sent.name}",
            "found": f"{left} loads, {listens} open ports, {len(files)} files",
        }


def loads() -> list[int]:
    """Return the processes of fio that read or write: children of servers' children."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            above = (Path("/proc") / str(parent) / "cmdline").read_bytes()
        except (OSError, ValueError, IndexError):
            continue
        if b"fio\0--server=0.0.0.0" in command and b"fio\0--server=0.0.0.0" in above:
            found.append(int(entry.name))
    return found


def listening() -> dict[int, str]:
    """Return the ports of this namespace that wait for connections, with their addresses."""
    found = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        local, state = line.split()[1], line.split()[3]
        if state == "0A":
            address = ".".join(
                str(part) for part in reversed(bytes.fromhex(local.partition(":")[0]))
            )
            found[int(local.partition(":")[2], 16)] = address
    return found


def wait_until(true: Any) -> None:
    """Wait for a condition. Raises TimeoutError."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
