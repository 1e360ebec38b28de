"""What it costs to look up 64 hosts in an SSH configuration of 512 entries: asyncssh's own loader
beside ours.
"""

from __future__ import annotations

import getpass
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asyncssh.config import SSHClientConfig

from tui.model.address import HostAddress
from tui.remote.sshconfig import resolve
from tui.remote.sshfile import ConfigFiles

HOSTS, ENTRIES = 64, 512
ENTRY = """Host node{0}
  HostName 10.1.{1}.{2}
  User bench
  Port 2222
  IdentityFile ~/.ssh/id_%h
"""


def cpu_s(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def theirs(path: Path, name: str) -> object:
    none: Any = None
    return SSHClientConfig.load(
        none, [path], False, False, False, getpass.getuser(), none or (), name, none or ()
    )


def main() -> int:
    """Print both."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config"
        entries = (ENTRY.format(number, number // 256, number % 256) for number in range(ENTRIES))
        path.write_text("".join(entries) + "Host *\n  ServerAliveInterval 5\n")
        names = [f"node{number * 7}" for number in range(HOSTS)]
        before = cpu_s(lambda: [theirs(path, name) for name in names])
        files = ConfigFiles()
        now = cpu_s(lambda: [resolve(HostAddress(name=name), path, (), files) for name in names])
    print(f"{HOSTS} hosts looked up in an SSH configuration of {ENTRIES} entries")
    print(f"  asyncssh {before:.2f} s of CPU, benchtui {now:.2f} s")
    return 0
