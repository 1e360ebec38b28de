"""Containers of namespaces: processes, mounts and /tmp of their own, by unshare and nsenter.

No image, no daemon.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self

from tests.patience import PATIENCE_S

TOOLS = ("unshare", "nsenter")


@functools.cache  # asked by several test modules
def missing() -> str:
    """Why there can be no such container here; empty when there can."""
    lacking = [name for name in TOOLS if shutil.which(name) is None]
    if lacking:
        return f"needs {', '.join(lacking)} (util-linux)"
    if os.geteuid() != 0:
        return "namespaces of processes and mounts need root"
    done = subprocess.run(
        ["unshare", "-mpf", "--mount-proc", "true"], capture_output=True, check=False
    )
    return "" if done.returncode == 0 else "this kernel or container allows no new namespaces"


class Container:
    """A context manager.

    Its init is a `sleep`, which reaps nothing, as that of many a container.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self.tmp = root / name
        self.init = 0
        self._outer: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.tmp.mkdir(mode=0o777)
        inside = f'mount --bind "{self.tmp}" /tmp && exec sleep 100000'
        self._outer = subprocess.Popen(["unshare", "-mpf", "--mount-proc", "/bin/sh", "-c", inside])
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children")
        deadline = time.monotonic() + PATIENCE_S
        while not self._is_up(children):
            assert self._outer.poll() is None and time.monotonic() < deadline, (
                "the container does not start"
            )
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End the container with all that is in it."""
        if self._outer is not None:
            if self._outer.poll() is None and self.init:
                os.kill(self.init, 9)  # the kernel ends all others of the namespace
            self._outer.kill()
            self._outer.wait()

    @property
    def shell(self) -> str:
        """The command that gives a shell in it."""
        return f"nsenter --target={self.init} --mount --pid env -u BENCHTUI_LOCKS /bin/sh"

    def processes(self) -> list[str]:
        """The command lines of all that runs in it beside its init."""
        mine = str(Path(f"/proc/{self.init}/ns/pid").readlink())
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != self.init:
                try:
                    if str((entry / "ns/pid").readlink()) == mine:
                        found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
                except OSError:
                    continue
        return [line for line in found if line]

    def _is_up(self, children: Path) -> bool:
        try:
            pids = children.read_text().split()
            self.init = int(pids[0]) if pids else 0
            return self.init > 0 and Path(f"/proc/{self.init}/comm").read_text() == "sleep\n"
        except OSError:
            return False
