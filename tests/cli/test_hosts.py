"""`benchtui hosts`: list, check, trust, add, sweep, as a user types them, on real sshd
instances.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import asyncssh
import pytest

from tests.e2e.command import benchtui
from tests.lab import mdtest_standin
from tests.lab.faults import marked
from tests.lab.sshd import SshdLab
from tui.engine.preflight import mpi_hosts
from tui.model.address import HostAddress
from tui.model.operands import clause
from tui.remote.agent import Agent, Lease
from tui.remote.connections import Connections
from tui.remote.mpi import MpiFacts, parse_facts
from tui.text.problem_texts import problem_text


def lines(text: str) -> dict[str, list[str]]:
    """The words of each line of a table by its first one."""
    return {words[0]: words for line in text.splitlines() if (words := line.split())}


def test_list_names_inventory_ssh_configuration_and_this_machine(home: Path, lab: SshdLab) -> None:
    (home / "inventory.yaml").write_text("hosts:\n  weka-[01-02]: {groups: [clients]}\n")
    done = benchtui(home, "hosts", "list", "--ssh-config", lab.ssh_config)
    assert done.returncode == 0, done.stderr
    table = lines(done.stdout)
    assert table["weka-01"][1:] == ["inventory", "@clients"]
    assert table["h1"][1:] == ["ssh", "config"]
    assert table["local"][1:] == ["this", "machine"]
    rows = json.loads(
        benchtui(home, "hosts", "list", "--ssh-config", lab.ssh_config, "--json").stdout
    )
    assert [row["name"] for row in rows] == ["weka-01", "weka-02", "h1", "h2", "h3", "h4", "local"]


def test_list_takes_hosts_as_check_does(home: Path, lab: SshdLab) -> None:
    options = ("--ssh-config", lab.ssh_config)
    done = benchtui(home, "hosts", "list", "h[2-3]", "local", "localhost", *options)
    assert [line.split(maxsplit=1) for line in done.stdout.splitlines()] == [
        ["h2", "ssh config"],
        ["h3", "ssh config"],
        ["local", "this machine"],
        ["localhost", "command line"],
    ]
    unknown = benchtui(home, "hosts", "list", "nosuchhost.invalid", *options)
    assert (unknown.returncode, unknown.stdout) == (2, "") and "unknown host" in unknown.stderr


def test_check_of_good_hosts_is_a_table_and_code_0(home: Path, lab: SshdLab) -> None:
    directory = lab.host("h1").directory
    done = benchtui(
        home,
        "hosts",
        "check",
        "h[1-4]",
        "local",
        "--ssh-config",
        lab.ssh_config,
        "--dir",
        directory,
    )
    assert done.returncode == 0, done.stderr
    table = lines(done.stdout)
    for name in ("h1", "h2", "h3", "h4", "local"):
        assert table[name][1] == "ok"
        assert table[name][2].startswith("fio-3.")
        # behind other load generators, where there are any
        assert str(os.cpu_count()) in table[name][3:]


def test_check_tells_each_bad_host_what_is_wrong_and_ends_with_3(
    home: Path, lab: SshdLab, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(f"{lab.ssh_config.read_text()}\nHost dead\n  HostName 127.0.0.1\n  Port 1\n")
    unknown = (
        lab.ssh_config_unknown.read_text().split("Host ")[1].replace("h1\n", "Host stranger\n", 1)
    )
    config.write_text(config.read_text() + unknown)
    done = benchtui(
        home,
        "hosts",
        "check",
        "h1",
        "dead",
        "stranger",
        "--ssh-config",
        config,
        "--dir",
        "/no/such",
        "--json",
    )
    assert done.returncode == 3
    found = {row["name"]: (row["ok"], row["code"]) for row in json.loads(done.stdout)}
    assert found == {
        "h1": (False, "dir-missing"),
        "dead": (False, "refused"),
        "stranger": (False, "host-key-unknown"),
    }


def copies_of(program: Path) -> list[str]:
    """Return what checks have left of a program; other tests may be checking theirs."""
    size, left = program.stat().st_size, list[str]()
    for folder, _, files in chain.from_iterable(map(os.walk, Path("/tmp").glob(".benchtui-*"))):
        if "/check-" in folder and program.name in files:
            with suppress(FileNotFoundError):
                path = Path(folder, program.name)
                left += [str(path)] if path.stat().st_size == size else []
    return left


def test_check_runs_programs_that_it_copies_and_leaves_nothing(
    home: Path, lab: SshdLab, tmp_path: Path
) -> None:
    mine = tmp_path / "fio"
    mine.write_bytes(Path(shutil.which("fio") or "").read_bytes() + b"another one")
    mine.chmod(0o644)
    options = ("--ssh-config", lab.ssh_config, "--json")
    done = benchtui(home, "hosts", "check", "h[1-2]", *options, "--with", tmp_path)
    assert done.returncode == 0, done.stderr
    sha256 = hashlib.sha256(mine.read_bytes()).hexdigest()
    for row in json.loads(done.stdout):
        assert row["copied"] == ["fio"]
        assert row["facts"]["fio_path"] == str(mine)
        assert row["facts"]["fio_sha256"] == sha256
        assert row["facts"]["fio_version"].startswith("fio-3.")
    assert not copies_of(mine)


def test_check_tells_of_a_copied_program_that_does_not_run(
    home: Path, lab: SshdLab, tmp_path: Path
) -> None:
    """The setting does what --with does; the host's own fio is not judged instead."""
    loader = b"/lib64/ld-linux"
    data = Path(shutil.which("fio") or "").resolve().read_bytes()
    if loader not in data:
        pytest.skip("no dynamic linker of this name to break")
    broken = data.replace(loader, b"/lib64/no-linux", 1) + b"broken"
    (tmp_path / "fio").write_bytes(broken)
    (home / "config.yaml").write_text(f"programs: {tmp_path}\n")
    options = ("--ssh-config", lab.ssh_config, "--json")
    done = benchtui(home, "hosts", "check", "h1", *options)
    assert done.returncode == 3, done.stderr
    (row,) = json.loads(done.stdout)
    assert row["code"] == "fio-unusable"
    assert "fio is dynamically linked: the hosts need the same libraries" in done.stderr
    assert f"{tmp_path}/fio does not run" in row["message"]
    assert "dynamically linked" in row["message"]
    assert not copies_of(tmp_path / "fio")


def test_check_tells_of_a_tmp_that_programs_cannot_run_from(home: Path, tmp_path: Path) -> None:
    shell = "unshare -m sh -c 'mount -t tmpfs -o noexec tmpfs /tmp && exec sh'"
    if subprocess.run(shlex.split(shell), input=b"", check=False, capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
    shutil.copy(shutil.which("fio") or "", tmp_path / "fio")
    (home / "inventory.yaml").write_text(f'hosts:\n  box: {{exec: "{shell}"}}\n')
    done = benchtui(home, "hosts", "check", "box", "--with", tmp_path)
    assert done.returncode == 3
    assert "noexec" in done.stdout


def test_unknown_name_is_one_line_and_code_2(home: Path, lab: SshdLab) -> None:
    done = benchtui(home, "hosts", "check", "h9.invalid", "--ssh-config", lab.ssh_config)
    assert done.returncode == 2
    assert done.stderr.startswith("benchtui: unknown host 'h9.invalid'")
    assert "Traceback" not in done.stderr


def test_trust_pins_new_keys_once_and_check_succeeds_then(home: Path, lab: SshdLab) -> None:
    options = ("--ssh-config", lab.ssh_config_unknown)
    asked = benchtui(home, "hosts", "trust", "h[1-2]", *options)
    assert asked.returncode == 3 and "nothing pinned;" in asked.stderr
    assert lab.host("h1").fingerprint in asked.stdout and lab.host("h2").fingerprint in asked.stdout
    assert not (home / "known_hosts").exists()
    assert benchtui(home, "hosts", "trust", "h[1-2]", "--yes", *options).returncode == 0
    assert len((home / "known_hosts").read_text().splitlines()) == 2
    assert benchtui(home, "hosts", "check", "h[1-2]", *options).returncode == 0
    again = benchtui(home, "hosts", "trust", "h[1-2]", *options)
    assert again.returncode == 0 and again.stdout.count("already trusted") == 2
    assert len((home / "known_hosts").read_text().splitlines()) == 2


def test_trust_refuses_a_changed_key_even_with_yes(home: Path, lab: SshdLab) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519")
    pinned = f"[127.0.0.1]:{lab.host('h1').port} {other.export_public_key().decode()}"
    (home / "known_hosts").write_text(pinned)
    done = benchtui(home, "hosts", "trust", "h1", "--yes", "--ssh-config", lab.ssh_config_unknown)
    assert done.returncode == 3
    assert lab.host("h1").fingerprint in done.stderr and other.get_fingerprint() in done.stderr
    assert (home / "known_hosts").read_text() == pinned


def test_add_keeps_comments_and_the_rest(home: Path, lab: SshdLab) -> None:
    path = home / "inventory.yaml"
    path.write_text("# racks 1 and 2\nhosts:\n  old: {port: 2200}  # since May\n")
    add = ("hosts", "add", "new-[1-2]", "--user", "bench", "--port", "2222", "--group", "clients")
    assert benchtui(home, *add).returncode == 0
    text = path.read_text()
    assert "# racks 1 and 2" in text and "# since May" in text
    listed = lines(benchtui(home, "hosts", "list", "--ssh-config", lab.ssh_config).stdout)
    assert listed["new-2"][-1] == "@clients" and "old" in listed


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("new[1", "--port", "22"), "brackets"),
        (("new", "--port", "70000"), "port"),
        (("new-[1-2]", "--address", "10.0.0.1"), "names 2 hosts"),
    ],
)
def test_add_of_nonsense_changes_nothing(home: Path, args: tuple[str, ...], said: str) -> None:
    path = home / "inventory.yaml"
    path.write_text("hosts:\n  old: {}\n")
    done = benchtui(home, "hosts", "add", *args)
    assert done.returncode == 2
    assert said in done.stderr and "Traceback" not in done.stderr
    assert path.read_text() == "hosts:\n  old: {}\n"


@pytest.fixture
def left(lab: SshdLab) -> Iterator[tuple[str, Path]]:
    """A run that is still running on h1, without anybody who follows it: its id and its
    directory there.
    """
    run_id = f"test-{uuid.uuid4().hex[:12]}"
    yield run_id, asyncio.run(leave_behind(lab, run_id))
    asyncio.run(end(lab, run_id))


def test_sweep_leaves_a_supervised_run_alone_unless_it_is_named(
    home: Path, lab: SshdLab, left: tuple[str, Path]
) -> None:
    run_id, directory = left
    options = ("--ssh-config", lab.ssh_config)
    listed = benchtui(home, "hosts", "sweep", "h1", *options)
    assert f"run {run_id}: 1 process, still running" in listed.stdout
    assert "left alone" in listed.stderr
    asked = benchtui(home, "hosts", "sweep", "h1", "--run", run_id, *options)
    assert asked.returncode == 3 and "nothing changed, 1 leftover remains on h1" in asked.stderr
    assert directory.exists()
    swept = benchtui(home, "hosts", "sweep", "h1", "--run", run_id, "--yes", *options)
    assert swept.returncode == 0 and "stopped and removed 1 leftover\n" in swept.stderr
    assert not directory.exists()


def test_sweep_ends_what_a_dead_supervisor_left(
    home: Path, lab: SshdLab, left: tuple[str, Path]
) -> None:
    run_id, directory = left
    kill_shells(int((directory / "pid").read_text().split()[0]))
    done = benchtui(
        home, "hosts", "sweep", "h1", "--run", run_id, "--yes", "--ssh-config", lab.ssh_config
    )
    assert f"run {run_id}: 1 process, ended" in done.stdout
    assert done.returncode == 0, done.stderr
    assert not directory.exists() and not marked(run_id)


def kill_shells(supervisor: int) -> None:
    """Kill a task's supervisor with its guard, runner and keeper, so that nothing but a sweep ends
    the load.
    """
    os.kill(supervisor, signal.SIGSTOP)
    children = children_of(supervisor)
    keepers = [
        each
        for child in children
        for each in children_of(child)
        if Path(f"/proc/{each}/comm").read_text() == "sh\n"
    ]
    for shell in (*keepers, *children, supervisor):
        os.kill(shell, signal.SIGKILL)


def children_of(process: int) -> list[int]:
    """Return the processes that a process started."""
    return [
        int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


LEFT_TO_TRIAL = problem_text(clause("left-to-trial"))


async def leave_behind(lab: SshdLab, run_id: str) -> Path:
    """Start a load on h1, and go."""
    async with Connections(ssh_config=lab.ssh_config) as connections:
        agent = Agent(await connections.connect(HostAddress(name="h1")), run_id)
        started = await agent.start("t", ["sleep", "300"], {}, lease=Lease(300, 1), armed=False)
        while not (Path(started) / "load").exists():
            await asyncio.sleep(0.05)
        return Path(started)


async def end(lab: SshdLab, run_id: str) -> None:
    async with Connections(ssh_config=lab.ssh_config) as connections:
        agent = Agent(await connections.connect(HostAddress(name="h1")), run_id)
        await agent.sweep(kill=True)
        await agent.clean()


def test_check_tells_which_mpi_there_is_and_whether_a_program_over_all_hosts_could_run(
    home: Path, lab: SshdLab, tmp_path: Path
) -> None:
    """A shell's PATH finds a program in one host's home alone."""
    found = mdtest_standin.install(tmp_path)
    checked = benchtui(home, "hosts", "check", "h1", "h2", "--ssh-config", lab.ssh_config, "--json")
    rows = json.loads(checked.stdout)
    if shutil.which("mpiexec") is not None:
        assert all(" 4." in row["facts"]["mpi"] or " 5." in row["facts"]["mpi"] for row in rows)
    seen = {"h1": {"mdtest": facts(program=str(found))}, "h2": {"mdtest": facts()}, "h3": {}}
    told = mpi_hosts.notes(seen)
    assert told["h1"][-1] == f"mdtest: {LEFT_TO_TRIAL}"
    assert "mdtest: mdtest not found by me" in told["h2"]
    assert told["h3"] == []
    assert mpi_hosts.notes({"h2": seen["h2"]}) == {"h2": []}, "nobody asked for it"
    assert mpi_hosts.facts_of(seen["h1"])["mpi"] == "MPICH 4.0.2"
    assert mpi_hosts.facts_of(seen["h1"])["mdtest_path"] == str(found)


def test_what_is_true_of_several_hosts_and_tools_is_one_line() -> None:
    host = {tool: facts(program="/x", addresses="10.0.0.1/24") for tool in ("mdtest", "io500")}
    lines = [
        line for lines in mpi_hosts.notes(dict.fromkeys("abcd", host)).values() for line in lines
    ]
    clashes = [line for line in lines if "10.0.0.1" in line]
    assert clashes == ["io500, mdtest: has the same address 10.0.0.1 as a, c, d"]
    assert sum(LEFT_TO_TRIAL in line for line in lines) == 1


def facts(**more: str) -> MpiFacts:
    mpich = "/usr/bin/mpiexec.hydra|HYDRA build details: Version: 4.0.2 Release Date"
    return parse_facts({"user": "me", "launcher.mpiexec.hydra": mpich, **more})
