"""The plan as Review shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.app.matrix_maker import sweep
from tui.app.screens import review_plan
from tui.cli.shared.review import review_text
from tui.model.address import HostAddress
from tui.model.plan import FileSpec, Headline, HostTask, JobLoad, MpiLaunch, Plan, ProfileRef, Step
from tui.model.search import Knob, Search
from tui.text.line import plain_lines
from tui.view.plan_layout import layout_bytes

GIB = 2**30


def task(
    host: str, *, size: int = 4 * GIB, layout: bool = True, writes: int | None = 0
) -> HostTask:
    files = [FileSpec(f"/mnt/t/{host}/f.{number}", size) for number in range(2)]
    return HostTask(
        host,
        1,
        "[global]\nrw=read\n",
        ["fio", "job.fio"],
        files=files,
        layout=layout,
        writes_bytes=writes,
    )


def plan(
    *,
    hosts: int = 2,
    steps: int = 1,
    size: int = 4 * GIB,
    directions: tuple[str, ...] = ("read",),
    suffix: str = "",
) -> Plan:
    names = [f"h{n}{suffix}" for n in range(1, hosts + 1)]
    made = [
        Step(
            index,
            f"s{index}",
            "fio",
            {},
            [task(name, size=size, writes=size) for name in names],
            300.0,
            ramp_s=20.0,
        )
        for index in range(steps)
    ]
    for step in made:
        step.directions = list(directions)
    return Plan(
        profile=ProfileRef("weka/read", 1, "WEKA read", "", "0"),
        params={},
        hosts=[HostAddress(name) for name in names],
        steps=made,
        headline=Headline("iops", "read"),
        target="/mnt/t",
    )


def shown(what: Plan, width: int = 80) -> str:
    return "\n".join(plain_lines(review_plan.plan_lines(what, width)))


def test_time_is_minutes_and_seconds_of_all_steps() -> None:
    assert review_plan.time_text(plan(steps=2).expected_s) == "10 min 40 s"
    assert review_plan.time_text(305) == "5 min 5 s"
    assert review_plan.time_text(3720) == "1 h 2 min"
    assert review_plan.time_text(None) == "no time limit"


def test_files_that_several_steps_share_are_laid_out_once() -> None:
    assert layout_bytes(plan(steps=3)) == {"h1": 8 * GIB, "h2": 8 * GIB}


def test_layout_is_told_a_host_and_in_all() -> None:
    assert "16 GiB (8 GiB per host) where missing" in shown(plan())


def test_reading_writes_nothing() -> None:
    assert "load       reads only" in shown(plan())
    assert "writes" in shown(plan(directions=("read", "write")))
    assert "reads only" not in shown(plan(directions=("read", "write")))


def test_a_run_that_only_reads_small_files_needs_no_warning() -> None:
    assert review_plan.warnings(plan()) == []


def test_overwriting_files_is_warned_of_with_the_target() -> None:
    assert review_plan.warnings(plan(directions=("write",))) == [
        "overwrites its test files in /mnt/t"
    ]


def test_a_device_is_warned_of_by_name() -> None:
    device = replace(plan(directions=("write",)), allow_device=True, target="/dev/nvme0n1")
    assert review_plan.warnings(device) == ["writes to /dev/nvme0n1: existing data will be lost"]


def test_all_devices_are_named_and_no_files() -> None:
    given = plan(directions=("write",))
    luns = [FileSpec("/dev/mapper/a", GIB), FileSpec("/dev/mapper/b", GIB)]
    tasks = [
        replace(each, files=luns, directories=[], layout=False) for each in given.steps[0].tasks
    ]
    luns_only = replace(given, allow_device=True, steps=[replace(given.steps[0], tasks=tasks)])
    text = " ".join(shown(luns_only).split())
    assert (
        review_plan.warnings(luns_only)[0]
        == "writes to /dev/mapper/a, /dev/mapper/b: existing data will be lost"
    )
    assert "target /dev/mapper/a, /dev/mapper/b" in text
    assert " + writing" not in text and "test files remain" not in text


def test_one_path_for_several_hosts_is_warned_of() -> None:
    given = plan()
    tasks = [replace(each, files=[FileSpec("/mnt/t/one", GIB)]) for each in given.steps[0].tasks]
    (warning,) = review_plan.warnings(replace(given, steps=[replace(given.steps[0], tasks=tasks)]))
    assert "h1, h2 write /mnt/t/one: on a shared file system this is one file" in warning


def test_numbered_hosts_are_named_by_their_range() -> None:
    assert "hosts      40: h[1-40]\n" in shown(plan(hosts=40), 42)


@pytest.mark.parametrize(("width", "last", "more"), [(30, 7, 33), (50, 11, 29), (100, 14, 26)])
def test_many_hosts_are_counted_and_no_more_listed_than_a_line_holds(
    width: int, last: int, more: int
) -> None:
    text = " ".join(shown(plan(hosts=40, suffix="x"), width).split())
    names = ", ".join(f"h{number}x" for number in range(1, last + 1))
    assert f"hosts 40: {names} and {more} more target" in text


def test_no_line_is_wider_than_the_pane() -> None:
    for width in (30, 44, 80):
        assert max(map(len, shown(plan(hosts=9, steps=3), width).splitlines())) <= width


def test_wrapped_values_stay_under_their_values() -> None:
    lines = shown(plan(hosts=9, suffix="x"), 40).splitlines()
    index = next(number for number, line in enumerate(lines) if line.startswith("hosts"))
    assert lines[index + 1].startswith(" " * review_plan.INDENT)


def test_what_happens_to_the_files_is_reported() -> None:
    assert "test files remain" in shown(plan())
    assert "test files are removed" in shown(replace(plan(), cleanup=True))


def test_files_that_the_test_itself_removes_are_not_said_to_stay() -> None:
    steps = [
        replace(step, mpi=MpiLaunch("/mnt/t", 4, 10, 1))
        for step in plan(directions=("create", "remove")).steps
    ]
    own = replace(plan(), steps=steps)
    assert "the test removes its own files; files left by an interrupted run remain" in " ".join(
        shown(own).split()
    )
    assert "files left by an interrupted run are removed" in review_text(replace(own, cleanup=True))
    kept = replace(own, steps=[replace(step, directions=["create", "stat"]) for step in steps])
    assert "test files remain" in shown(kept) and "test files remain" in review_text(kept)


def test_the_job_file_is_shown_whole_for_every_step() -> None:
    text = "\n".join(plain_lines(review_plan.job_files(plan(steps=2))))
    assert text.count("[global]") == 2
    assert "rw=read" in text
    assert "step 2: s1 on h1, 1 more with other seeds" in text


def test_many_steps_are_the_values_of_their_axes(tmp_path: Path) -> None:
    text = shown(sweep(tmp_path).plan, 60)
    assert "20 points over bs, numjobs" in text
    assert "bs       4k 16k 64k 256k" in text
    assert "numjobs  1 2 4 8 16" in text
    assert max(map(len, text.splitlines())) <= 60


def test_job_files_of_many_points_are_the_first_ones(tmp_path: Path) -> None:
    text = "\n".join(
        plain_lines(review_plan.job_files(sweep(tmp_path, [f"{2**n}k" for n in range(6)]).plan))
    )
    assert text.count("[global]") == 24
    assert "and 6 more points" in text


def test_in_little_room_whole_job_files_are_shown_and_how_many_more_there_are(
    tmp_path: Path,
) -> None:
    made = sweep(tmp_path, [f"{2**n}k" for n in range(6)]).plan
    lines = [*plain_lines(review_plan.job_files(made, 40))]
    shown = lines.count("[global]")
    assert (
        0 < shown < 24
        and len(lines) <= 40
        and lines[-1] == f"and {30 - shown} more points: v shows them"
    )
    assert review_plan.job_files(made, 3) == []


def test_what_to_know_before_it_is_run_is_among_the_warnings() -> None:
    caveat = "numjobs=4 applies to every profile of the suite; their own values differ: 1 in a/b"
    assert caveat in review_plan.warnings(replace(plan(), caveats=[caveat]))


def test_options_that_are_added_to_the_profile_are_named() -> None:
    what = plan()
    what.steps = [
        replace(step, added_options={"group_reporting": "1", "randseed": "x"})
        for step in what.steps
    ]
    assert "adds group_reporting, randseed  to the options of the job" in shown(what)
    assert "adds " not in shown(plan())


def test_a_search_tells_how_long_its_points_take_at_least_and_at_most() -> None:
    search = Search(
        "capacity", points=15, point_s=60.0, most_point_s=180.0, lead_s=20.0, own_ramp=True
    )
    slots = [replace(step, runtime_s=60.0, jobs=[JobLoad("r", ("read",)), JobLoad("w", ("write",))])
             for step in plan(steps=15).steps]  # fmt: skip
    found = replace(plan(), steps=slots, search=search)
    assert "time       about 20 min to 50 min 45 s + writing" in shown(found)
    assert (
        review_plan.launch_line(found)
        == "searches on 2 hosts: up to 15 points in up to 50 min 45 s"
    )
    assert shown(found).count("\nsearches ") == 1
    assert (
        "shares r, w split each offered rate in proportion to their rates at full load"
        in " ".join(shown(found).split())
    )
    within = replace(found, search=replace(search, within_s=1200.0))
    assert "time       20 min + writing" in shown(within), (
        "load that is not measured takes its time too"
    )
    assert "time       about 20 min to 50 min 45 s + writing" in review_text(found)


LEAD = {"point_s": 60.0, "lead_s": 20.0, "own_ramp": True}


@pytest.mark.parametrize(
    ("search", "points", "time"),
    [
        (
            replace(Search("scaling", over=(Knob("hosts", (1, 2, 4)),), points=8), **LEAD),
            6,
            "8 min + writing",
        ),
        (replace(Search("curve", points=13), **LEAD), 11, "about 14 min 40 s to"),
    ],
)
def test_points_that_only_may_have_to_be_made_again_are_not_planned(
    search: Search, points: int, time: str
) -> None:
    slots = [replace(step, runtime_s=60.0) for step in plan(steps=search.points).steps]
    found = replace(plan(), steps=slots, search=search)
    assert f"time       {time}" in shown(found)
    assert f"measures   {points} points, 1 min" in shown(found)
    assert f"up to {points} points" in review_plan.launch_line(found)
