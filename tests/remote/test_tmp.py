"""Hosts whose /tmp runs no programs, takes no files, or is full; accounts with unusual names."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab.accounts import other_files
from tests.lab.sshd import SshdLab
from tests.remote.conftest import new_run_id
from tests.remote.helpers import collect, sh, start
from tui.remote.agent import Agent
from tui.remote.connections import Connections
from tui.remote.transport import HostError

FILLED = "cat /dev/zero >{tmp}/filler 2>/dev/null || true"
USERS = ("first.last", "corp\\user", "user@corp.example", "two words", "üser")


@contextmanager
def with_tmp(root: Path, options: str, then: str = "true") -> Iterator[SshdLab]:
    """One host that has a /tmp of its own, mounted with these options, in which only `root` is this
    machine's.
    """
    tmp = root / "own-tmp"
    kept = f"{tmp}/{root.relative_to('/tmp')}"
    steps = (
        f"mkdir {tmp}",
        f"mount -t tmpfs -o mode=1777,{options} tmpfs {tmp}",
        f"mkdir -p {kept}",
        f"mount --bind {root} {kept}",
        then.format(tmp=tmp),
        f"mount --rbind {tmp} /tmp",
    )
    wrapper = ["unshare", "--mount", "sh", "-c", f'set -e; {"; ".join(steps)}; exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no mount namespaces here")
    tmp.rmdir()
    with SshdLab(root / "lab", hosts=1, wrapper=wrapper) as lab:
        yield lab


async def said_by(lab: SshdLab) -> str:
    """What a load on the host printed, or why it could not be started."""
    async with Connections(ssh_config=lab.ssh_config) as connections:
        agent = Agent(await connections.connect(lab.address("h1")), new_run_id())
        try:
            await start(agent, sh("echo measured"))
            out, _ = await collect(await agent.stream("t", 0, 0))
            await agent.clean()
        except HostError as error:
            return error.message
        return out.decode()


async def test_tmp_without_programs_is_enough(tmp_path: Path) -> None:
    with with_tmp(tmp_path, "noexec,nosuid,nodev") as lab:
        assert await said_by(lab) == "measured\n"


async def test_tmp_that_is_read_only_is_named(tmp_path: Path) -> None:
    with with_tmp(tmp_path, "size=4m", "mount -o remount,ro {tmp}") as lab:
        assert "Read-only file system" in await said_by(lab)


async def test_tmp_that_is_full_is_named(tmp_path: Path) -> None:
    with with_tmp(tmp_path, "size=128k", FILLED) as lab:
        assert "No space left on device" in await said_by(lab)


async def test_accounts_with_unusual_names(tmp_path: Path) -> None:
    passwd = tmp_path / "passwd"
    own = [f"{name}:x:0:0::/root:/bin/sh\n" for name in USERS]
    passwd.write_text(Path("/etc/passwd").read_text() + "".join(own))
    with SshdLab(tmp_path / "lab", hosts=1, wrapper=other_files({"/etc/passwd": passwd})) as lab:
        plain = lab.ssh_config.read_text()
        for name in USERS:
            lab.ssh_config.write_text(plain.replace(f"User {lab.user}\n", f'User "{name}"\n'))
            assert await said_by(lab) == "measured\n", name
