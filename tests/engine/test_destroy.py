"""What may be overwritten: only what nobody uses, what holds nothing, and what somebody has
named.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.engine.test_planning import H1, H2, plan
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.preflight.destroy import (
    HostFindings,
    judge_again,
    judge_targets,
    names_for,
    ours,
    to_identify,
    unnamed_devices,
)
from tui.engine.preflight.made_files import Files
from tui.engine.preflight.preview import check_names, overwrites
from tui.model.plan import FileSpec, HostTask, Plan, Step
from tui.model.problem import UsageError
from tui.remote.answers import FileInfo, HostProbe
from tui.remote.devices import DeviceFacts, DeviceSignature, DeviceUse, UnreadPart
from tui.text.problem_texts import problem_text

DISK = DeviceFacts(
    "/dev/sdb",
    "block",
    "/dev/sdb",
    "sdb",
    "8:16",
    size_bytes=1 << 40,
    model="PM1733",
    serial="S4",
    readable=True,
    writable=True,
)


def with_task(destroy: tuple[str, ...] = (), **changes: object) -> Plan:
    """A plan whose one task on h1 is changed."""
    step = plan().steps[0]
    given = {"host": "h1", "randseed": 1, "job_file": "", "argv": ["fio"], **changes}
    return replace(
        plan(),
        steps=[replace(step, tasks=[HostTask(**given)])],  # type: ignore[arg-type]
        allow_device=True,
        destroy=destroy,
    )


def writes_to(path: str, destroy: tuple[str, ...] = (), **changes: object) -> Plan:
    return with_task(destroy, files=[FileSpec(path, 1 << 20)], writes_bytes=1 << 20, **changes)


def judged(
    plan: Plan,
    files: dict[str, FileInfo | None] | None = None,
    *,
    devices: tuple[DeviceFacts, ...] = (),
) -> list[tuple[str, str]]:
    findings = HostFindings(
        HostProbe({}, {}), files or {}, {facts.path: facts for facts in devices}
    )
    return [(code, problem_text(told)) for code, told in judge_targets(plan, "h1", findings)]


def change(**facts: object) -> DeviceFacts:
    return replace(DISK, **facts)


def test_a_free_disk_must_be_named() -> None:
    assert judged(writes_to("/dev/sdb"), devices=(DISK,)) == [
        (
            "destroy-not-confirmed",
            (
                "/dev/sdb (1 TiB, PM1733, serial S4, 8:16) will be overwritten; to confirm,"
                " type its name on Review or use --destroy /dev/sdb (--yes is not enough)"
            ),
        )
    ]
    assert judged(writes_to("/dev/sdb", ("/dev/sdb",)), devices=(DISK,)) == []


@pytest.mark.parametrize("destroy", [("/dev",), ("/",), ("/dev/sdb1",), ("sdb",)])
def test_only_its_own_path_names_a_disk(destroy: tuple[str, ...]) -> None:
    assert [code for code, _ in judged(writes_to("/dev/sdb", destroy), devices=(DISK,))] == [
        "destroy-not-confirmed"
    ]


@pytest.mark.parametrize(
    ("facts", "code", "says"),
    [
        (
            change(uses=(DeviceUse("sdb1", "mount", "/data"),)),
            "device-mounted",
            "sdb1 is mounted at /data",
        ),
        (change(uses=(DeviceUse("sdb", "swap"),)), "device-in-use", "sdb is swap"),
        (
            change(uses=(DeviceUse("sdb", "holder", "dm-1 LVM-x vg-lv"),)),
            "device-in-use",
            "part of LVM vg-lv (dm-1)",
        ),
        (
            change(uses=(DeviceUse("sdb", "ceph", "/var/lib/ceph/osd/0/block"),)),
            "device-in-use",
            "Ceph OSD",
        ),
        (
            change(uses=(DeviceUse("sdb", "open", "7 qemu"),)),
            "device-in-use",
            "open in process 7 (qemu)",
        ),
        (
            change(signatures=(DeviceSignature("sdb", "xfs"),)),
            "device-has-filesystem",
            "wipefs --all /dev/sdb",
        ),
        (
            change(unread=(UnreadPart("sdb", 9, "/dev/sdb"),)),
            "device-unreadable",
            "cannot inspect /dev/sdb",
        ),
        (change(name="", number=""), "device-unknown", "not in /sys"),
        (change(read_only=True), "device-read-only", "is read-only"),
        (change(writable=False), "device-not-writable", "not writable"),
        (change(kind="other"), "target-not-a-device", "not a device"),
    ],
)
def test_naming_a_disk_overrides_no_refusal(facts: DeviceFacts, code: str, says: str) -> None:
    ((found, message),) = judged(writes_to("/dev/sdb", ("/dev/sdb",)), devices=(facts,))
    assert (found, says in message) == (code, True), message


def test_partitions_are_wiped_before_their_table() -> None:
    table = (DeviceSignature("sdb", "gpt", "0x200"), DeviceSignature("sdb", "gpt", "0xfff"))
    held = (*table, DeviceSignature("sdb1", "vfat"))
    ((_, message),) = judged(writes_to("/dev/sdb"), devices=(change(signatures=held),))
    assert (
        message == "/dev/sdb contains a partition table (gpt), vfat on sdb1; if no longer needed, "
        "remove it first: wipefs --all /dev/sdb1 /dev/sdb"
    )


def test_a_disk_that_is_only_read_needs_no_name() -> None:
    mounted = change(uses=(DeviceUse("sdb", "mount", "/data"),))
    assert (
        judged(with_task(files=[FileSpec("/dev/sdb", 0)], writes_bytes=0), devices=(mounted,)) == []
    )


def test_a_disk_that_others_jobs_only_read_needs_no_name() -> None:
    files = [FileSpec("/dev/sdb", 0), FileSpec("/dev/sdc", 0)]
    only_sdc = with_task(files=files, writes_bytes=None, only_read=["/dev/sdb"])
    assert unnamed_devices(only_sdc) == ["/dev/sdc"]


def test_files_of_another_user_must_be_named() -> None:
    full = FileInfo(1 << 20, 1 << 20)
    ((code, message),) = judged(writes_to("/data/db.img"), {"/data/db.img": full})
    assert (code, "--destroy /data/db.img " in message) == ("destroy-not-confirmed", True)
    for name in ("/data/db.img", "/data"):
        assert judged(writes_to("/data/db.img", (name,)), {"/data/db.img": full}) == []


def test_files_that_hold_nothing_or_are_not_there_need_no_name() -> None:
    assert judged(writes_to("/data/db.img"), {"/data/db.img": FileInfo(0, 0)}) == []
    assert judged(writes_to("/data/db.img"), {"/data/db.img": None}) == []


def test_a_file_that_is_read_is_laid_out_again_only_when_named() -> None:
    reads = with_task(files=[FileSpec("/data/f", 1 << 20)], writes_bytes=0, layout=True)
    assert judged(reads, {"/data/f": FileInfo(1 << 20, 1 << 20)}) == []
    assert [code for code, _ in judged(reads, {"/data/f": FileInfo(4096, 4096)})] == [
        "destroy-not-confirmed"
    ]


@pytest.mark.parametrize(("size", "asked"), [(0, False), (9, True), (1 << 20, False)])
def test_fio_lays_out_a_short_file_that_is_only_read(size: int, asked: bool) -> None:
    reads = with_task(files=[FileSpec("/data/f", 1 << 20)], writes_bytes=0)
    assert overwrites(reads)
    found = judged(reads, {"/data/f": FileInfo(size, size)})
    assert [code for code, _ in found] == ["destroy-not-confirmed"] * asked
    assert judged(replace(reads, destroy=("/data",)), {"/data/f": FileInfo(size, size)}) == []


def test_what_fio_leaves_alone_needs_no_name() -> None:
    holes = FileInfo(1 << 20, 4096)
    reads = with_task(files=[FileSpec("/data/f", 1 << 20)], writes_bytes=0)
    assert judged(reads, {"/data/f": holes}) == [], "only our layout fills holes"
    stats = with_task(files=[FileSpec("/data/f", 1 << 20)], writes_bytes=0, expects="present")
    assert judged(stats, {"/data/f": FileInfo(9, 9)}) == []
    unsized = with_task(files=[FileSpec("/data/f", 0)], writes_bytes=0)
    assert (overwrites(unsized), judged(unsized, {"/data/f": FileInfo(9, 9)})) == (False, [])


def again(**facts: object) -> list[str]:
    return [code for code, _ in judge_again(DISK, change(**facts), written=True)]


def test_a_device_that_is_as_before_is_used_again() -> None:
    random_data = DeviceSignature("sdb", "dos")  # what our own steps wrote may look like anything
    assert again() == again(signatures=(random_data,)) == again(serial="") == []


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"kind": ""}, "device-missing"),
        ({"kind": "other"}, "target-not-a-device"),
        ({"number": "8:32"}, "device-changed"),
        ({"serial": "S5"}, "device-changed"),
        ({"size_bytes": 1 << 30}, "device-changed"),
        ({"uses": (DeviceUse("sdb", "swap"),)}, "device-in-use"),
    ],
)
def test_a_device_that_is_not_as_before_is_not_used_again(
    facts: dict[str, object], code: str
) -> None:
    assert again(**facts) == [code]


def test_a_device_in_use_may_be_read_again_but_not_made_as_a_file() -> None:
    used, gone = change(uses=(DeviceUse("sdb", "swap"),)), DeviceFacts("/dev/sdb")
    assert list(judge_again(DISK, used, written=False)) == []
    assert [code for code, _ in judge_again(None, gone, written=False)] == ["device-missing"]


def test_a_link_to_a_disk_would_be_laid_out() -> None:
    link = change(path="/data/disk")
    reads = with_task(files=[FileSpec("/data/disk", 1 << 20)], writes_bytes=0, layout=True)
    found = judged(reads, {"/data/disk": FileInfo(0, 0, "block")}, devices=(link,))
    assert [code for code, _ in found] == ["destroy-not-confirmed"]


def test_a_file_that_has_grown_since_a_run_made_it_is_not_ours() -> None:
    files = {"/a": FileInfo(100, 100), "/b": FileInfo(101, 101), "/c": FileInfo(5, 5), "/d": None}
    assert ours(files, Files({"/a": 100, "/b": 100, "/c": 0, "/d": 1}), {}) == {"/a", "/c"}


def test_another_file_in_the_place_of_one_that_a_run_made_is_not_ours() -> None:
    files = {"/a": FileInfo(100, 100), "/b": FileInfo(100, 100), "/c": FileInfo(100, 100)}
    made = Files({"/a": 100, "/b": 100, "/c": 100}, {"/a": "7 b:1.5", "/b": "8 b:1.5"})
    assert to_identify(files, made) == ["/a", "/b"]
    assert ours(files, made, {"/a": "7 b:1.5", "/b": "8 b:2.5"}) == {"/a", "/c"}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ([], []),
        (["/mnt/x/f"], ["/mnt/x/f"]),
        (["/mnt/f", "/mnt/g"], ["/mnt"]),
        (["/mnt/x/h1/f", "/mnt/x/h2/f"], ["/mnt/x"]),
        (["/mnt/x/f", "/srv/y/f"], ["/mnt/x", "/srv/y"]),
        (["/mnt/x/f", "/mnt/y/f"], ["/mnt/x", "/mnt/y"]),
    ],
)
def test_names_are_as_narrow_as_can_be_typed(paths: list[str], names: list[str]) -> None:
    assert names_for(paths) == names


def test_a_name_that_is_no_target_is_a_slip_of_the_pen() -> None:
    check_names(writes_to("/dev/sdb", ("/dev/sdb",)))
    with pytest.raises(UsageError, match="--destroy /dev/sdv: not a target of this run"):
        check_names(writes_to("/dev/sdb", ("/dev/sdb", "/dev/sdv")))


PROFILE = """\
profile: own/both
version: 1
title: One job reads, one writes
tool: fio
allow_device: true
fio:
  global: {ioengine: psync, bs: 4k, size: 1M}
  jobs:
    r: {rw: read, filename: /dev/sdb}
    w: {rw: write, filename: /dev/sdc}
headline: {metric: iops, direction: write}
"""


def test_a_profile_says_which_of_its_devices_it_writes_to(tmp_path: Path) -> None:
    (tmp_path / "both.yaml").write_text(PROFILE)
    made = build_plan(Catalogue(tmp_path).load("own/both"), Choices(hosts=[H1, H2]))
    assert unnamed_devices(made) == ["/dev/sdc"]
    (step,) = made.steps
    assert [task.only_read for task in step.tasks] == [["/dev/sdb"]] * 2


def test_an_image_of_a_cluster_must_be_named_although_no_host_has_it() -> None:
    writes = build_plan(
        Catalogue(Path("/nowhere")).load("vitastor/write-4k-t1q1"), Choices(hosts=[H1])
    )
    assert (unnamed_devices(writes), overwrites(writes)) == (["testimg"], True)
    assert [code for code, _ in judged(writes)] == ["destroy-not-confirmed"]
    named = replace(writes, destroy=("testimg",))
    check_names(named)
    assert judged(named) == []
    reads = build_plan(
        Catalogue(Path("/nowhere")).load("vitastor/read-4k-t1q1"), Choices(hosts=[H1])
    )
    assert unnamed_devices(reads) == []


def test_a_profile_without_files_overwrites_nothing() -> None:
    step: Step = plan().steps[0]
    assert overwrites(plan())
    assert not overwrites(replace(plan(), steps=[replace(step, tasks=[])]))
