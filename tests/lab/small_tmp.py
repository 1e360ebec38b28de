"""A /tmp of its own for one lab host, small enough to be filled up."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.lab.sshd import LabHost


def narrow(host: LabHost, size_kib: int, kept: Path) -> bool:
    """Have a host that has not started yet see a tmpfs of this size at /tmp, with the directory
    `kept` in it.

    Return False where the machine does not let us. A mount at the agent's directory alone would not
    do: the kernel takes it away as soon as another run on this machine removes that directory,
    which is empty there.
    """
    tmp = host.root / "tmp"
    tmp.mkdir()
    steps = [f"mount -t tmpfs -o size={size_kib}k,mode=1777 tmpfs {tmp}"]
    if kept.is_relative_to("/tmp"):
        there = tmp / kept.relative_to("/tmp")
        steps += [f"mkdir -p {there}", f"mount --bind {kept} {there}"]
    steps.append(f"mount --rbind {tmp} /tmp")
    wrapper = ["unshare", "--mount", "sh", "-c", f'set -e; {"; ".join(steps)}; exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], check=False, capture_output=True).returncode != 0:
        return False
    host.wrapper = wrapper
    return True
