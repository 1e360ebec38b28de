"""What is sent to a host: quoting, truncation, login shells that talk, hosts that answer something
else.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lab.sshd import SshdLab
from tests.remote.conftest import PRESENT, SHELLS, UNDER_EACH, agent_under, new_run_id
from tests.remote.helpers import allocated, collect, ended, removed, sh, start
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.connections import Connections
from tui.remote.files import stat_files
from tui.remote.local import LocalTransport
from tui.remote.made import make_directories
from tui.remote.scripts import Script
from tui.remote.ssh import SshTransport
from tui.remote.transport import HostError

# any file name that Linux takes: every character but / and NUL, bytes that are no UTF-8 among them
NAMES = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"])
    | st.sampled_from([*"\n\t\r'\"\\$`!*?[]{}~#&|;<>() -", "\udc80", "\udcff"]),
    min_size=1,
    max_size=40,
).filter(lambda name: name not in (".", "..") and len(os.fsencode(name)) <= 200)


def local(shell: str) -> Agent:
    return agent_under(shell)


@pytest.mark.parametrize("shell", UNDER_EACH)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(names=st.lists(NAMES, min_size=1, max_size=6, unique=True))
def test_any_file_name_passes_through_unchanged(
    shell: str, names: list[str], tmp_path: Path
) -> None:
    base = tmp_path / uuid.uuid4().hex
    base.mkdir()
    paths = [f"{base}/{name}" for name in names]

    async def check() -> None:
        agent = local(shell)
        assert await make_directories(agent, paths) == paths
        assert {os.fsencode(path) for path in base.iterdir()} == {
            os.fsencode(path) for path in paths
        }
        for number, path in enumerate(paths):
            Path(path, "file").write_bytes(b"x" * (number + 1))
        files = [f"{path}/file" for path in paths]
        found = await stat_files(agent, [*files, f"{base}/absent/\n"])
        assert [info.size if info else None for info in found.values()] == [
            *range(1, len(paths) + 1),
            None,
        ]
        assert set(await removed(agent, [*files, *paths])) == {*files, *paths}
        assert list(base.iterdir()) == []

    asyncio.run(check())


@pytest.mark.parametrize("shell", UNDER_EACH)
@settings(max_examples=15, deadline=None)
@given(
    words=st.lists(
        st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])), max_size=8
    )
)
def test_any_argument_reaches_the_agent_unchanged(shell: str, words: list[str]) -> None:
    """`bt_files` says of each argument that it is not there.

    Here the arguments are compared themselves.
    """
    call = Script.of("t", ["say_args", *words]).alone().decode()
    text = call.replace(
        "\n{ bt_begin", "\nbt_say_args() { for x; do printf '%s\\0' \"$x\"; done; }\n{ bt_begin"
    )
    done = subprocess.run(SHELLS[shell], input=text.encode(), capture_output=True, check=True)
    body = done.stdout.split(b"BT-BEGIN t\n", 1)[1].rsplit(b"BT-END t 0\n", 1)[0]
    assert body == b"".join(word.encode() + b"\0" for word in words)


def test_nul_in_a_path_is_refused(tmp_path: Path) -> None:
    agent = local(PRESENT[0])
    with pytest.raises(HostError, match="NUL"):
        asyncio.run(stat_files(agent, [f"{tmp_path}/a\0b"]))


@pytest.mark.parametrize("shell", UNDER_EACH)
def test_script_that_was_cut_anywhere_does_nothing(shell: str, tmp_path: Path) -> None:
    target = tmp_path / "made"
    whole = Script.of("t", ["mkdirs", "0", "made", "second"]).alone()
    call = whole.rindex(b"{ bt_begin")
    # the last line byte by byte, up to its brace
    cuts = [*range(0, call, 1499), *range(call - 3, len(whole) - 2)]
    for cut in cuts:
        done = subprocess.run(SHELLS[shell], input=whole[:cut], capture_output=True, cwd=tmp_path)
        assert b"BT-BEGIN" not in done.stdout, cut
        assert not target.exists(), cut
    assert list(tmp_path.iterdir()) == []
    subprocess.run(SHELLS[shell], input=whole, capture_output=True, check=True, cwd=tmp_path)
    assert target.is_dir()


def test_thousands_of_files_are_looked_at_by_a_few_processes(tmp_path: Path) -> None:
    programs, here, calls = tmp_path / "bin", tmp_path / "here", tmp_path / "calls"
    programs.mkdir()
    here.mkdir()
    (programs / "stat").write_text(
        f'#!/bin/sh\necho x >>{calls}\nexec {shutil.which("stat")} "$@"\n'
    )
    (programs / "stat").chmod(0o755)
    paths = [here / f"f{number}" for number in range(3000)]
    for path in paths[::2]:
        path.touch()
    environ = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    agent = Agent(
        LocalTransport(HostAddress(name="local", transport="local"), environ=environ), new_run_id()
    )

    async def check() -> None:
        found = await stat_files(agent, [str(path) for path in paths])
        assert sum(info is not None for info in found.values()) == 1500
        assert len(await removed(agent, [str(path) for path in paths])) == 1500

    asyncio.run(check())
    assert 1 <= len(calls.read_text().splitlines()) < 40
    assert list(here.iterdir()) == []


def test_files_without_stat_format_or_without_stat(tmp_path: Path) -> None:
    """On a host whose stat knows no -c, size and allocation come from ls and du."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "stat").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "stat").chmod(0o755)
    whole, holes = tmp_path / "whole", tmp_path / "holes"
    whole.write_bytes(b"x" * 8192)
    with holes.open("wb") as file:
        file.truncate(1 << 20)
    on_disk = {path: allocated(path) for path in (whole, holes)}
    environ = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    agent = Agent(
        LocalTransport(HostAddress(name="old", transport="local"), environ=environ), new_run_id()
    )
    found = asyncio.run(stat_files(agent, [str(whole), str(tmp_path / "none"), str(holes)]))
    assert [(info.size, info.allocated) if info else None for info in found.values()] == [
        (8192, on_disk[whole]),
        None,
        (1 << 20, on_disk[holes]),
    ]


def test_directory_that_cannot_be_made_leaves_no_other_behind(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match=r"File exists|Not a directory"):
        asyncio.run(make_directories(local(PRESENT[0]), [f"{tmp_path}/a/b", f"{tmp_path}/file/c"]))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_remove_spares_what_is_not_ours_to_remove(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").touch()
    (tmp_path / "link").symlink_to(tmp_path / "full" / "kept")
    paths = [str(tmp_path / "full"), str(tmp_path / "link"), "/dev/null"]
    assert asyncio.run(removed(local(PRESENT[0]), paths)) == []
    assert (tmp_path / "full" / "kept").exists() and (tmp_path / "link").is_symlink()


NOISE = "echo Welcome to the cluster; echo 'BT-END nonsense 0'; echo module load failed >&2\n"


async def test_login_shell_that_talks_does_not_disturb(tmp_path: Path) -> None:
    """bash reads ~/.bashrc before every command that sshd gives it."""
    if not pwd.getpwuid(os.getuid()).pw_shell.endswith("bash"):
        pytest.skip("the login shell is not bash")
    (tmp_path / ".bashrc").write_text(NOISE)
    with SshdLab(tmp_path / "lab", hosts=1, extra_config=(f"SetEnv HOME={tmp_path}",)) as talking:
        async with Connections(ssh_config=talking.ssh_config) as connections:
            transport = await connections.connect(talking.address("h1"))
            raw = await transport.run(b"echo here", 10)
            assert (
                raw.stdout.startswith(b"Welcome to the cluster\n")
                and b"module load failed" in raw.stderr
            )
            await whole_round(Agent(transport, new_run_id()))


@pytest.mark.parametrize("shell", ["tcsh", "csh", "fish", "zsh", "ksh93", "busybox"])
async def test_login_shells_of_all_kinds(tmp_path: Path, shell: str) -> None:
    """sshd gives our one command to the login shell as `-c`.

    Here a forced command does it with another shell.
    """
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    argv = f"{shutil.which(shell)} {'ash ' if shell == 'busybox' else ''}-c"
    with SshdLab(
        tmp_path / "lab", hosts=1, extra_config=(f'ForceCommand {argv} "$SSH_ORIGINAL_COMMAND"',)
    ) as other:
        async with Connections(ssh_config=other.ssh_config) as connections:
            await whole_round(Agent(await connections.connect(other.address("h1")), new_run_id()))


async def whole_round(agent: Agent) -> None:
    """Probe, start, stream, end."""
    assert (await agent.probe(commands={"fio": ["--version"]})).tools["fio"].version
    await start(agent, sh("printf 'a\\nb'; printf c >&2"))
    assert await collect(await agent.stream("t", 0, 0)) == (b"a\nb", b"c")
    assert (await ended(agent)).exit_code == 0
    await agent.clean()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo This account is for backups only", "it printed: This account is for backups only"),
        ("false", "did not run the agent's script"),
        (
            "echo Please log in on the console >&2; exit 1",
            "it printed: Please log in on the console",
        ),
    ],
)
async def test_forced_command_is_reported(tmp_path: Path, command: str, said: str) -> None:
    with SshdLab(tmp_path / "lab", hosts=1, extra_config=(f"ForceCommand {command}",)) as forced:
        async with Connections(ssh_config=forced.ssh_config) as connections:
            agent = Agent(await connections.connect(forced.address("h1")), new_run_id())
            with pytest.raises(HostError) as caught:
                await agent.probe()
            with pytest.raises(HostError) as from_stream:
                await agent.stream("t", 0, 0)
    assert caught.value.code == from_stream.value.code == "forced-command"
    assert said in caught.value.message


@pytest.mark.parametrize("start_by", ["_start", "_start_patiently"], ids=["call", "stream"])
async def test_forced_command_that_is_over_before_it_was_sent_anything_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start_by: str
) -> None:
    with SshdLab(
        tmp_path / "lab", hosts=1, extra_config=("ForceCommand echo backups only",)
    ) as forced:
        async with Connections(ssh_config=forced.ssh_config) as connections:
            transport = await connections.connect(forced.address("h1"))
            assert isinstance(transport, SshTransport)
            start = getattr(transport, start_by)

            async def over() -> Any:
                process = await start()
                await process.wait_closed()
                return process

            monkeypatch.setattr(transport, start_by, over)
            agent = Agent(transport, new_run_id())
            with pytest.raises(HostError) as caught:
                await (agent.probe() if start_by == "_start" else agent.stream("t", 0, 0))
    assert caught.value.code == "forced-command"


async def test_more_channels_than_the_server_allows_are_reported(tmp_path: Path) -> None:
    with SshdLab(tmp_path / "lab", hosts=1, extra_config=("MaxSessions 1",)) as narrow:
        async with Connections(ssh_config=narrow.ssh_config) as connections:
            transport = await connections.connect(narrow.address("h1"))
            channel = await transport.open(b"read x\n")
            with pytest.raises(HostError) as caught:
                await transport.run(b"true", 10)
            assert caught.value.code == "channel-failed"
            await channel.close()


async def test_script_that_takes_too_long_is_reported(
    lab: SshdLab, connections: Connections
) -> None:
    transport = await connections.connect(lab.address("h1"))
    with pytest.raises(HostError) as caught:
        await transport.run(b"sleep 30", 0.5)
    assert (caught.value.code, caught.value.message) == ("timeout", "no answer in 0.5 s")
    assert (await transport.run(b"echo still here", 10)).stdout == b"still here\n"
