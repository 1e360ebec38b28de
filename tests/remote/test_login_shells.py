"""Login shells that are no POSIX shell, and start-up files that talk: what is sent and read is ours
alone.
"""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab.accounts import other_files
from tests.lab.sshd import SshdLab
from tests.remote.conftest import new_run_id
from tests.remote.helpers import collect, ended, sh, start
from tui.remote.agent import Agent
from tui.remote.connections import Connections

NOISE = 'echo "BT-BEGIN mail for you\\033[31m"; echo "BT-STREAM BT-END" 1>&2\n'
START_UP_FILES = {
    "bash": (".bashrc", ".bash_profile"),  # bash reads .bashrc also for commands of sshd
    "tcsh": (".tcshrc", ".login"),
    "csh": (".cshrc", ".login"),
    "fish": (".config/fish/config.fish",),
    "zsh": (".zshenv", ".zshrc"),
    "mksh": (".profile",),
}


@contextmanager
def login_shell(
    root: Path, shell: str, noisy: Sequence[str] = (), options: Sequence[str] = ()
) -> Iterator[SshdLab]:
    """One host where this user has another login shell and another home, with start-up files that
    print.
    """
    home = root / "home"
    for name in noisy:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(NOISE)
    home.mkdir(parents=True, exist_ok=True)
    passwd, user = root / "passwd", f"{getpass.getuser()}:"
    lines = Path("/etc/passwd").read_text().splitlines()
    own = next(line for line in lines if line.startswith(user)).split(":")
    passwd.write_text(
        "\n".join(
            ":".join([*own[:5], str(home), shell]) if x.startswith(user) else x for x in lines
        )
    )
    wrapper = other_files({"/etc/passwd": passwd})
    with SshdLab(root / "lab", hosts=1, wrapper=wrapper, extra_config=options) as lab:
        yield lab


@pytest.mark.parametrize("name", START_UP_FILES)
async def test_other_login_shell_whose_start_up_files_talk(name: str, tmp_path: Path) -> None:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on this machine")
    banner = tmp_path / "banner"
    banner.write_text("BT-BEGIN Authorized use only.\n" * 20)
    with login_shell(tmp_path, found, START_UP_FILES[name], (f"Banner {banner}",)) as lab:
        async with Connections(ssh_config=lab.ssh_config) as connections:
            transport = await connections.connect(lab.address("h1"))
            said = await transport.run(b"", 20)
            # bash: as the distribution built it
            assert b"mail for you" in said.stdout or name in ("bash", "mksh")
            agent = Agent(transport, new_run_id())
            assert str((await agent.probe()).values["kernel"]).startswith("Linux ")
            await start(agent, sh("echo measured; echo warned >&2; exit 3"))
            out, err = await collect(await agent.stream("t", 0, 0))
            assert (out, err) == (b"measured\n", b"warned\n")
            assert (await ended(agent)).exit_code == 3
            await agent.clean()
