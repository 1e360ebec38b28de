"""The lab of the soak test: hosts behind proxies that can be slow, that can flood, and on which a
phase can be held.

The last host has a small /tmp of its own for its spool, where the machine lets us mount one.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from tests.lab.faults import environments, forget_on_hosts, kill
from tests.lab.flood import REAL
from tests.lab.proxy import ProxiedLab
from tests.lab.small_tmp import narrow
from tests.lab.sshd import LabHost, set_env

FLOODS = ("lines", "one-line", "stderr", "objects")
SPOOL_KIB = 24 << 10
SHELL = """\
#!/bin/sh
[ ! -e {root}/slow ] || sleep "$(cat {root}/slow)"
exec /bin/sh
"""
# A phase is held on a host by what it does there, as long as the file `hold` names the phase and
# the run.
HELD = """\
#!/bin/sh
hold() {{ : >{root}/held; while [ -e {root}/hold ]; do sleep 0.05; done; :; }}
holds_when() {{ # FILE FILE: a task has the one and not the other; what the agent asks within a task is left alone
    case $PWD in /tmp/.benchtui-*) return ;; esac
    for task in /tmp/.benchtui-*/$run/{name}/*.measure; do [ -e "$task/$1" ] && [ ! -e "$task/$2" ] && hold; done
}}
phase=
{{ read -r phase run <{root}/hold; }} 2>/dev/null
"""
FIO = """\
[ "$phase" = preflight ] && [ "$1" = --version ] && hold && [ -e {root}/hang ] && exec sleep 600
for each; do
    [ -f "$each" ] || continue
    [ "$phase" = layout ] && grep -q '^.layout' "$each" && sed -i '/^.global/a rate=1m' "$each"
    [ -e {root}/floods ] && grep -q ^runtime "$each" &&
        ( while [ ! -e {root}/flood ]; do sleep 0.1; done; exec sh {root}/flood ) &
done
exec {real} "$@"
"""
STAT = """\
[ "$phase" = barrier ] && holds_when armed load
[ "$phase" = collect ] && holds_when done none
exec {real} "$@"
"""
RM = """\
[ "$phase" = cleanup ] && case "$*" in *./load.*) hold ;; esac
exec {real} "$@"
"""
PROGRAMS = {"fio": FIO, "stat": STAT, "rm": RM}


class SoakLab(ProxiedLab):
    """Hosts h1 to hN.

    `small` is the one whose spool can be filled up, None where that cannot be.
    """

    def __init__(self, root: Path, hosts: int) -> None:
        super().__init__(root, hosts)
        for host in self.hosts:
            self._equip(host)
        last = self.hosts[-1]
        self.small = last.name if narrow(last, SPOOL_KIB, root.parent) else None

    def _equip(self, host: LabHost) -> None:
        programs = host.root / "programs"
        programs.mkdir()
        write_program(host.root / "shell", SHELL.format(root=host.root))
        for name, text in PROGRAMS.items():
            real = REAL if name == "fio" else shutil.which(name)
            write_program(
                programs / name, (HELD + text).format(root=host.root, name=host.name, real=real)
            )
        own = set_env(host.root, f"PATH={programs}:{os.environ['PATH']}")
        host.options = [f"ForceCommand {host.root / 'shell'}", own]

    def hold(self, name: str, phase: str, run_id: str = "") -> None:
        """Keep a host in a phase once it is there, until `release`.

        A layout is not held but slowed down.
        """
        if phase == "connect":
            self.proxies[name].hold()
            return
        (self.host(name).root / "hold").write_text(f"{phase} {run_id}\n")

    def held(self, name: str, phase: str) -> bool:
        """Whether a host is being held in a phase."""
        if phase == "connect":
            return self.proxies[name].connections > 0
        return (self.host(name).root / "held").exists()

    def release(self) -> None:
        """Hold no host any more."""
        for host in self.hosts:
            self.proxies[host.name].release()
            for name in ("hold", "held"):
                (host.root / name).unlink(missing_ok=True)

    def strays(self) -> list[int]:
        """Pids of all processes that came from logins to the lab's hosts, marked or not."""
        marks = {f"BENCHTUI_LOCKS={host.root / 'locks'}".encode() for host in self.hosts}
        return [pid for pid, words in environments() if marks & words]

    def end_strays(self) -> None:
        """Kill these, so that the next trial begins without them."""
        for pid in self.strays():
            kill(pid)

    def root_of(self, name: str) -> Path:
        """The file systems that a host sees."""
        process = self.host(name).process
        return (
            Path(f"/proc/{process.pid}/root")
            if name == self.small and process is not None
            else Path("/")
        )

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
        self.release()
        for host in self.hosts:
            for name in ("slow", "floods", "flood", "hang"):
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


def write_program(path: Path, text: str) -> None:
    """Write a shell script that can be run."""
    path.write_text(text)
    path.chmod(0o755)
