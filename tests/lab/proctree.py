"""A made-up /proc and /sys: what the host shows at each second, brought on by a `sleep` that takes
no time.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.patience import PATIENCE_S
from tui.remote.scripts import functions
from tui.remote.telemetry import TelemetryLine, TelemetryLines, telemetry_command, telemetry_files

SLEEP = """#!/bin/sh
n=$(cat "$TREE/at"); n=$((n + 1)); echo $n >"$TREE/at"
[ ! -d "$TREE/then/$n" ] || cp -R "$TREE/then/$n/." "$TREE/root/"
[ ! -f "$TREE/then/$n.gone" ] || (cd "$TREE/root" && while read -r f; do rm -rf "$f"; done) <"$TREE/then/$n.gone"
"""

Files = Mapping[str, str | None]  # by path below the root; None: it is gone


def process(
    pid: int,
    *,
    ticks: int = 0,
    start: int = 77,
    threads: int = 1,
    name: str = "fio",
    parent: int = 1,
    waited_for: int = 0,
) -> str:
    """/proc/PID/stat of a process that has used so many hundredths of a second.

    `waited_for` children have ended, each after 100 page faults.
    """
    before = (
        f"{pid} ({name}) S {parent} 1 1 0 -1 4194304 100 {100 * waited_for} 0 0 {ticks}"
        f" 0 0 0 20 0 {threads} 0 {start}"
    )
    return (
        before
        + " 1000000 100 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0"
        " 0 0\n"
    )


def schedstat(*, waited_ms: int = 0) -> str:
    """/proc/PID/schedstat of a thread that waited for a CPU for so long."""
    return f"123456789 {waited_ms * 1_000_000} 42\n"


def io(**given: int) -> str:
    """/proc/PID/io."""
    names = (
        "rchar",
        "wchar",
        "syscr",
        "syscw",
        "read_bytes",
        "write_bytes",
        "cancelled_write_bytes",
    )
    return "".join(f"{name}: {given.get(name, 0)}\n" for name in names)


class ProcTree:
    """A host at consecutive seconds: `ticks` are what changes, by path below the root."""

    def __init__(
        self, folder: Path, ticks: Sequence[Files], loads: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.task = folder / "tasks" / "0.telemetry"
        self.task.mkdir(parents=True)
        tools = folder / "tools"
        tools.mkdir()
        (tools / "sleep").write_text(SLEEP)
        (tools / "sleep").chmod(0o755)
        (folder / "at").write_text("0\n")
        for name, text in (loads or {}).items():
            place = folder / "tasks" / name
            place.mkdir()
            (place / "load").write_text(text)
        for second, files in enumerate(ticks):
            self._write(second, {"proc/uptime": f"{1000 + second}.00 500.00\n", **files})

    def _write(self, second: int, files: Files) -> None:
        base = self.root if second == 0 else self.folder / "then" / str(second)
        for path, text in files.items():
            if text is not None:
                (base / path).parent.mkdir(parents=True, exist_ok=True)
                (base / path).write_text(text)
        gone = [path for path, text in files.items() if text is None]
        (self.folder / "then").mkdir(exist_ok=True)
        if gone:
            (self.folder / "then" / f"{second}.gone").write_text(
                "".join(f"{path}\n" for path in gone)
            )

    def lines(
        self,
        *,
        awk: str = "awk",
        shell: Sequence[str] = ("sh",),
        loads: Sequence[str] = (),
        groups: Mapping[str, str] | None = None,
        targets: Sequence[str] = (),
    ) -> list[TelemetryLine]:
        """What telemetry prints of it, until time stands still."""
        files = {"agent.sh": functions("base"), **telemetry_files(groups or {})}
        for name, text in files.items():
            (self.task / name).write_text(text)
        environ = {
            **os.environ,
            "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}",
            "TREE": str(self.folder),
            "BT_ROOT": str(self.root),
            "BENCHTUI_AWK": awk,
        }
        words = telemetry_command(loads, list(groups or {}), targets)[1:]
        done = subprocess.run(
            [*shell, *words],
            cwd=self.task,
            env=environ,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.stderr == b"", done.stderr.decode()
        reader = TelemetryLines()
        found = list(reader.feed(done.stdout))
        assert reader.damaged == 0, done.stdout.decode()
        return found
