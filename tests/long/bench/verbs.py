"""What verbs without hosts cost, and the first frame of the app: CPU, beside another revision when
one is given.

`BASE=REV make bench` compares with a revision of this repository, the two in turn.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).parents[3]
TIMES = 7
PATIENCE_S = 60.0
VERBS = (
    "--help",
    "--version",
    "profiles list",
    "profiles show weka/read-iops",
    "profiles check weka/all",
    "hosts list",
    "runs list",
    "baselines list",
    "schema profile",
    "schema run",
    "doctor",
    "run demo/quick --hosts local --dry-run",
)


def environment(home: Path) -> dict[str, str]:
    inherited = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    return {**inherited, "HOME": str(home), "BENCHTUI_HOME": str(home), "TERM": "xterm-256color"}


def verb_s(tree: Path, home: Path, words: Sequence[str]) -> float:
    """CPU seconds of one verb, all its processes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tui", *words],
        cwd=tree,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime


def first_frame_s(tree: Path, home: Path, _: Sequence[str]) -> float:
    """CPU seconds until the app has drawn its list of hosts on a terminal of 120x36."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tree)
        os.execvpe(sys.executable, [sys.executable, "-m", "tui"], environment(home))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    seen = b""
    while (
        b"localhost" not in seen
        and b"this machine" not in seen
        and select.select([terminal], [], [], PATIENCE_S)[0]
    ):
        seen += os.read(terminal, 65536)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compared(
    cost: Callable[[Path, Path, Sequence[str]], float], trees: Sequence[Path], words: Sequence[str]
) -> str:
    """Medians of each tree, measured in turn after one that counts nothing, and their ratio."""
    with tempfile.TemporaryDirectory() as home:
        for tree in trees:
            cost(tree, Path(home), words)
        found = [[cost(tree, Path(home), words) for tree in trees] for _ in range(TIMES)]
    medians = [statistics.median(column) for column in zip(*found, strict=True)]
    row = "".join(f"{median:>9.3f} s" for median in medians)
    return row if len(medians) == 1 else f"{row}{medians[0] / medians[1]:>8.2f}"


def tree_of(revision: str, folder: Path) -> Path:
    """Unpack a revision of this repository."""
    archive = subprocess.run(
        ["git", "archive", revision, "tui", "profiles"], cwd=HERE, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return folder


def main() -> int:
    """Print a row for each verb."""
    base = os.environ.get("BASE", "")
    with tempfile.TemporaryDirectory() as folder:
        trees = [HERE, *([tree_of(base, Path(folder))] if base else [])]
        print(f"CPU of verbs, medians of {TIMES}" + (f": here, {base}, ratio" if base else ""))
        print(f"  {'first frame of the app':<42}{compared(first_frame_s, trees, ())}")
        for verb in VERBS:
            print(f"  {verb:<42}{compared(verb_s, trees, verb.split())}", flush=True)
    return 0
