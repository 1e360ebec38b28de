"""Sweeps, suites, repetitions, warm-ups and pauses become steps of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.model.profile import share
from tui.view.plan import CACHES, caches_text, targets_of, warnings

HOSTS = [HostAddress(name=f"h{number}") for number in (1, 2, 3)]
PROFILE = """\
profile: my/sweep
title: A sweep
tool: fio
params:
  directory: {{default: /mnt/t, kind: directory}}
  bs: {{default: 4k, kind: size}}
  jobs: {{default: 1, kind: count, spread: {spread}}}
  warm: {{default: 7s, kind: duration}}
fio:
  global: {{ioengine: psync, runtime: 5, time_based: 1, size: 1M, directory: "{{directory}}", ramp_time: 2}}
  jobs: {{r: {{rw: randread, bs: "{{bs}}", numjobs: "{{jobs}}"}}}}
headline: {{metric: iops, direction: read}}
{more}
"""
USED = 'warmup: "{warm}"'


def profiles(tmp_path: Path, more: str, spread: str = "false") -> Catalogue:
    (tmp_path / "sweep.yaml").write_text(PROFILE.format(more=more, spread=spread))
    return Catalogue(tmp_path)


def plan(tmp_path: Path, more: str, hosts: int = 1, spread: str = "false", **choices: Any) -> Plan:
    loaded = profiles(tmp_path, more, spread).load("my/sweep")
    return build_plan(loaded, Choices(hosts=HOSTS[:hosts], **choices))


def names(made: Plan) -> list[str]:
    return [step.name.removeprefix("my/sweep").strip() for step in made.steps if not step.warmup]


def test_a_grid_goes_over_every_combination_the_last_name_fastest(tmp_path: Path) -> None:
    made = plan(tmp_path, f"sweep: {{grid: {{bs: [4k, 8k], jobs: [1, 2]}}}}\n{USED}")
    assert names(made) == ["bs=4k jobs=1", "bs=4k jobs=2", "bs=8k jobs=1", "bs=8k jobs=2"]
    assert made.axes == ["bs", "jobs"]


def test_the_job_of_a_point_has_its_values(tmp_path: Path) -> None:
    made = plan(tmp_path, f"sweep: {{grid: {{bs: [4k, 1M]}}}}\n{USED}")
    jobs = [step.tasks[0].job_file for step in made.steps if not step.warmup]
    assert ["bs=4k" in jobs[0], "bs=1m" in jobs[1].lower()] == [True, True]


def test_points_are_measured_as_they_are_listed(tmp_path: Path) -> None:
    made = plan(tmp_path, f"sweep: {{points: [{{bs: 1M, jobs: 1}}, {{bs: 4k, jobs: 16}}]}}\n{USED}")
    assert [step.point for step in made.steps if not step.warmup] == [
        {"bs": 2**20, "jobs": 1},
        {"bs": 4096, "jobs": 16},
    ]


def test_a_sweep_over_hosts_takes_the_first_so_many(tmp_path: Path) -> None:
    made = plan(tmp_path, f"sweep: {{hosts: [1, 2, 8, all]}}\n{USED}", hosts=3)
    assert [step.hosts for step in made.steps if not step.warmup] == [
        ["h1"],
        ["h1", "h2"],
        ["h1", "h2", "h3"],
    ]
    assert [step.point["hosts"] for step in made.steps if not step.warmup] == [1, 2, 3]


def test_a_parameter_that_is_set_is_not_swept(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        f"sweep: {{grid: {{bs: [4k, 8k], jobs: [1, 2]}}}}\n{USED}",
        overrides={"bs": "64k"},
    )
    assert names(made) == ["jobs=1", "jobs=2"]
    assert all("bs=64k" in task.job_file for step in made.steps for task in step.tasks)


def test_a_sweep_may_be_asked_for_at_launch(tmp_path: Path) -> None:
    assert names(plan(tmp_path, USED, sweep={"bs": ["4k", "16k"]})) == ["bs=4k", "bs=16k"]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        (
            {"bss": ["4k"]},
            (
                "--sweep: unknown parameter 'bss' (did you mean 'bs'?); my/sweep has: directory,"
                " bs, jobs"
            ),
        ),
        ({"bs": ["4q"]}, "--sweep: parameter 'bs': '4q' is not a size"),
        (
            {"jobs": ["1", "2", "1"]},
            "--sweep: parameter 'jobs': '1' is a duplicate; use --repeat to repeat points",
        ),
        (
            {"bs": ["4k", "4096"]},
            "--sweep: parameter 'bs': '4096' equals '4k'; use --repeat to repeat points",
        ),
    ],
)
def test_a_bad_sweep_at_launch_is_refused(
    tmp_path: Path, sweep: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, USED, sweep=sweep)
    assert str(caught.value).startswith(message)


def test_each_point_warms_up_once_and_is_repeated(tmp_path: Path) -> None:
    made = plan(tmp_path, f"sweep: {{grid: {{bs: [4k, 8k]}}}}\nrepeat: 2\n{USED}")
    assert [(step.warmup, step.repetition) for step in made.steps] == [
        (True, 1),
        (False, 1),
        (False, 2),
    ] * 2


def test_a_warm_up_is_the_same_load_for_its_own_time(tmp_path: Path) -> None:
    warmup, measured = plan(tmp_path, USED).steps
    assert warmup.runtime_s == 7.0
    assert warmup.ramp_s == 0.0
    assert ("bs=4k" in warmup.tasks[0].job_file, "ramp_time" in warmup.tasks[0].job_file) == (
        True,
        False,
    )
    assert measured.runtime_s == 5.0


def test_repetitions_until_the_figure_is_known_are_optional_beyond_the_least(
    tmp_path: Path,
) -> None:
    made = plan(tmp_path, f"repeat: {{until: 5%, min: 3, max: 5}}\n{USED}")
    assert [step.optional for step in made.steps if not step.warmup] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert made.until is not None
    assert (made.until.width, made.until.least, made.until.most) == (0.05, 3, 5)


def test_a_number_of_repetitions_at_launch_takes_the_place_of_the_profiles(tmp_path: Path) -> None:
    made = plan(tmp_path, f"repeat: {{until: 5%}}\n{USED}", repeat=2)
    assert (len(names(made)), made.until) == (2, None)


def test_no_two_repetitions_and_hosts_share_a_sequence(tmp_path: Path) -> None:
    made = plan(tmp_path, f"repeat: 3\n{USED}", hosts=3)
    seeds = [task.randseed for step in made.steps for task in step.tasks]
    assert len(set(seeds)) == len(seeds)


def test_pauses_stand_between_measurements(tmp_path: Path) -> None:
    made = plan(tmp_path, f"repeat: 3\npause: 10s\n{USED}", overrides={"warm": "1s"})
    assert [step.pause_s for step in made.steps] == [0.0, 10.0, 10.0, 10.0]
    assert made.expected_s == 1.0 + 3 * (5.0 + 2.0) + 30.0


def test_a_spread_count_is_the_total_over_all_hosts(tmp_path: Path) -> None:
    made = plan(tmp_path, USED, hosts=3, spread="true", overrides={"jobs": "4"})
    counts = [
        next(line for line in task.job_file.splitlines() if "numjobs" in line)
        for task in made.steps[1].tasks
    ]
    assert counts == ["numjobs=2", "numjobs=1", "numjobs=1"]


def test_a_host_without_a_share_sits_out(tmp_path: Path) -> None:
    assert plan(tmp_path, USED, hosts=3, spread="true", overrides={"jobs": "1"}).steps[1].hosts == [
        "h1"
    ]


@given(st.integers(0, 10_000), st.integers(1, 300))
def test_shares_add_up_and_differ_by_one_at_most(total: int, hosts: int) -> None:
    shares = [share(total, index, hosts) for index in range(1, hosts + 1)]
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1


def suite(tmp_path: Path, text: str, **choices: Any) -> Plan:
    profiles(tmp_path, f"sweep: {{grid: {{bs: [4k, 8k]}}}}\n{USED}")
    (tmp_path / "all.yaml").write_text(f"profile: my/all\ntitle: All\ntool: suite\n{text}")
    return build_plan(Catalogue(tmp_path).load("my/all"), Choices(hosts=HOSTS[:1], **choices))


def test_a_suite_measures_its_profiles_in_order(tmp_path: Path) -> None:
    made = suite(tmp_path, "suite: [demo/quick, my/sweep]")
    assert [step.profile for step in made.steps] == ["demo/quick", *["my/sweep"] * 4]
    assert [step.headline is not None for step in made.steps] == [True] * 5
    assert made.headline is None
    assert [member.tag for member in made.members] == ["demo/quick", "my/sweep"]


def test_a_suite_sets_parameters_of_its_profiles(tmp_path: Path) -> None:
    text = (
        "params: {t: {default: 3s, kind: duration}}\nsuite: [{profile: demo/quick, set: {runtime:"
        ' "{t}", size: 1M}}]'
    )
    assert [step.runtime_s for step in suite(tmp_path, text).steps] == [3.0]
    assert [step.runtime_s for step in suite(tmp_path, text, overrides={"t": "9s"}).steps] == [9.0]


def test_a_profile_that_a_suite_names_twice_is_distinguished_by_what_differs(
    tmp_path: Path,
) -> None:
    members = ", ".join(f"{{profile: demo/quick, set: {{numjobs: {n}, size: 1M}}}}" for n in (1, 2))
    made = suite(tmp_path, f"suite: [{members}]")
    assert [step.cell for step in made.steps] == ["demo/quick numjobs=1", "demo/quick numjobs=2"]
    assert [step.point for step in made.steps] == [{"numjobs": 1}, {"numjobs": 2}]


def test_a_parameter_that_a_suite_does_not_have_goes_to_its_profiles(tmp_path: Path) -> None:
    made = suite(tmp_path, "suite: [demo/quick, my/sweep]", overrides={"directory": "/mnt/other"})
    assert {str(step.params["directory"]) for step in made.steps} == {"/mnt/other"}


def test_the_targets_of_a_suite_are_those_that_its_profiles_use(tmp_path: Path) -> None:
    made = suite(
        tmp_path,
        "suite: [{profile: demo/quick, set: {directory: /mnt/a}},"
        " {profile: weka/read-iops, set: {directory: /mnt/b}}]",
    )
    assert made.target == "/mnt/a" and targets_of(made) == ["/mnt/a", "/mnt/b"]
    assert any("test files in /mnt/a" in text for text in warnings(made))
    assert not any("/mnt/b" in text for text in warnings(made) if "overwrites" in text)


def test_the_page_caches_of_a_suite_are_dropped_as_its_profiles_say(tmp_path: Path) -> None:
    made = suite(tmp_path, "suite: [demo/quick, weka/read-iops]")
    text = caches_text(made)
    assert text.index("demo/quick") < text.index(CACHES["try"]) < text.index("weka/read-iops")
    assert caches_text(suite(tmp_path, "suite: [demo/quick]")) == CACHES["no"]


def test_an_unknown_parameter_of_a_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="unknown parameter 'runtme' \\(did you mean 'runtime'\\?\\)"
    ):
        suite(tmp_path, "suite: [demo/quick]", overrides={"runtme": "1s"})


def test_a_suite_is_repeated_as_a_whole(tmp_path: Path) -> None:
    made = suite(tmp_path, "suite: [demo/quick]\nrepeat: 2")
    assert [(step.index, step.repetition) for step in made.steps] == [(0, 1), (1, 2)]
    assert len({step.tasks[0].randseed for step in made.steps}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "suite: [demo/quik]",
            "4:9: demo/quik: unknown profile 'demo/quik' (did you mean 'demo/quick'?)",
        ),
        (
            "suite: [{profile: demo/quick, set: {runtme: 1s}}]",
            "demo/quick has no parameter 'runtme' (did you mean",
        ),
        ("suite: [my/all]", "4:9: a suite cannot contain itself"),
        (
            "suite: [demo/quick, {profile: my/sweep, needs: [demo/quik]}]",
            "'demo/quik' does not run before this profile (did you mean 'demo/quick'?); earlier: demo/quick",
        ),
        ("suite: [{profile: demo/quick, needs: [my/sweep]}, my/sweep]", "earlier: none"),
        (
            "suite: [demo/quick]\nsweep: {hosts: [1]}",
            "5:1: 'sweep' is not allowed in a suite; set it in its profiles",
        ),
    ],
)
def test_a_suite_that_cannot_be_is_refused_where_it_is_wrong(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        suite(tmp_path, text)
    assert message in str(caught.value)


def test_no_two_points_share_a_sequence(tmp_path: Path) -> None:
    made = plan(tmp_path, f"sweep: {{grid: {{bs: [4k, 8k]}}}}\n{USED}")
    seeds = [step.tasks[0].randseed for step in made.steps if not step.warmup]
    assert len(set(seeds)) == 2


def test_a_number_of_hosts_that_leaves_one_without_a_share_is_no_point(tmp_path: Path) -> None:
    more = f"sweep: {{hosts: [1, 2, 3]}}\n{USED}"
    made = plan(tmp_path, more, hosts=3, spread="true", overrides={"jobs": "2"})
    assert [step.point["hosts"] for step in made.steps if not step.warmup] == [1, 2]


def test_a_sweep_over_hosts_without_any_point_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to measure"):
        plan(
            tmp_path,
            f"sweep: {{hosts: [2]}}\n{USED}",
            hosts=2,
            spread="true",
            overrides={"jobs": "1"},
        )


def test_repetitions_of_a_suites_profile_end_by_its_own_rule(tmp_path: Path) -> None:
    profiles(tmp_path, f"repeat: {{until: 5%, min: 3, max: 5}}\n{USED}")
    (tmp_path / "all.yaml").write_text(
        "profile: my/all\ntitle: All\ntool: suite\nsuite: [my/sweep]\n"
    )
    steps = build_plan(Catalogue(tmp_path).load("my/all"), Choices(hosts=HOSTS[:1])).steps
    assert {step.until.width if step.until else None for step in steps if not step.warmup} == {0.05}


def test_no_parameter_may_be_called_hosts(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(
        PROFILE.format(more=USED, spread="false").replace("jobs", "hosts")
    )
    with pytest.raises(UsageError, match="parameter 'hosts': reserved"):
        Catalogue(tmp_path).load("my/sweep")
