"""What the agent keeps and removes on a host: private directories, leftovers, page cache,
sessions.
"""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.remote.conftest import new_run_id
from tests.remote.helpers import FIO, ended, fio_job, running, sh, start
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.files import drop_page_cache
from tui.remote.local import LocalTransport
from tui.remote.transport import HostError


def beside(agent: Agent, name: str = "local", run_id: str | None = None) -> Agent:
    """Another host of the same run, or another run, on the same machine."""
    return Agent(LocalTransport(HostAddress(name=name, transport="local")), run_id or agent.run_id)


async def test_supervisor_outlives_its_channel_with_and_without_setsid(
    setsid_agent: Agent, tmp_path: Path
) -> None:
    directory = Path(await start(setsid_agent, FIO, files={"job.fio": fio_job(tmp_path)}))
    await running(setsid_agent, 4)
    supervisor = int((directory / "pid").read_text().split()[0])
    assert os.getsid(supervisor) != os.getsid(0)
    await setsid_agent.stop("t")
    status = await ended(setsid_agent)
    assert (status.exit_code, status.reason) == (128, "stop")


async def test_load_that_ignores_int_is_asked_by_term(agent: Agent) -> None:
    await start(
        agent,
        sh("trap '' INT; trap 'echo by TERM; exit 7' TERM; while :; do sleep 0.1; done"),
        grace_s=20,
    )
    await running(agent, 1)
    await agent.stop("t")
    status = await ended(agent)
    assert (status.exit_code, status.reason) == (7, "stop")


async def test_normal_end_leaves_no_daemon_behind(agent: Agent) -> None:
    await start(agent, sh("setsid sleep 300 >/dev/null 2>&1 & sleep 0.2"))
    status = await ended(agent)
    assert (status.exit_code, status.reason, status.left) == (0, "exit", 0)
    assert await agent.sweep(kill=False) == []


async def test_command_that_is_not_there_is_an_exit_code_and_a_word_on_stderr(agent: Agent) -> None:
    directory = Path(await start(agent, ["no-such-tool"]))
    assert (await ended(agent)).exit_code == 127
    assert "no-such-tool" in (directory / "err").read_text()


async def test_load_keeps_the_users_umask_and_our_files_are_private(
    agent: Agent, tmp_path: Path
) -> None:
    directory = Path(
        await start(agent, sh(f"echo x >{tmp_path}/made"), files={"job.fio": "secret\n"})
    )
    await ended(agent)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE((directory / "job.fio").stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.parent.parent.parent.stat().st_mode) == 0o700


async def test_two_hosts_on_one_machine_do_not_touch_each_other(agent: Agent) -> None:
    other = beside(agent, name="second")
    await start(agent, ["sleep", "300"])
    await start(other, ["sleep", "300"])
    await running(other, 1)
    await agent.stop("t", abort=True)
    await ended(agent)
    assert [process.host for process in await other.sweep(kill=False)] == ["second"]
    await other.sweep(kill=True)
    await other.clean()


async def test_sweep_matches_the_run_exactly(agent: Agent) -> None:
    longer = beside(agent, run_id=agent.run_id + "0")
    await start(longer, sh("sleep 300"))
    await running(longer, 1)
    assert await agent.sweep(kill=True) == []
    assert len(await longer.sweep(kill=True)) >= 1
    await longer.clean()


async def test_leftovers_name_run_host_task_and_command(agent: Agent) -> None:
    await start(agent, ["sleep", "300"])
    await running(agent, 1)
    processes, directories = await agent.leftovers()
    (mine,) = [process for process in processes if process.run == agent.run_id]
    assert (mine.host, mine.task, mine.command) == ("local", "t", "sleep 300")
    (directory,) = [directory for directory in directories if directory.run == agent.run_id]
    assert (directory.host, directory.task, directory.alive, directory.done) == (
        "local",
        "t",
        True,
        False,
    )
    assert 0 <= directory.age_s < 60


async def test_clean_is_refused_while_something_runs(agent: Agent) -> None:
    directory = Path(await start(agent, sh("sleep 300")))
    await running(agent, 1)
    with pytest.raises(HostError, match=r"task t of run .* is still running"):
        await agent.clean()
    await agent.sweep(kill=True)
    await agent.clean()
    assert not directory.exists() and not directory.parent.parent.exists()


async def test_spool_of_a_task_that_is_over_can_go_while_its_end_stays(agent: Agent) -> None:
    directory = Path(await start(agent, sh("echo printed; exit 3")))
    await ended(agent)
    await agent.free_spool("t")
    assert not (directory / "out").exists() and not (directory / "err").exists()
    status = await agent.status("t")
    assert (status.done, status.exit_code, status.out_bytes) == (True, 3, 0)


async def test_spool_of_a_task_that_runs_stays(agent: Agent) -> None:
    directory = Path(await start(agent, ["sleep", "300"]))
    with pytest.raises(HostError, match=r"task t of run .* is still running"):
        await agent.free_spool("t")
    assert (directory / "out").exists()


async def test_sweep_ends_a_load_that_waits_for_go(agent: Agent) -> None:
    directory = Path(await start(agent, sh("echo ran >ran; sleep 300"), armed=True))
    await agent.sweep(kill=True)
    await agent.clean()
    assert not directory.exists()


async def test_base_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    """Another user could lie in wait under the name that we use; a link is as bad."""
    (tmp_path / "bin").mkdir()
    fake_id = tmp_path / "bin" / "id"
    # a user id that nobody has: its base directory is free for this test
    number = os.getpid() + 500_000
    fake_id.write_text(f'#!/bin/sh\n[ "$1" = -u ] && echo {number} || exec /usr/bin/id "$@"\n')
    fake_id.chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    agent = Agent(
        LocalTransport(HostAddress(name="local", transport="local"), environ=environ), new_run_id()
    )
    base = Path(f"/tmp/.benchtui-{number}")
    base.symlink_to(tmp_path)
    try:
        with pytest.raises(HostError, match="is not a directory of this user"):
            await start(agent, sh("true"))
    finally:
        base.unlink()


async def test_bad_names_are_refused(agent: Agent) -> None:
    for task in ("../x", "a/b", "", ".hidden", "a b", "a\nb"):
        with pytest.raises(HostError, match="bad name"):
            await start(agent, sh("true"), task=task)


async def test_dropping_the_page_cache_says_how(agent: Agent) -> None:
    dropped = await drop_page_cache(agent)
    if os.geteuid() == 0:
        assert dropped.method == "root"
    assert dropped.ok or dropped.detail


async def test_block_device_is_recognized(agent: Agent) -> None:
    listed = subprocess.run(
        ["lsblk", "-dnpo", "NAME"], capture_output=True, text=True, check=False
    ).stdout.split()
    if not listed or not Path(listed[0]).is_block_device():
        pytest.skip("no block device to look at")
    facts = (await agent.probe([listed[0]])).dirs[listed[0]]
    size = int(Path(f"/sys/class/block/{Path(listed[0]).name}/size").read_text()) * 512
    assert (facts.exists, facts.is_dir, facts.is_block, facts.total_bytes) == (
        True,
        False,
        True,
        size,
    )


async def test_directory_that_takes_no_files_is_not_writable(agent: Agent) -> None:
    assert not (await agent.probe(["/proc"])).dirs["/proc"].writable


async def test_mount_is_the_one_that_holds_the_directory(agent: Agent) -> None:
    (facts,) = (await agent.probe(["/dev/shm"])).dirs.values()
    if not os.path.ismount("/dev/shm"):
        pytest.skip("/dev/shm is no mount here")
    assert (facts.mount, facts.fstype) == ("/dev/shm", "tmpfs")


async def test_marks_of_a_load_that_we_are_part_of_are_not_passed_on() -> None:
    transport = LocalTransport(
        HostAddress(name="local", transport="local"),
        environ={**os.environ, "BENCHTUI_RUN": "outer"},
    )
    done = await transport.run(b"echo ${BENCHTUI_RUN-none}", 10)
    assert done.stdout == b"none\n"
