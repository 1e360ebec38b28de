"""Hosts that use the same file of a shared file system: told before the launch and in the
record, made once.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.e2e.command import benchtui
from tests.engine.test_planning import plan
from tests.lab.course import LOAD, course
from tests.lab.disks import quietly
from tests.lab.sshd import SshdLab
from tui.engine.preflight.clean import clean, created_of
from tui.engine.preflight.destroy import HostFindings
from tui.engine.preflight.made_files import MadeFiles
from tui.engine.preflight.rules import identified_by
from tui.engine.run.preflight import shared_files
from tui.engine.run.run import execute
from tui.library.build import build_record
from tui.model.hostfacts import Fact
from tui.model.plan import Plan
from tui.model.shared_files import common_paths, paths_used_at_once, same_files, sharing_note
from tui.remote.answers import DirFacts, HostProbe
from tui.remote.connections import Connections
from tui.text.run_texts import run_text

WHERE = "/mnt/t"


def one_path() -> Plan:
    """Two hosts that use the same files."""
    step = plan().steps[0]
    first, second = step.tasks
    return replace(plan(), steps=[replace(step, tasks=[first, replace(second, files=first.files)])])


def on(fstype: str, source: str, machine: str) -> HostFindings:
    path = one_path().steps[0].tasks[0].files[0].path
    room = DirFacts(WHERE, True, True, False, True, fstype, source, WHERE, "rw", 2**40, 2**39)
    return HostFindings(HostProbe({"boot_id": machine}, {}), room={str(Path(path).parent): room})


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (("nfs4", "server:/export", "a"), ("nfs4", "server:/export", "b"), True),
        (("nfs4", "server:/export", "a"), ("nfs4", "server:/other", "b"), False),
        (("wekafs", "default", "a"), ("wekafs", "default", "b"), True),
        (("ext4", "/dev/sda1", "a"), ("ext4", "/dev/sda1", "b"), False),
        (("ext4", "/dev/sda1", "a"), ("ext4", "/dev/sda1", "a"), True),
        (("ext4", "/dev/sda1", "unknown"), ("ext4", "/dev/sda1", "unknown"), False),
        (("nfs4", "server:/export", "unknown"), ("nfs4", "server:/export", "unknown"), True),
    ],
)
def test_the_same_path_is_one_file_on_one_file_system(
    first: tuple[str, str, str], second: tuple[str, str, str], shared: bool
) -> None:
    found = shared_files(one_path(), {"h1": on(*first), "h2": on(*second)})
    assert [each.hosts for each in found] == ([("h1", "h2")] if shared else [])


def test_files_of_their_own_are_no_common_paths() -> None:
    assert (common_paths(plan()), sharing_note(plan())) == ({}, "")


def test_what_one_host_writes_and_another_one_reads_later_is_not_used_at_once() -> None:
    given = one_path()
    first, second = given.steps[0].tasks
    later = replace(given.steps[0], index=1, tasks=[second])
    handed_on = replace(given, steps=[replace(given.steps[0], tasks=[first]), later])
    assert all(hosts == ["h1", "h2"] for hosts in common_paths(handed_on).values())
    assert (paths_used_at_once(handed_on), sharing_note(handed_on)) == ({}, "")


def test_devices_of_the_same_name_are_each_host_s_own() -> None:
    given = one_path()
    step = given.steps[0]
    tasks = [
        replace(task, files=[replace(spec, path="/dev/nvme0n1") for spec in task.files])
        for task in step.tasks
    ]
    assert common_paths(replace(given, steps=[replace(step, tasks=tasks)])) == {}


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    """A profile whose hosts use the same path."""
    path = tmp_path / "fixed.yaml"
    path.write_text(
        LOAD.read_text().replace("{directory}/{host}", "{directory}").replace("randread", "randrw")
    )
    return path


def test_it_is_reported_before_the_launch(home: Path, lab: SshdLab, fixed: Path) -> None:
    words = (
        "run",
        fixed,
        "--hosts",
        "h[1-2]",
        "--ssh-config",
        lab.ssh_config,
        "--set",
        f"directory={home}",
    )
    done = benchtui(home, *words, "--dry-run")
    (line,) = [
        line
        for line in done.stdout.splitlines()
        if line.startswith("note ") and "h1, h2 write" in line
    ]
    assert "on a shared file system this is one file" in line


@pytest.mark.e2e
@pytest.mark.parametrize("layout", ["true", pytest.param("false", marks=pytest.mark.slow)])
async def test_one_file_is_told_made_and_counted_once(
    home: Path, lab: SshdLab, fixed: Path, layout: str
) -> None:
    fixed.write_text(fixed.read_text().replace("layout: true", f"layout: {layout}"))
    for _ in range(2):  # the second run meets the file as one of ours, on both hosts
        async with course(home, lab, "1s", hosts=2, profile=fixed, cleanup=False) as run:
            end = await execute(run.ctx)
        assert end.state == "complete", run.events("host_problem")
        record = build_record(run.ctx.run_dir)
        told = [run_text(message.text) for message in record.messages]
        (said,) = [text for text in told if "the same file" in text]
        assert said.startswith("h1, h2 write the same file")
        assert [finding.scope for finding in record.findings if finding.id == "shared-files"] == [
            {"hosts": "h1 h2"}
        ]
        runs = [*locals().get("runs", []), run]
    first = build_record(runs[0].ctx.run_dir)
    left = [
        (host.name, host.files_left.paths, host.files_left.bytes)
        for host in first.hosts
        if host.files_left
    ]
    (file,) = [str(path) for path in home.glob("load.*")]
    assert left == [("h1", [file], 4 << 20)]
    async with Connections(ssh_config=lab.ssh_config) as connections:
        created = created_of(runs[0].ctx.plan, first)
        (cleaned,) = await clean(runs[0].ctx.run_dir, created, connections, lambda _: None)
    assert list(cleaned.goes) == [file] and not Path(file).exists()
    made_files = MadeFiles.beside(run.ctx.run_dir)
    assert [made_files.sizes(host) for host in ("h1", "h2")] == [{}, {}]


@pytest.mark.e2e
async def test_one_directory_by_two_names_is_reported(home: Path, lab: SshdLab) -> None:
    for host in ("h1", "h2"):
        (home / host).mkdir()
    if subprocess.run(
        ["mount", "--bind", home / "h1", home / "h2"], capture_output=True
    ).returncode:
        pytest.skip("bind mounts need root")
    try:
        async with course(home, lab, "1s", hosts=2) as run:
            assert (await execute(run.ctx)).state == "complete", run.events("host_problem")
    finally:
        quietly("umount", home / "h2")
    record = build_record(run.ctx.run_dir)
    assert [finding.scope for finding in record.findings if finding.id == "shared-files"] == [
        {"hosts": "h1 h2"}
    ]
    assert [each for each in record.messages if " are the same file" in run_text(each.text)]


FILE = {"file_system": "boot 1 ef53:2", "identity": "77"}


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"path": "/a/f"} | FILE, {"path": "/b/f"} | FILE, True),  # a hard link, a bind mount
        ({"path": "/a/f"} | FILE, {"path": "/a/f"} | FILE, True),  # in two containers
        ({"path": "/a/f"} | FILE, {"path": "/b/f"} | FILE | {"identity": "78"}, False),
        # cloned disks
        (
            {"path": "/a/f"} | FILE,
            {"path": "/b/f"} | FILE | {"file_system": "boot 2 ef53:2"},
            False,
        ),
    ],
)
def test_a_file_is_what_it_is_and_not_what_it_is_called(
    first: dict[str, str], second: dict[str, str], same: bool
) -> None:
    two: dict[str, dict[str, Fact]] = {"h1": {"files": [first]}, "h2": {"files": [second]}}
    assert same_files(two) == ([[("h1", first["path"]), ("h2", second["path"])]] if same else [])
    if first["path"] != second["path"]:
        one: dict[str, dict[str, Fact]] = {"h1": {"files": [first, second]}}
        assert same_files(one) == (
            [[("h1", first["path"]), ("h1", second["path"])]] if same else []
        )


def test_a_path_that_hosts_are_known_to_share_is_reported_once() -> None:
    facts: dict[str, Fact] = {"files": [{"path": "/a/f"} | FILE], "shares_files_with": "h1 h2"}
    assert same_files({"h1": facts, "h2": facts}) == []


@pytest.mark.parametrize(
    ("fstype", "source", "names"),
    [
        ("ext4", "/dev/sda1", ("m1", "m1", "m2")),
        ("nfs4", "server:/export", ("nfs4", "nfs4", "nfs4")),
        ("overlay", "overlay", ("m1 c1", "m1 c2", "m2 c1")),
    ],
)
def test_an_inode_is_a_machine_s_own_but_on_network_file_systems(
    fstype: str, source: str, names: tuple[str, ...]
) -> None:
    path = one_path().steps[0].tasks[0].files[0].path
    places = [("m1", "c1"), ("m1", "c2"), ("m2", "c1")]
    found = [on(fstype, source, machine) for machine, _ in places]
    named = [
        replace(
            each, probe=replace(each.probe, values={**each.probe.values, "hostname": container})
        )
        for each, (_, container) in zip(found, places, strict=True)
    ]
    assert tuple(identified_by("h", each, path) for each in named) == names
