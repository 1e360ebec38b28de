"""Preconditioning becomes steps of a plan: a fill of every file, then rounds of each point's own
load.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engine.test_matrix import HOSTS
from tui.cli.shared.review import review_text
from tui.engine.inputs.profiles import Catalogue, LoadedProfile
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.preflight.destroy import unnamed_devices
from tui.engine.run.steps import fills_needed, tell_round
from tui.metrics.steady import rounds_before
from tui.model.event import DirectionResult, HostResult
from tui.model.operands import is_clause
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.text.run_texts import run_text

PROFILE = """\
profile: my/pre
title: A load with preconditioning
tool: fio
params:
  bs: {{default: 4k, kind: size}}
  round: {{default: 30s, kind: duration}}
fio:
  global: {{ioengine: libaio, direct: 1, iodepth: 4, runtime: 60, time_based: 1, ramp_time: 5, {target}}}
  jobs: {{r: {{rw: randread, bs: "{{bs}}"}}}}
prepare: {{precondition: {{rounds: 7, round: "{{round}}", window: 3 {wanted}}}}}
headline: {{metric: iops, direction: read}}
{more}
"""
FILES = "directory: /mnt/t, size: 1000k, numjobs: 2"


def loaded(tmp_path: Path, target: str = FILES, wanted: str = "", more: str = "") -> LoadedProfile:
    (tmp_path / "pre.yaml").write_text(PROFILE.format(target=target, wanted=wanted, more=more))
    return Catalogue(tmp_path).load("my/pre")


def plan(tmp_path: Path, *parts: str, hosts: int = 1, **choices: Any) -> Plan:
    return build_plan(loaded(tmp_path, *parts), Choices(hosts=HOSTS[:hosts], **choices))


def kinds(made: Plan) -> list[str]:
    return [
        "fill" if step.is_fill else "round" if step.is_round else "measure" for step in made.steps
    ]


def job_of(made: Plan) -> list[str]:
    return made.steps[0].tasks[0].job_file.splitlines()


def test_a_fill_and_rounds_stand_before_the_measurement(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert kinds(made) == ["fill", *["round"] * 7, "measure"]
    assert [step.warmup for step in made.steps] == [*[True] * 8, False]
    assert [step.optional for step in made.steps] == [*[False] * 4, *[True] * 4, False]


def test_a_round_is_the_load_for_its_own_time_with_other_offsets_each(tmp_path: Path) -> None:
    rounds = [step for step in plan(tmp_path, overrides={"round": "10s"}).steps if step.is_round]
    assert {(step.runtime_s, step.ramp_s) for step in rounds} == {(10.0, 0.0)}
    assert all("rw=randread" in step.tasks[0].job_file for step in rounds)
    assert len({step.tasks[0].randseed for step in rounds}) == 7


def test_a_fill_writes_every_file_whole_as_often_as_is_asked_for(tmp_path: Path) -> None:
    made = plan(tmp_path, hosts=2)
    (first, second), job = made.steps[0].tasks, job_of(made)
    assert (first.host, second.host) == ("h1", "h2")
    assert first.writes_bytes == 2 * 2 * 1000 * 1024
    assert [spec.path for spec in first.written] == ["/mnt/t/r.0.0", "/mnt/t/r.1.0"]
    assert {"rw=write", "loops=2", "bs=131072", "direct=1", "ioengine=libaio", "iodepth=32"} <= set(
        job
    )


def test_the_end_of_a_file_that_fills_no_block_is_filled_too(tmp_path: Path) -> None:
    job = job_of(plan(tmp_path))
    tail = job[job.index("offset=917504") - 3 :]
    assert tail[:4] == ["direct=0", "bs=106496", "filesize=1024000", "offset=917504"]
    assert [line for line in tail if line.startswith("filename")] == [
        "filename=/mnt/t/r.0.0",
        "filename=/mnt/t/r.1.0",
    ]


def test_a_file_smaller_than_a_block_is_filled_in_one(tmp_path: Path) -> None:
    job = job_of(plan(tmp_path, "directory: /mnt/t, size: 12k"))
    assert ("bs=12288" in job, [line for line in job if line.startswith("offset")]) == (True, [])


def test_of_a_device_a_fill_writes_what_the_load_uses(tmp_path: Path) -> None:
    made = plan(tmp_path, "filename: /dev/sdb, offset: 1G, size: 2G", "", "allow_device: true")
    assert {"offset=1073741824", "size=2147483648", "filename=/dev/sdb"} <= set(job_of(made))
    assert made.steps[0].tasks[0].writes_bytes == 2 * 2 * 2**30


def test_a_whole_device_is_filled_whole_and_without_a_bound(tmp_path: Path) -> None:
    made = plan(tmp_path, "filename: /dev/sdb", "", "allow_device: true")
    assert made.steps[0].tasks[0].writes_bytes is None
    assert not [line for line in job_of(made) if line.startswith(("size", "offset"))]


def test_a_device_that_is_only_read_must_be_named_for_its_fill(tmp_path: Path) -> None:
    target, more = "filename: /dev/sdb, size: 2G", "allow_device: true"
    assert unnamed_devices(plan(tmp_path, target, "", more)) == ["/dev/sdb"]
    assert unnamed_devices(plan(tmp_path, target, ", fill: 0", more)) == []
    assert unnamed_devices(plan(tmp_path, target, "", more, precondition=False)) == []


def test_an_offset_that_only_the_host_can_tell_cannot_be_filled_from(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, "filename: /dev/sdb, offset: 50%", "", "allow_device: true")
    told = "fill: the start of the load on /dev/sdb is unknown; give offset in bytes"
    assert str(caught.value) == f"my/pre: precondition: {told}"


def test_what_has_no_files_cannot_be_filled(tmp_path: Path) -> None:
    text = PROFILE.format(target="size: 1M", wanted="", more="").replace("libaio", "'null'")
    (tmp_path / "pre.yaml").write_text(text)
    with pytest.raises(
        UsageError, match="my/pre: precondition: fill: the load has no files to fill"
    ):
        build_plan(Catalogue(tmp_path).load("my/pre"), Choices(hosts=HOSTS[:1]))


def test_one_fill_serves_every_point_of_a_sweep_with_the_largest_of_its_files(
    tmp_path: Path,
) -> None:
    made = plan(tmp_path, FILES, "", "sweep: {grid: {bs: [4k, 8k]}}")
    assert kinds(made) == ["fill", *[*["round"] * 7, "measure"] * 2]
    assert {step.cell for step in made.steps} == {"my/pre fill", "my/pre bs=4k", "my/pre bs=8k"}


def test_a_round_is_journalled_as_figures_that_say_whether_the_load_is_steady(
    tmp_path: Path,
) -> None:
    made = plan(tmp_path)
    told: list[tuple[str, Any]] = []
    ctx: Any = SimpleNamespace(
        plan=made, skipped=set(), results={}, say=lambda *each: told.append(each)
    )
    for step, iops in zip((each for each in made.steps if each.is_round), count(100), strict=False):
        read = DirectionResult(100, 100, 1.0, iops * 2.0 ** (iops - 100), 100.0)
        ctx.results[step.index, "h1"] = HostResult(t=0.0, host="h1", step=0, dirs={"read": read})
        tell_round(ctx, step)
    assert [severity for severity, _ in told] == ["info"] * 6 + ["warning"]
    assert all(is_clause(each) for _, each in told)
    assert [each["operands"]["spread"] is None for _, each in told] == [True] * 2 + [False] * 5
    assert "round 1 of at most 7: read 100 IOPS; too few rounds" in run_text(told[0][1])
    assert run_text(told[-1][1]).endswith("measured although not steady")


def test_profiles_of_a_suite_that_use_the_same_files_are_filled_once(tmp_path: Path) -> None:
    loaded(tmp_path)
    (tmp_path / "b.yaml").write_text(
        "profile: my/b\nextends: my/pre\ntitle: Other blocks\nparams: {bs: 8k}\n"
    )
    (tmp_path / "all.yaml").write_text(
        "profile: my/all\ntitle: Both\ntool: suite\nsuite: [my/pre, my/b]\nrepeat: 2\n"
    )
    made = build_plan(Catalogue(tmp_path).load("my/all"), Choices(hosts=HOSTS[:1]))
    assert kinds(made) == ["fill", *[*["round"] * 7, "measure"] * 4]


def test_rounds_of_an_earlier_turn_of_a_suite_are_not_of_this_one(tmp_path: Path) -> None:
    loaded(tmp_path)
    (tmp_path / "all.yaml").write_text(
        "profile: my/all\ntitle: One\ntool: suite\nsuite: [my/pre]\nrepeat: 2\n"
    )
    steps = build_plan(Catalogue(tmp_path).load("my/all"), Choices(hosts=HOSTS[:1])).steps
    assert [step.index for step in rounds_before(steps, steps[8])] == [1, 2, 3, 4, 5, 6, 7]
    assert rounds_before(steps, steps[9]) == []
    assert [step.index for step in rounds_before(steps, steps[11])] == [9, 10]
    assert [step.index for step in rounds_before(steps, steps[16])] == [9, 10, 11, 12, 13, 14, 15]


def test_all_repetitions_of_a_point_have_the_same_rounds_before_them(tmp_path: Path) -> None:
    steps = plan(tmp_path, repeat=2).steps
    assert rounds_before(steps, steps[8]) == rounds_before(steps, steps[9]) == steps[1:8]


def test_either_half_can_be_left_out(tmp_path: Path) -> None:
    assert kinds(plan(tmp_path, FILES, ", fill: 0")) == [*["round"] * 7, "measure"]
    text = PROFILE.format(target=FILES, wanted="", more="").replace("rounds: 7", "rounds: 0")
    (tmp_path / "pre.yaml").write_text(text)
    assert kinds(build_plan(Catalogue(tmp_path).load("my/pre"), Choices(hosts=HOSTS[:1]))) == [
        "fill",
        "measure",
    ]


def test_the_time_of_a_plan_holds_all_rounds_and_no_fill(tmp_path: Path) -> None:
    assert plan(tmp_path).expected_s == 7 * 30 + 65


def test_a_launch_can_leave_it_out_and_the_plan_says_so(tmp_path: Path) -> None:
    made = plan(tmp_path, precondition=False)
    assert (kinds(made), made.no_precondition) == (["measure"], True)
    assert "prepares   skipped at launch" in review_text(made)


def test_a_profile_without_it_has_nothing_to_leave_out(tmp_path: Path) -> None:
    made = build_plan(
        Catalogue(tmp_path).load("demo/quick"), Choices(hosts=HOSTS[:1], precondition=False)
    )
    assert not made.no_precondition


def test_the_review_says_what_is_filled_and_how_long_it_takes_at_most(tmp_path: Path) -> None:
    text = review_text(plan(tmp_path, hosts=2))
    assert (
        "prepares   writes all of its files twice: 7.81 MiB in total, up to 3.91 MiB per host"
        in text
    )
    assert (
        "prepares   up to 7 rounds of 30 s of the profile's load, until 3 in a row have a range"
        in text
    )
    assert "time       4 min 35 s of load, plus fill" in text
    assert "load       reads only" in text


def test_the_jobs_of_fill_and_measurement_are_both_shown(tmp_path: Path) -> None:
    text = review_text(plan(tmp_path))
    assert "step 1: my/pre, write, fill, not counted" in text
    assert "step 9: my/pre, read, repetition 1" in text


RBD = (
    "ioengine: rbd, clientname: admin, pool: p, rbdname: img, iodepth: 8, direct: 1, thread: 1,"
    " runtime: 60"
)
IMAGE_PROFILE = """\
profile: my/image
title: An image
tool: fio
fio:
  global: {{{options}}}
  jobs: {{r: {{rw: randread, bs: 4k, numjobs: 2}}}}
prepare: {{precondition: {{fill: 2, rounds: 0}}}}
headline: {{metric: iops, direction: read}}
"""


@pytest.mark.parametrize(
    ("options", "reached_by"),
    [
        (RBD, ["ioengine=rbd", "clientname=admin", "pool=p", "rbdname=img", "thread=1"]),
        (
            (
                "ioengine: libfio_vitastor.so, etcd: 'h1:2379', image: img, iodepth: 8, thread: 1,"
                " runtime: 60"
            ),
            ["ioengine=libfio_vitastor.so", "etcd=h1:2379", "image=img", "thread=1"],
        ),
        ('ioengine: nbd, uri: "nbd://h1/img", runtime: 60', ["ioengine=nbd", "uri=nbd://h1/img"]),
    ],
)
def test_an_image_is_filled_by_its_engine_on_one_host_when_it_was_named(
    tmp_path: Path, options: str, reached_by: list[str]
) -> None:
    (tmp_path / "image.yaml").write_text(IMAGE_PROFILE.format(options=options))
    made = build_plan(Catalogue(tmp_path).load("my/image"), Choices(hosts=HOSTS[:2]))
    assert (kinds(made), made.steps[0].hosts, made.steps[1].hosts) == (
        ["fill", "measure"],
        ["h1"],
        ["h1", "h2"],
    )
    job = job_of(made)
    assert job[job.index("[fill0]") + 1 :] == ["iodepth=32", *reached_by]
    assert {"rw=write", "loops=2", "bs=131072"} <= set(job) and not [
        line for line in job if line.startswith("size")
    ]
    (name,) = made.steps[0].tasks[0].images
    assert unnamed_devices(made) == [name] and made.steps[0].tasks[0].writes_bytes is None
    assert list(fills_needed(made.steps, made.steps[1])) == [made.steps[0]]


def test_an_engine_that_names_no_image_cannot_be_filled(tmp_path: Path) -> None:
    (tmp_path / "image.yaml").write_text(
        IMAGE_PROFILE.format(options="ioengine: rados, pool: p, runtime: 60")
    )
    with pytest.raises(UsageError, match="precondition: fill: the load has no files to fill"):
        build_plan(Catalogue(tmp_path).load("my/image"), Choices(hosts=HOSTS[:1]))
