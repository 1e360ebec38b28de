"""The lab of the soak test: hosts behind proxies whose log-in shells can be slowed, whose loads can be made to flood.

The last host has a small file system of its own for its spool, where the machine lets us mount one.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.lab.faults import forget_on_hosts
from tests.lab.flood import REAL
from tests.lab.proxy import ProxiedLab
from tests.lab.sshd import LabHost, set_env

FLOODS = ("lines", "one-line", "stderr", "objects")
SPOOL_KIB = 24 << 10
SHELL = """\
#!/bin/sh
[ ! -e {root}/slow ] || sleep "$(cat {root}/slow)"
exec /bin/sh
"""
FIO = """\
#!/bin/sh
for each; do
    [ -e {root}/floods ] && [ -f "$each" ] && grep -q ^runtime "$each" &&
        ( while [ ! -e {root}/flood ]; do sleep 0.1; done; exec sh {root}/flood ) &
done
exec {real} "$@"
"""


class SoakLab(ProxiedLab):
    """Hosts h1 to hN; `small` is the one whose spool can be filled up, None where that cannot be."""

    def __init__(self, root: Path, hosts: int) -> None:
        super().__init__(root, hosts)
        for host in self.hosts:
            self._equip(host)
        self.small = self._narrow(self.hosts[-1])

    def _equip(self, host: LabHost) -> None:
        programs = host.root / "programs"
        programs.mkdir()
        for path, text in ((host.root / "shell", SHELL), (programs / "fio", FIO)):
            path.write_text(text.format(root=host.root, real=REAL))
            path.chmod(0o755)
        own = set_env(host.root, f"PATH={programs}:{os.environ['PATH']}")
        host.options = [f"ForceCommand {host.root / 'shell'}", own]

    def _narrow(self, host: LabHost) -> str | None:
        """Give a host a /tmp of its own, in which only this lab is the machine's.

        A mount at the agent's directory would be gone once the machine's own one is removed.
        """
        kept, tmp = self.root.parent, host.root / "tmp"
        tmp.mkdir()
        there = tmp / kept.relative_to("/tmp")
        steps = (
            f"mount -t tmpfs -o size={SPOOL_KIB}k,mode=1777 tmpfs {tmp}",
            f"mkdir -p {there}",
            f"mount --bind {kept} {there}",
            f"mount --rbind {tmp} /tmp",
        )
        wrapper = ["unshare", "--mount", "sh", "-c", f'set -e; {"; ".join(steps)}; exec "$@"', "sh"]
        if subprocess.run([*wrapper, "true"], check=False, capture_output=True).returncode != 0:
            return None
        host.wrapper = wrapper
        return host.name

    def root_of(self, name: str) -> Path:
        """The file systems that a host sees."""
        process = self.host(name).process
        return Path(f"/proc/{process.pid}/root") if name == self.small and process is not None else Path("/")

    @property
    def roots(self) -> list[Path]:
        """The different roots of the hosts."""
        return list({self.root_of(name): None for name in [*self.names, self.names[0]]})

    def arm_floods(self) -> None:
        """Have the loads that begin from now on flood when they are told to."""
        for host in self.hosts:
            (host.root / "floods").touch()

    def fill_spool(self) -> bool:
        """Leave no room on the small host's file system; False where it has none of its own."""
        if self.small is None or self._filler().parent.stat().st_dev == self.root.stat().st_dev:
            return False
        with suppress(OSError), self._filler().open("wb", buffering=0) as file:
            for _ in range(SPOOL_KIB >> 2):
                file.write(bytes(4096))
            return False
        return True

    def heal(self) -> None:
        """End all faults."""
        super().heal()
        for host in self.hosts:
            for name in ("slow", "floods", "flood"):
                (host.root / name).unlink(missing_ok=True)
        if self.small is not None:
            self._filler().unlink(missing_ok=True)

    def forget(self) -> None:
        """Cut all connections; what is held back is lost, and no host is locked any more."""
        self.drop()

    def forget_run(self, run_id: str) -> None:
        """Remove what hosts hold of a run."""
        forget_on_hosts(run_id, self.roots)

    def _filler(self) -> Path:
        assert self.small is not None
        return self.root_of(self.small) / "tmp" / "filler"
