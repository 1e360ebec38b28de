"""ProxyCommand: run as ssh runs it, over a real `sshd -i` without any network, and gone
afterwards.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab.sshd import SSHD, SshdLab
from tests.patience import PATIENCE_S, seen
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.connections import Connections, Timeouts
from tui.remote.transport import HostError


@pytest.fixture
def inetd(lab: SshdLab, tmp_path: Path) -> str:
    """`sshd -i` with the key and the configuration of h1; -e would keep its stderr open."""
    return f"{SSHD} -i -f {lab.host('h1').root / 'sshd_config'}"


def host(lab: SshdLab, tmp_path: Path, command: str, *lines: str) -> HostAddress:
    """A host that is reached by a command alone: its address does not exist."""
    path = tmp_path / "config"
    known = tmp_path / "known"
    known.write_text(f"box {lab.host('h1').public_key}\n")
    more = "".join(f"  {line}\n" for line in lines)
    path.write_text(
        f"Host box\n  HostName 192.0.2.1\n  HostKeyAlias box\n  User {lab.user}\n  IdentityFile"
        f" {lab.client_key}\n  UserKnownHostsFile {known}\n  ProxyCommand {command}\n{more}"
    )
    return HostAddress(name="box", ssh_config=str(path))


def children(mark: Path) -> list[int]:
    """Processes with a path in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if os.fsencode(mark) in words and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


async def kernel(address: HostAddress, **options: Timeouts | Path) -> str:
    async with Connections(**options) as connections:  # type: ignore[arg-type]
        transport = await connections.connect(address)
        return str((await Agent(transport, "check").probe()).values["kernel"])


async def refusal(address: HostAddress, **options: Timeouts | Path) -> HostError:
    with pytest.raises(HostError) as caught:
        await kernel(address, **options)
    assert caught.value.message.isprintable()
    return caught.value


@pytest.mark.parametrize(
    "command",
    [
        "{sshd}",
        "{sshd} 2>&-",
        "{sshd} 2>/dev/null",
        "{sshd} 2>>{tmp}/log | cat",
        "sh -c 'cat | {sshd} | tee {tmp}/bytes'",
        "$(echo {sshd})",
        "TERM='a \"b\"' {sshd}",
    ],
    ids=["plain", "closed-stderr", "dev-null", "pipe", "tee", "substitution", "quotes"],
)
async def test_command_of_the_shell_carries_the_connection(
    lab: SshdLab, tmp_path: Path, inetd: str, command: str
) -> None:
    text = command.format(sshd=inetd, tmp=tmp_path).removeprefix("TERM")
    text = f"env TERM{text}" if text.startswith("='") else text
    assert (await kernel(host(lab, tmp_path, text))).startswith("Linux ")
    await seen(
        lambda: children(lab.host("h1").root / "sshd_config") == listening(lab), "its end", 20
    )


def listening(lab: SshdLab) -> list[int]:
    """The sshd of h1 that is no proxy command."""
    process = lab.host("h1").process
    return [process.pid] if process else []


async def test_relative_command_runs_where_the_run_was_launched(
    lab: SshdLab, tmp_path: Path, inetd: str
) -> None:
    script = tmp_path / "jump"
    script.write_text(f"#!/bin/sh\nexec {inetd}\n")
    script.chmod(0o700)
    address = host(lab, tmp_path, "./jump")
    assert (await kernel(address, directory=tmp_path)).startswith("Linux ")
    assert "jump" in (await refusal(address, directory=tmp_path / "gone")).message


async def test_host_keys_are_collected_and_compared_over_it(
    lab: SshdLab, tmp_path: Path, inetd: str
) -> None:
    address = host(lab, tmp_path, inetd)
    async with Connections() as connections:
        assert (await connections.presented(address)).known
    (tmp_path / "known").write_text(f"box {lab.host('h2').public_key}\n")
    assert (await refusal(address)).code == "host-key-changed"


async def test_tokens_are_those_of_ssh(lab: SshdLab, tmp_path: Path, inetd: str) -> None:
    log = tmp_path / "log"
    command = f"sh -c 'echo %h %p %r %n 100%% >{log}; exec {inetd}'"
    assert (await kernel(host(lab, tmp_path, command, "Port 2022"))).startswith("Linux ")
    assert log.read_text() == f"192.0.2.1 2022 {lab.user} box 100%\n"


async def test_command_is_run_by_the_shell_of_the_user(
    lab: SshdLab, tmp_path: Path, inetd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, log = tmp_path / "shell", tmp_path / "log"
    shell.write_text(f'#!/bin/sh\necho "$1" "$2" >>{log}\nexec /bin/sh "$@"\n')
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    assert (await kernel(host(lab, tmp_path, inetd))).startswith("Linux ")
    assert log.read_text() == f"-c exec {inetd}\n"


async def test_command_that_does_not_exist_is_reported_at_once(
    lab: SshdLab, tmp_path: Path
) -> None:
    error = await refusal(host(lab, tmp_path, "no-such-proxy %h %p"))
    assert error.code == "unreachable"
    assert (
        "no-such-proxy 192.0.2.1 22" in error.message
        and "127" in error.message
        and "not found" in error.message
    )


async def test_last_line_of_a_command_that_fails_is_reported(
    lab: SshdLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.remote.connections.FIRST_PAUSE_S", 0.01)
    error = await refusal(
        host(
            lab,
            tmp_path,
            r"sh -c 'echo first >&2; printf \"\\033]0;x\\007no route\n\" >&2; exit 3'",
        )
    )
    assert (
        "no route" in error.message
        and "status 3" in error.message
        and "first" not in error.message.split("3: ")[1]
    )


async def test_command_that_never_answers_is_named(lab: SshdLab, tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.touch()
    error = await refusal(
        host(lab, tmp_path, f"tail -f {silent}"), timeouts=Timeouts(connect_s=0.3)
    )
    assert error.code == "timeout" and "tail -f" in error.message
    await seen(lambda: children(silent) == [], "its end", 20)


async def test_command_that_closes_its_stdout_is_ended(
    lab: SshdLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.remote.connections.FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr("tui.remote.connections.ATTEMPTS", 1)
    mark = tmp_path / "mark"
    mark.touch()
    assert (await refusal(host(lab, tmp_path, f"tail -f {mark} >/dev/null"))).code == "lost"
    await seen(lambda: children(mark) == [], "its end", 20)


async def test_command_that_ignores_its_end_is_killed(
    lab: SshdLab, tmp_path: Path, inetd: str
) -> None:
    stubborn = tmp_path / "stubborn"
    stubborn.write_text(f"trap '' HUP TERM PIPE\n{inetd}\nwhile :; do sleep 1; done\n")
    assert (await kernel(host(lab, tmp_path, f"sh {stubborn}"))).startswith("Linux ")
    await seen(lambda: children(stubborn) == [], "its end", 20)


async def test_commands_end_with_an_engine_that_is_killed(lab: SshdLab, tmp_path: Path) -> None:
    """A tail that reads no stdin and writes nothing does not notice."""
    mark = tmp_path / "followed"
    mark.touch()
    code = (
        "import asyncio, sys\n"
        "from tui.remote.proxy import ProxyCommand\n"
        "class Nobody(asyncio.Protocol):\n"
        "    pass\n"
        "async def main():\n"
        "    await ProxyCommand(sys.argv[1]).create_connection(Nobody, 'h', 22)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    command = f"tail -f {shlex.quote(str(mark))} | cat"
    words: Sequence[str] = (sys.executable, "-c", code, command)
    with subprocess.Popen(words) as engine:
        await seen(lambda: len(set(children(mark)) - {engine.pid}) >= 2, "its end", 20)
        engine.send_signal(signal.SIGKILL)
        engine.wait(PATIENCE_S)
    await seen(lambda: children(mark) == [], "its end", 20)


async def test_many_commands_are_counted_together(lab: SshdLab, tmp_path: Path, inetd: str) -> None:
    address = host(lab, tmp_path, inetd)
    async with Connections(ssh_config=Path(str(address.ssh_config))) as connections:
        await asyncio.gather(*(connections.connect(address) for _ in range(6)))
        assert len(connections.gates) == 1
