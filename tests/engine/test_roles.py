"""Roles of a suite become steps on their own hosts, and steps that run at the same time."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from msgspec.structs import replace

from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.reproduce import choices_again
from tui.engine.preflight.host_check import without
from tui.engine.preflight.rules import requirements_of
from tui.engine.session.history import History, steps_beside
from tui.judge.proof import chosen
from tui.model.address import HostAddress
from tui.model.event import StepEnded, StepStarted
from tui.model.plan import Plan, at_once
from tui.model.problem import UsageError
from tui.model.record import ProfileRecord, RunRecord
from tui.model.shared_files import paths_used_at_once
from tui.model.step_record import BottleneckRecord, StepRecord

LOAD = """\
profile: my/{name}
title: A load
tool: fio
params:
  runtime: {{default: {runtime}s, kind: duration}}
fio:
  global: {{ioengine: psync, runtime: "{{runtime}}", time_based: 1, size: 1M, directory: /mnt/t, filename: {file}}}
  jobs: {{j: {{rw: {rw}}}}}
headline: {{metric: iops, direction: {direction}}}
{more}
"""
ALONE = "  - {profile: my/read, role: readers}\n"
SUITE = """\
profile: my/{name}
title: A suite
tool: suite
roles: {{writers: 1, readers: rest}}
suite:
  - {{profile: my/read, role: readers}}
  - together:
      - {{profile: my/write, role: writers}}
      - {{profile: {reads}, role: readers}}
{more}
"""


def load(name: str, direction: str, runtime: int, file: str = "data-{host}", more: str = "") -> str:
    rw = f"rand{direction}"
    return LOAD.format(
        name=name, rw=rw, direction=direction, runtime=runtime, file=f'"{file}"', more=more
    )


OWN = {
    "read": load("read", "read", 10),
    "write": load("write", "write", 30),
    "warm": load("warm", "read", 10, more="warmup: 3s"),
    "swept": load("swept", "read", 10, more="sweep: {grid: {runtime: [1s, 2s]}}"),
    "same": load("same", "read", 10, file="data-h1"),
    "mixed": SUITE.format(name="mixed", reads="my/read", more=""),
    "twice": SUITE.format(name="twice", reads="my/read", more="repeat: 2"),
    "often": SUITE.format(name="often", reads="my/read", more="repeat: 3").replace(ALONE, "", 1),
    "warmed": SUITE.format(name="warmed", reads="my/warm", more=""),
    "shared": SUITE.format(name="shared", reads="my/same", more=""),
    "refused": SUITE.format(name="refused", reads="my/swept", more=""),
}


def plan(catalogue: Catalogue, name: str = "mixed", hosts: int = 3, **choices: Any) -> Plan:
    chosen = [HostAddress(name=f"h{number}") for number in range(1, hosts + 1)]
    return build_plan(catalogue.load(f"my/{name}"), Choices(hosts=chosen, **choices))


def test_each_role_runs_on_its_own_hosts(catalogue: Catalogue) -> None:
    made = plan(catalogue)
    assert [(step.profile, step.role, step.hosts) for step in made.steps] == [
        ("my/read", "readers", ["h2", "h3"]),
        ("my/write", "writers", ["h1"]),
        ("my/read", "readers", ["h2", "h3"]),
    ]
    assert [[step.index for step in group] for group in at_once(made.steps)] == [[0], [1, 2]]


def test_a_profile_alone_and_the_same_beside_others_are_different_points(
    catalogue: Catalogue,
) -> None:
    alone, _, beside = plan(catalogue).steps
    assert alone.profile == beside.profile
    assert alone.cell_key != beside.cell_key
    assert alone.tasks[0].randseed != beside.tasks[0].randseed


def test_what_runs_together_takes_as_long_as_the_longest(catalogue: Catalogue) -> None:
    assert plan(catalogue).expected_s == 10 + 30


def test_roles_can_be_chosen_at_launch(catalogue: Catalogue) -> None:
    made = plan(catalogue, roles={"writers": "h[2-3]"})
    assert [step.hosts for step in made.steps] == [["h1"], ["h2", "h3"], ["h1"]]
    again = choices_again(made, catalogue.load("my/mixed"))
    assert again.roles == {"writers": "h[2-3]"}


def test_a_role_that_the_profile_has_lost_since_keeps_no_run_from_being_made_again(
    catalogue: Catalogue,
) -> None:
    made = replace(plan(catalogue), roles={"writers": "1", "readers": "rest", "gone": "h1"})
    assert choices_again(made, catalogue.load("my/mixed")).roles == {}


def test_a_suite_with_roles_is_repeated_as_a_whole(catalogue: Catalogue) -> None:
    made = plan(catalogue, "twice")
    assert [[step.index for step in group] for group in at_once(made.steps)] == [
        [0],
        [1, 2],
        [3],
        [4, 5],
    ]
    assert [step.repetition for step in made.steps] == [1, 1, 1, 2, 2, 2]


def test_no_host_runs_two_loads_at_once_however_often_the_suite_is_repeated(
    catalogue: Catalogue,
) -> None:
    made = plan(catalogue, "often")
    groups = list(at_once(made.steps))
    assert [len(group) for group in groups] == [2, 2, 2]
    hosts = [[host for step in group for host in step.hosts] for group in groups]
    assert all(len(each) == len(set(each)) for each in hosts)
    assert [[step.index for step in steps_beside(made, index)] for index in (0, 3)] == [
        [0, 1],
        [2, 3],
    ]
    assert made.expected_s == 3 * 30


def test_warm_ups_come_before_what_is_measured_together(catalogue: Catalogue) -> None:
    made = plan(catalogue, "warmed")
    assert [(step.warmup, step.role) for step in made.steps] == [
        (False, "readers"), (True, "readers"), (False, "writers"), (False, "readers"),
    ]  # fmt: skip
    assert [len(group) for group in at_once(made.steps)] == [1, 1, 2]


def test_what_is_measured_more_than_once_cannot_run_together(catalogue: Catalogue) -> None:
    with pytest.raises(UsageError, match=r"refused\.yaml:9:.*my/swept has 'sweep'"):
        plan(catalogue, "refused")


def test_a_file_that_one_role_writes_while_another_reads_it_is_used_at_once(
    catalogue: Catalogue,
) -> None:
    assert paths_used_at_once(plan(catalogue, "mixed")) == {}
    assert paths_used_at_once(plan(catalogue, "shared", hosts=2)) == {
        "/mnt/t/data-h1": ["h1", "h2"]
    }


def test_what_lacks_one_role_is_run_again_with_all(catalogue: Catalogue) -> None:
    made, past = plan(catalogue), History()
    for index, cut in ((0, False), (1, False), (2, True)):
        past.take(StepStarted(t=0.0, step=index, hosts=made.steps[index].hosts if index else []))
        past.take(StepEnded(t=1.0, step=index, cut=cut))
    assert [step.index for step in past.missing(made, failed=False)] == [1, 2]


def test_what_would_have_run_beside_something_that_is_missing_is_left_out_too(
    catalogue: Catalogue,
) -> None:
    made = plan(catalogue)
    assert [step.index for step in without(made, {"fio": ["h1"]}).steps] == [0]  # h1 is the writer
    left_out = without(made, {"fio": ["h1"]}).left_out
    assert [left.profile for left in left_out] == [
        "my/write as writers with readers", "my/read as readers with writers",
    ]  # fmt: skip
    assert {left.missing for left in left_out} == {"fio"}


@pytest.mark.parametrize(("alone", "step"), [(True, None), (True, 1), (False, None)])
def test_no_counter_experiment_is_about_what_ran_beside_others(
    alone: bool, step: int | None
) -> None:
    bottleneck = BottleneckRecord(kind="rate", text="")
    steps = [StepRecord(index=index, name="s", bottleneck=bottleneck,
        together=None if alone and index == 0 else 1)
             for index in range(2)]  # fmt: skip
    profile = ProfileRecord(tag="a/b")
    record = RunRecord.model_construct(
        run_id="r", state="complete", profile=profile, steps=steps, headline=None
    )
    if alone and step is None:
        assert chosen(record, step).index == 0
    else:
        with pytest.raises(UsageError, match="at the same time"):
            chosen(record, step)


def test_a_host_needs_the_load_generators_of_its_own_role_alone() -> None:
    suite = """
profile: my/tools
title: Two tools
tool: suite
roles: {metadata: 1, readers: rest}
suite:
  - together:
      - {profile: elbencho/files-stat, role: metadata}
      - {profile: weka/read-latency, role: readers}
"""
    with TemporaryDirectory() as folder:
        (Path(folder) / "tools.yaml").write_text(suite)
        made = plan(Catalogue(Path(folder)), "tools")
    needs = {
        host: [need.command for need in requirements_of(made, host)][:1] for host in ("h1", "h2")
    }
    assert needs == {"h1": ["elbencho"], "h2": ["fio"]}
