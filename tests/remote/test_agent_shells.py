"""The agent under every POSIX shell that is here: dash, bash, busybox ash, mksh."""

from __future__ import annotations

from pathlib import Path

from tests.remote.helpers import (
    FIO,
    allocated,
    collect,
    ended,
    fio_job,
    removed,
    running,
    sh,
    start,
)
from tui.remote.agent import Agent
from tui.remote.answers import FileInfo
from tui.remote.files import stat_files
from tui.remote.made import make_directories


async def test_probe_tells_what_the_host_is(shell_agent: Agent, tmp_path: Path) -> None:
    commands = {"fio": ["--version"], "dd": ["--version"]}
    probe = await shell_agent.probe([str(tmp_path), str(tmp_path / "absent")], commands)
    assert str(probe.values["kernel"]).startswith("Linux ")
    assert isinstance(probe.values["cpus"], int) and probe.values["cpus"] > 0
    assert isinstance(probe.values["mem_bytes"], int) and probe.values["mem_bytes"] > 1 << 20
    assert probe.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert probe.tools["fio"].version is not None and probe.tools["fio"].version >= (3, 18)
    assert (
        probe.tools["dd"].text.startswith("dd ") and "license" not in probe.tools["dd"].text.lower()
    )
    here, absent = probe.dirs[str(tmp_path)], probe.dirs[str(tmp_path / "absent")]
    assert here.exists and here.is_dir and here.writable and here.fstype and here.source
    assert here.total_bytes is not None and here.free_bytes is not None
    assert 0 < here.free_bytes <= here.total_bytes
    assert not absent.exists and not absent.writable
    assert list(tmp_path.iterdir()) == [], "the probe leaves nothing behind"


async def test_a_load_runs_to_its_end(shell_agent: Agent) -> None:
    load = sh("cat job.fio; echo to-err >&2; exit 3")
    directory = await start(shell_agent, load, files={"job.fio": "[a]\nrw=read\n"})
    out, err = await collect(await shell_agent.stream("t", 0, 0))
    status = await ended(shell_agent)
    assert (out, err) == (b"[a]\nrw=read\n", b"to-err\n")
    assert (status.exit_code, status.reason, status.alive, status.left) == (3, "exit", False, 0)
    assert (status.out_bytes, status.err_bytes) == (len(out), len(err))
    assert Path(directory).stat().st_mode & 0o777 == 0o700


async def test_a_repeated_start_starts_nothing(shell_agent: Agent) -> None:
    first = await start(shell_agent, sh("echo once >>count; sleep 60"))
    await running(shell_agent, 1)
    again = await start(shell_agent, sh("echo twice >>count; sleep 60"))
    assert again == first
    assert (Path(first) / "count").read_text() == "once\n"


async def test_stop_lets_fio_write_its_results(shell_agent: Agent, tmp_path: Path) -> None:
    await start(shell_agent, FIO, files={"job.fio": fio_job(tmp_path)})
    await running(shell_agent, 4, "fio and its three workers")
    await shell_agent.stop("t")
    out, _ = await collect(await shell_agent.stream("t", 0, 0))
    status = await ended(shell_agent)
    assert (status.exit_code, status.reason) == (128, "stop")
    assert b"fio: terminating on signal 2" in out
    assert out.rstrip().endswith(b"}"), "the last JSON object is whole"
    assert await shell_agent.sweep(kill=False) == []


async def test_abort_ends_what_ignores_every_polite_signal(shell_agent: Agent) -> None:
    await start(shell_agent, sh("trap '' INT TERM HUP; while :; do sleep 1; done"))
    await running(shell_agent, 1)
    await shell_agent.stop("t", abort=True)
    status = await ended(shell_agent)
    assert status.reason == "abort"
    assert await shell_agent.sweep(kill=False) == []


async def test_lease_that_is_not_renewed_ends_the_load(shell_agent: Agent) -> None:
    await start(shell_agent, sh("sleep 300 & exec setsid sleep 300"), lease_s=2)
    await running(shell_agent, 2)
    status = await ended(shell_agent)
    assert status.reason == "lease"
    assert await shell_agent.sweep(kill=False) == []


async def test_armed_load_waits_for_go(shell_agent: Agent) -> None:
    directory = Path(await start(shell_agent, sh("echo ran"), armed=True))
    stream = await shell_agent.stream("t", 0, 0)
    assert not (await shell_agent.status("t")).started
    assert not (directory / "load").exists()
    await stream.go()
    assert (await collect(stream))[0] == b"ran\n"
    assert (await ended(shell_agent)).exit_code == 0


async def test_armed_load_that_is_stopped_never_runs(shell_agent: Agent) -> None:
    directory = Path(await start(shell_agent, sh("echo ran >ran"), armed=True))
    await shell_agent.stop("t")
    status = await ended(shell_agent)
    assert (status.exit_code, status.reason, status.started) == (None, "stop", False)
    assert not (directory / "ran").exists()


async def test_stop_and_abort_go_over_the_open_stream_too(shell_agent: Agent) -> None:
    await start(shell_agent, sh("trap '' INT TERM; while :; do sleep 0.2; done"), grace_s=60)
    stream = await shell_agent.stream("t", 0, 0)
    await stream.stop(abort=True)
    await stream.stop(abort=False)  # too late: an abort is not taken back
    await collect(stream)
    assert (await ended(shell_agent)).reason == "abort"


async def test_abort_overtakes_a_stop_that_gives_the_load_its_time(shell_agent: Agent) -> None:
    await start(shell_agent, sh("trap '' INT TERM; while :; do sleep 0.2; done"), grace_s=60)
    await running(shell_agent, 1)
    await shell_agent.stop("t")
    await shell_agent.stop("t", abort=True)
    status = await ended(shell_agent)
    assert (status.reason, status.left) == ("abort", 0)


async def test_files_and_directories(shell_agent: Agent, tmp_path: Path) -> None:
    whole, holes, inner = tmp_path / "whole", tmp_path / "holes", tmp_path / "a" / "b"
    whole.write_bytes(b"x" * 8192)
    with holes.open("wb") as file:
        file.truncate(1 << 20)
    on_disk = {path: allocated(path) for path in (whole, holes)}
    found = await stat_files(
        shell_agent, [str(whole), str(holes), str(tmp_path / "none"), str(tmp_path)]
    )
    assert found[str(whole)] == FileInfo(8192, on_disk[whole], "file")
    assert found[str(holes)] == FileInfo(1 << 20, on_disk[holes], "file")
    assert found[str(tmp_path / "none")] is None
    assert (info := found[str(tmp_path)]) is not None and info.kind == "directory"
    assert await make_directories(shell_agent, [str(inner), str(tmp_path)]) == [
        str(tmp_path / "a"),
        str(inner),
    ]
    (inner / "file").write_text("x")
    gone = await removed(
        shell_agent, [str(tmp_path / "a"), str(inner), str(inner / "file"), str(tmp_path / "none")]
    )
    assert gone == [str(tmp_path / "a"), str(inner), str(inner / "file")]
    assert whole.exists()
