"""Checks of what hosts are and run: targets, files, commands, programs, devices."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.samples.evidence import direction, evidence, found, said
from tests.samples.telemetry import looked
from tui.judge.catalogue import BY_ID
from tui.judge.check import RunEvidence, UnknownError
from tui.judge.wording import message_of
from tui.model.plan import FileSpec, Headline, HostTask, JobLoad, Plan
from tui.model.record import Finding
from tui.model.step_record import HostTelemetryRecord, TelemetryColumn


def machines(**facts: Any) -> RunEvidence:
    """Return a run on two hosts; a fact that is a list has the value of each."""
    at = evidence({name: {"write": direction(1.0, 1.0)} for name in ("h1", "h2")})
    for index, host in enumerate(at.hosts):
        host.facts = {
            name: value[index] if isinstance(value, tuple) else value
            for name, value in facts.items()
        }
    return at


def test_hosts_that_differ_are_shown_as_a_difference() -> None:
    (only,) = found(
        "host-differences",
        machines(kernel=("Linux 6.1", "Linux 6.8"), hostname=("h1", "h2"), cpus=8),
    )
    assert message_of(only) == "hosts differ: kernel: Linux 6.1 on h1; Linux 6.8 on h2"
    assert found("host-differences", machines(kernel="Linux 6.1", hostname=("h1", "h2"))) == []


def test_hosts_of_one_boot_id_are_a_note() -> None:
    (only,) = found("one-machine", machines(boot_id="b1", hostname="n1"))
    assert (only.severity, only.scope["hosts"]) == ("info", "h1 h2")
    assert found("one-machine", machines(boot_id=("b1", "b2"), hostname="n1")) == []
    server = machines(boot_id="b1", hostname="n1")
    server.hosts[1].role = "server"
    for unknown in (machines(hostname="n1"), server):
        with pytest.raises(UnknownError):
            found("one-machine", unknown)


@pytest.mark.parametrize(
    ("fstype", "severity"),
    [("ext4", None), ("nfs4", None), ("tmpfs", "error"), ("fuse.ceph-fuse", "info")],
)
def test_a_target_in_memory_is_no_storage(fstype: str, severity: str | None) -> None:
    result = found("direct-io", machines(target_fstype=fstype))
    assert [each.severity for each in result] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("target", "mount", "severity"),
    [
        ("/mnt/weka/fio", "/", "info"),
        ("/data", "/", "info"),
        ("/homes/x", "/", "info"),
        ("/mnt/weka/fio", "/mnt/weka", None),
        ("/mnt/weka/fio", ("/", "/mnt/weka"), "warning"),
        ("/var/tmp", "/", None),
        ("/tmp/a/b", "/", None),
        ("/home/ann/fio", "/", None),
    ],
)
def test_a_target_on_the_root_file_system_may_be_a_storage_that_is_not_mounted(
    target: str, mount: str | tuple[str, str], severity: str | None
) -> None:
    at = machines(target=target, target_mount=mount, target_fstype="xfs", target_source="/dev/sda2")
    result = found("root-target", at)
    assert [each.severity for each in result] == ([severity] if severity else [])
    assert all("xfs, /dev/sda2" in message_of(each) for each in result)
    with pytest.raises(UnknownError):
        found("root-target", machines(kernel="6.1"))


@pytest.mark.parametrize(("target", "told"), [("/mnt/weka/fio", True), ("/home/ann", False)])
def test_a_bind_mount_of_the_root_file_system_is_no_storage(target: str, told: bool) -> None:
    at = machines(target=target, target_mount="/mnt/weka", target_on_root="yes", target_fstype="xfs")
    assert bool(found("root-target", at)) is told


@pytest.mark.parametrize(
    ("below", "direct", "severity"),
    [("loop", False, "warning"), ("loop", True, None), ("loop", None, None), ("disk", None, None)],
)
def test_direct_io_to_a_loop_device_whose_file_is_cached_is_none(
    below: str, direct: bool | None, severity: str | None
) -> None:
    device = {"name": "dev0", "kind": below, "direct": direct}
    at = machines(target_fstype="ext4", devices=([device], []))
    for job, expected in (
        (JobLoad("j", ("read",), direct=True), severity),
        (JobLoad("j", ("read",)), None),
    ):
        plan = replace(at.plan, steps=[replace(step, jobs=[job]) for step in at.plan.steps])
        result = found("direct-io", replace(at, plan=plan))
        assert [each.severity for each in result] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("jobs", "arch", "flags", "severity"),
    [
        ([True], "x86_64", [0o140002], None),
        ([True], "x86_64", [0o100002], "error"),
        ([True], "x86_64", [0o100002, 0o140002], None),  # opened for something else, too
        ([True], "x86_64", [], None),
        ([False], "x86_64", [0o100002], None),
        ([False], "x86_64", [0o140002], "error"),
        ([True, False], "x86_64", [0o100002], None),  # it may be the other job's
        ([True], "aarch64", [0o600002], None),
        ([False], "aarch64", [0o400002], None),  # O_LARGEFILE alone
        ([True], "aarch64", [0o400002], "error"),
        ([False], "ppc64le", [0o200002], None),
        ([True], "unheard-of", [0o2], None),
    ],
)
def test_files_are_opened_as_the_plan_says(
    jobs: list[bool], arch: str, flags: list[int], severity: str | None
) -> None:
    opened = [{"step": 0, "path": "/mnt/f", "flags": each} for each in flags]
    at = machines(target_fstype="ext4", open_files=(opened, []), arch=arch)
    loads = [JobLoad(f"j{number}", ("read",), direct=direct) for number, direct in enumerate(jobs)]
    plan = replace(at.plan, steps=[replace(step, jobs=loads) for step in at.plan.steps])
    result = found("direct-io", replace(at, plan=plan))
    assert [each.severity for each in result] == ([severity] if severity else [])


@pytest.mark.parametrize("direct", [True, False])
def test_one_worker_that_opens_its_file_otherwise_is_found_among_others(direct: bool) -> None:
    flags = {False: 0o100002, True: 0o140002}
    opened = [{"step": 0, "path": f"/mnt/f.{each}", "flags": flags[direct]} for each in range(8)]
    opened += [{"step": 0, "path": "/mnt/f.0", "flags": flags[not direct]}]
    assert files_opened(direct, opened) == []
    opened += [{"step": 0, "path": "/mnt/f.8", "flags": flags[not direct]}]
    assert [each.operands["paths"] for each in files_opened(direct, opened)] == [
        [["h1", "/mnt/f.8"]]
    ]


def files_opened(direct: bool, opened: list[dict[str, object]]) -> list[Finding]:
    """Return what is found if the first host has these files open, and all jobs say `direct`."""
    at = machines(target_fstype="ext4", open_files=(opened, []), arch="x86_64")
    loads = [JobLoad("j", ("read",), direct=direct)]
    plan = replace(at.plan, steps=[replace(step, jobs=loads) for step in at.plan.steps])
    return found("direct-io", replace(at, plan=plan))


PLANNED = ["fio", "--output-format=json+", "--eta=never", "job.fio"]
ARGUMENTS = " ".join(PLANNED[1:])


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        ({"words": f"/tmp/carried/fio {ARGUMENTS}"}, None),
        ({"words": f"/lib64/ld-linux.so.2 --library-path /opt/lib /opt/fio {ARGUMENTS}"}, None),
        ({"words": ""}, None),  # gone, or of a generator with its own commands
        ({"words": f"fio --cpus_allowed=0 {ARGUMENTS}"}, "warning"),
        ({"words": f"fio {ARGUMENTS} --readonly"}, "warning"),
        ({"words": f"fio --numa_cpu_nodes 0 --eta-newline=1 {ARGUMENTS}"}, "warning"),
        ({"words": f"/usr/bin/qemu-x86_64 /opt/fio-3.36 {ARGUMENTS}"}, "warning"),
        ({"words": f"/usr/bin/fio --buffer_pattern 0x00 {ARGUMENTS}"}, "error"),
        ({"words": f"/usr/bin/fio --buffer_pat=0x00 {ARGUMENTS}"}, "error"),
        ({"words": f"/opt/x --buffer_pattern 0x00 {ARGUMENTS}"}, "error"),  # renamed
        ({"words": f"fio {ARGUMENTS} -io_size 1m"}, "error"),
        ({"words": f"fio {ARGUMENTS.replace('--eta', '--size=1m --eta')}"}, "error"),
        ({"words": f"fio /tmp/other.fio {ARGUMENTS}"}, "error"),
        ({"words": f"fio --readonly /tmp/other.fio {ARGUMENTS}"}, "error"),
        ({"words": f"/lib64/ld-linux.so.2 /opt/fio --zero_buffers {ARGUMENTS}"}, "error"),
        ({"words": f"/lib64/ld-linux.so.2 --preload /opt/x.so /opt/fio {ARGUMENTS}"}, "warning"),
        ({"words": f"fio {ARGUMENTS.replace('job.fio', '/tmp/other.fio')}"}, "error"),
        ({"words": f"fio {ARGUMENTS}", "other_job": True}, "error"),
        ({"words": f"fio {ARGUMENTS}", "preload": "/opt/intercept.so"}, "info"),
        ({"words": f"fio {ARGUMENTS}", "program": "/opt/fio.real"}, "warning"),
        ({"words": f"fio {ARGUMENTS}", "program": "/usr/lib64/ld-linux-x86-64.so.2"}, None),
        ({"words": f"fio {ARGUMENTS}", "touched": True}, "warning"),
        ({"words": f"fio {ARGUMENTS}", "touched": True, "other_job": True}, "error"),
    ],
)
def test_a_load_runs_the_planned_command(command: dict[str, Any], severity: str | None) -> None:
    at = machines(load_commands=([{"step": 0, **command}], []))
    task = HostTask("h1", 1, "", PLANNED)
    plan = replace(at.plan, steps=[replace(step, tasks=[task]) for step in at.plan.steps])
    result = found("planned-command", replace(at, plan=plan))
    assert [each.severity for each in result] == ([severity] if severity else [])


def test_files_open_in_place_of_the_test_files_are_an_error() -> None:
    command = {"step": 0, "words": f"fio {ARGUMENTS}"}
    at = machines(load_commands=([command], [{**command, "elsewhere": "/dev/shm/x:/dev/shm/y"}]))
    files = [FileSpec("/mnt/f", 1 << 20)]
    tasks = [HostTask(host.name, 1, "", PLANNED, files=files) for host in at.hosts]
    (only,) = found("planned-command", repeated(at, tasks, 1))
    assert (only.severity, only.scope["hosts"]) == ("error", "h2")
    assert message_of(only) == (
        "the load has other files open than the test files on h2: /dev/shm/x, /dev/shm/y"
        " (planned: /mnt/f)"
    )


@pytest.mark.parametrize(
    ("words", "severities"),
    [
        (f"/opt/fio {ARGUMENTS}", []),
        (f"/opt/real {ARGUMENTS}", []),
        (f"/opt/real --size=1m {ARGUMENTS}", ["error"]),
        (None, ["warning"]),
    ],
)
@pytest.mark.parametrize("files", [False, True])
def test_over_a_network_a_script_that_waits_for_the_load_is_not_the_load(
    words: str | None, severities: list[str], files: bool
) -> None:
    script = [{"step": 0, "words": f"/bin/sh /usr/bin/fio {ARGUMENTS}"}]
    load = [{"step": 0, "words": words}] if words else []
    at = machines(load_commands=([*script, *load], []))
    task = HostTask("h1", 1, "", PLANNED, files=[FileSpec("/mnt/f", 1 << 20)] if files else [])
    plan = replace(at.plan, steps=[replace(step, tasks=[task]) for step in at.plan.steps])
    result = found("planned-command", replace(at, plan=plan))
    expected = sorted({*severities, "warning"}) if files else severities
    assert sorted(each.severity for each in result) == expected


@pytest.mark.parametrize(
    ("package", "severities"), [({"fio_package": "fio"}, ["warning"]), ({}, [])]
)
def test_libraries_in_place_of_the_systems_count_for_programs_of_a_package(
    package: dict[str, str], severities: list[str]
) -> None:
    command = {"step": 0, "words": f"fio {ARGUMENTS}", "replaced": "/opt/lib/libaio.so.1"}
    at, task = machines(load_commands=([command], []), **package), HostTask("h1", 1, "", PLANNED)
    plan = replace(at.plan, steps=[replace(step, tasks=[task]) for step in at.plan.steps])
    result = found("planned-command", replace(at, plan=plan))
    assert [each.severity for each in result] == severities


def test_a_host_with_another_command_in_several_steps_is_named_once() -> None:
    wrapped = [{"step": step, "words": "fio /tmp/other.fio"} for step in (0, 1)]
    added = [{"step": 0, "words": f"fio --cpus_allowed=0 {ARGUMENTS}"}]
    at = machines(load_commands=(wrapped, added))
    tasks = [HostTask(host.name, 1, "", PLANNED) for host in at.hosts]
    result = found("planned-command", repeated(at, tasks))
    assert [(each.severity, each.scope["hosts"]) for each in result] == [
        ("error", "h1"),
        ("warning", "h2"),
    ]


def repeated(at: RunEvidence, tasks: list[HostTask], count: int = 2) -> RunEvidence:
    """Return the run with this many steps, which are alike."""
    steps = [replace(at.plan.steps[0], index=index, tasks=tasks) for index in range(count)]
    records = [at.steps[0].model_copy(update={"index": index}) for index in range(count)]
    return replace(at, plan=replace(at.plan, steps=steps), steps=records)


def test_a_row_counts_for_each_of_its_steps_and_steps_that_were_not_read_are_named() -> None:
    command = {"step": 0, "words": f"fio {ARGUMENTS}", "later": "1-6 9"}
    other = {"step": 7, "words": f"fio --zero_buffers {ARGUMENTS}", "later": "11-4000000"}
    opened = {"step": 0, "path": "/mnt/f", "flags": 0o140002, "later": "1-9"}
    wrong = {"step": 10, "path": "/mnt/f", "flags": 0o100002}
    at = machines(
        target_fstype="ext4", arch="x86_64", load_commands=([command, other], []),
        open_files=([opened, wrong], []),
    )  # fmt: skip
    run = repeated(at, [HostTask(host.name, 1, "", PLANNED) for host in at.hosts], 13)
    for check, kinds, missed in (
        ("planned-command", ["error"], [8, 10]),
        ("direct-io", ["error"], [11, 12]),
    ):
        jobs = [JobLoad("j", ("read",), direct=True)]
        steps = [replace(step, jobs=jobs) for step in run.plan.steps]
        of = replace(run, plan=replace(run.plan, steps=steps))
        findings, unread = BY_ID[check].examine_all(of)
        assert [each.severity for each in findings] == kinds
        whole = [gap for gap in unread if not gap.hosts]
        assert [step for gap in whole for step in gap.steps] == missed


def test_a_load_that_trims_may_open_its_files_without_o_direct() -> None:
    opened = [{"step": 0, "path": "/mnt/f", "flags": 0o100002}]
    at = machines(target_fstype="ext4", open_files=(opened, []), arch="x86_64")
    loads = [JobLoad("j", ("trim",), direct=True)]
    plan = replace(at.plan, steps=[replace(step, jobs=loads) for step in at.plan.steps])
    assert found("direct-io", replace(at, plan=plan)) == []


@pytest.mark.parametrize(("share", "doubt"), [(0.8, False), (0.93, True)])
def test_a_target_that_is_nearly_full_is_reported(share: float, doubt: bool) -> None:
    assert bool(found("target-full", machines(target_full=(0.1, share)))) is doubt


def test_a_raid_that_is_rebuilt_is_named() -> None:
    raid = {"name": "md0", "kind": "md", "md_action": "resync", "md_done": "1024 / 2048"}
    (only,) = found("raid-rebuild", machines(devices=([], [raid])))
    assert message_of(only) == "h2: md0: resync 1024 / 2048"
    assert found("raid-rebuild", machines(devices=[{**raid, "md_action": "idle"}])) == []


def test_a_cpu_that_saves_power_is_a_note_and_for_latency_a_warning() -> None:
    at = machines(governor="powersave", clocksource="tsc")
    assert said("cpu-frequency", at) == [("info", 2)]
    plan = Plan(at.plan.profile, {}, at.plan.hosts, at.plan.steps, Headline("latency", "read"))
    assert said("cpu-frequency", replace(at, plan=plan)) == [("warning", 2)]


def test_a_slow_clock_is_a_warning() -> None:
    assert said("cpu-frequency", machines(clocksource=("tsc", "hpet"))) == [("warning", 1)]


def test_another_load_generator_on_a_host_is_named() -> None:
    (only,) = found("other-load", machines(cpus=2, running=([], [{"name": "dd", "pid": 7}])))
    assert message_of(only) == "other load generators were already running: h2 (dd)"


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        ({"fio_package": "fio", "fio_packaged": "as packaged"}, None),
        ({"fio_package": "fio", "fio_packaged": "changed"}, "warning"),
    ],
)
def test_a_program_that_differs_from_its_package_is_reported(
    facts: dict[str, str], severity: str | None
) -> None:
    assert [each.severity for each in found("changed-program", looked(facts))] == (
        [severity] if severity else []
    )


def test_a_program_that_no_package_owns_is_not_judged() -> None:
    with pytest.raises(UnknownError):
        found("changed-program", looked({"fio_version": "fio-3.35"}))


@pytest.mark.parametrize(
    ("flushes", "syncs", "fstype", "cache", "doubt"),
    [
        (122.0, 120.0, "ext4", "write back", False),
        (31.0, 120.0, "ext4", "write back", False),  # of four workers at once
        (2.0, 120.0, "ext4", "write back", True),
        (0.0, 120.0, "xfs", "write back", True),
        (0.0, 1.0, "xfs", "write back", False),  # 60 syncs
        (0.0, 120.0, "ext4", "write through", False),  # no volatile cache, no flush
        (0.0, 120.0, "btrfs", "write back", False),
        (None, 120.0, "ext4", "write back", False),  # Linux before 5.5
    ],
)
def test_syncs_that_reach_no_device_as_flushes_are_named(
    flushes: float | None, syncs: float, fstype: str, cache: str, doubt: bool
) -> None:
    means = {"dev.vda.wr": 1e6} | ({} if flushes is None else {"dev.vda.flushes": flushes})
    columns = [TelemetryColumn(name=name, unit="per_s", mean=mean) for name, mean in means.items()]
    host = HostTelemetryRecord(host="h1", start_s=0.0, end_s=60.0, columns=columns)
    dirs = {"write": direction(syncs, 1e6), "sync": direction(syncs, 1e6, round(60 * syncs))}
    at = evidence(
        {"h1": dirs},
        jobs=[JobLoad("w", ("write",), workers=4, held=4, direct=True, durable="fsync=1")],
        facts={
            "target_fstype": fstype,
            "devices": [{"name": "vda", "write_cache": cache}],
        },
        telemetry=[host],
    )
    result = [each for each in found("flush-no-op", at) if "syncs/s" in message_of(each)]
    assert bool(result) is doubt
