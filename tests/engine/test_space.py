"""Room for all that is written: over steps, directories, and hosts on one file system."""

from __future__ import annotations

from msgspec.structs import replace

from tests.engine.test_planning import plan
from tui.engine.preflight.destroy import HostFindings
from tui.engine.preflight.rules import judge_space, new_bytes, space_directories
from tui.model.plan import FileSpec, HostTask, Plan
from tui.remote.answers import DirFacts, FileInfo, HostProbe
from tui.text.problem_texts import problem_text

MIB = 1 << 20


def task(host: str, *files: tuple[str, int]) -> HostTask:
    return HostTask(
        host, 1, "", ["fio"], files=[FileSpec(path, size * MIB) for path, size in files]
    )


def of_steps(*steps: list[HostTask]) -> Plan:
    base = plan()
    return replace(
        base, steps=[replace(base.steps[0], index=n, tasks=tasks) for n, tasks in enumerate(steps)]
    )


def found(
    free_mib: dict[str, int], boot: str = "boot", files: dict[str, FileInfo | None] | None = None
) -> HostFindings:
    room = {
        path: DirFacts(
            path, True, True, False, True, "ext4", f"/dev{path}", path, "rw", 1 << 40, free * MIB
        )
        for path, free in free_mib.items()
    }
    return HostFindings(HostProbe({"boot_id": boot}, {}), files or {}, room=room)


def test_files_of_later_steps_count_with_their_largest_size() -> None:
    steps = of_steps([task("h1", ("/a/f", 10))], [task("h1", ("/a/f", 40), ("/a/g", 50))])
    assert new_bytes([step.tasks[0] for step in steps.steps], {}) == {
        "/a/f": 40 * MIB,
        "/a/g": 50 * MIB,
    }
    assert judge_space(steps, {"h1": found({"/a": 95})}) == {}
    ((code, message),) = judge_space(steps, {"h1": found({"/a": 94})}).values()
    assert code == "no-space"
    assert (
        problem_text(message)
        == "94.5 MiB required (including 5 % headroom), but only 94 MiB free at /a (ext4 on /dev/a)"
    )


def test_each_directory_is_judged_by_its_own_file_system() -> None:
    two = of_steps([task("h1", ("/a/f", 50), ("/b/f", 50))])
    assert judge_space(two, {"h1": found({"/a": 60, "/b": 60})}) == {}
    assert "at /b" in problem_text(judge_space(two, {"h1": found({"/a": 60, "/b": 40})})["h1"][1])


def test_names_of_one_machine_share_its_disks_and_a_file_they_share_counts_once() -> None:
    both = of_steps([task("h1", ("/a/one", 50)), task("h2", ("/a/two", 50))])
    assert sorted(judge_space(both, {"h1": found({"/a": 60}), "h2": found({"/a": 60})})) == [
        "h1",
        "h2",
    ]
    assert judge_space(both, {"h1": found({"/a": 60}), "h2": found({"/a": 60}, boot="other")}) == {}
    shared = of_steps([task("h1", ("/a/one", 50)), task("h2", ("/a/one", 50))])
    assert judge_space(shared, {"h1": found({"/a": 60}), "h2": found({"/a": 60})}) == {}


def test_devices_take_no_room() -> None:
    wanted = of_steps([task("h1", ("/dev/sdb", 500), ("/a/link", 500), ("/a/f", 1))])
    link: dict[str, FileInfo | None] = {"/a/link": FileInfo(0, 0, "block")}
    assert judge_space(wanted, {"h1": found({"/a": 10, "/dev": 10}, files=link)}) == {}


def test_a_host_that_sits_out_needs_no_room() -> None:
    assert judge_space(of_steps([task("h1", ("/a/f", 1))]), {"h2": found({"/a": 0})}) == {}


def test_very_many_directories_are_looked_at_from_above() -> None:
    few = [task("h1", ("/a/1/f", 1), ("/a/2/f", 1), ("/a/2/g", 1), ("/dev/sdb", 1))]
    assert space_directories(few) == ["/a/1", "/a/2"]
    many = [task("h1", *((f"/a/{number}/f", 1) for number in range(60)))]
    assert space_directories(many) == ["/a"]
