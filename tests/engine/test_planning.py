"""A plan is computed from profile, hosts and choices, and says everything that will happen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.samples.records import SENTENCE, strings
from tui.cli.run import sweep_of
from tui.cli.shared.review import review_text
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.search import SearchChoice
from tui.model.address import HostAddress
from tui.model.operands import is_clause
from tui.model.plan import LeftOut, Plan
from tui.model.problem import UsageError
from tui.view.plan import caveats_of

H1, H2 = HostAddress(name="h1"), HostAddress(name="h2")


def plan(profile: str = "weka/read-iops", **choices: Any) -> Plan:
    given = {
        "hosts": [H1, H2],
        "overrides": {"runtime": "10s", "size": "32m", "numjobs": "4"},
        **choices,
    }
    return build_plan(Catalogue(Path("/nowhere")).load(profile), Choices(**given))


def test_plan_says_how_long_the_load_takes() -> None:
    assert plan().expected_s == 15.0  # startdelay 5 s and 10 s of runtime


def test_each_host_has_files_and_a_seed_of_its_own() -> None:
    first, second = plan().steps[0].tasks
    assert not {spec.path for spec in first.files} & {spec.path for spec in second.files}
    assert first.randseed != second.randseed
    assert f"randseed={first.randseed}" in first.job_file


@pytest.mark.parametrize(
    "profile", ["weka/read-iops", "ceph/randread", "aerodisk/all", "weka/mdtest"]
)
def test_a_plan_contains_no_sentence_except_those_of_its_profile(profile: str) -> None:
    made = plan(profile, overrides={})
    left = replace(made, left_out=[LeftOut("a/b", 1, hosts=["h1"], missing="absent")])
    found = strings(json.loads(msgspec.json.encode(left)))
    told = {path for path, text in found if SENTENCE.search(text)}
    ours = r"profile\..*|members\..*|attested\.question|steps\.(name|cell|tasks\.job_file)"
    assert [path for path in told if not re.fullmatch(ours, path)] == []


def test_same_choices_make_the_same_plan() -> None:
    assert plan() == plan()


def test_repetitions_are_steps_with_seeds_of_their_own() -> None:
    steps = plan(repeat=3).steps
    assert [(step.index, step.repetition) for step in steps] == [(0, 1), (1, 2), (2, 3)]
    assert len({task.randseed for step in steps for task in step.tasks}) == 6


def test_every_file_is_listed_with_its_size() -> None:
    files = plan().steps[0].tasks[0].files
    assert [spec.path for spec in files] == [f"/mnt/weka/fio/h1/{n}/0/iops.{n}.0" for n in range(4)]
    assert {spec.size_bytes for spec in files} == {32 * 2**20}


def test_parameters_that_were_changed_are_named() -> None:
    assert sorted(plan().profile.changed) == ["numjobs", "runtime", "size"]


def test_reading_profile_writes_nothing_while_it_measures() -> None:
    assert plan().steps[0].tasks[0].writes_bytes == 0
    assert plan("weka/write-iops").steps[0].tasks[0].writes_bytes == 4 * 32 * 2**20


def test_cleanup_follows_the_profile_unless_chosen() -> None:
    assert plan("demo/quick", overrides={}).cleanup is True
    assert plan("demo/quick", overrides={}, cleanup=False).cleanup is False
    assert plan().cleanup is False


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"hosts": []}, "no host chosen"),
        ({"repeat": 0}, "repeat 0"),
        ({"lease_s": 0.5}, "lease 0.5s"),
        ({"overrides": {"runtimes": "1"}}, "did you mean 'runtime'"),
        ({"overrides": {"runtime": "0"}}, "must be greater than 0"),
        (
            {"search": SearchChoice("capacity", ("write.p99<5ms",))},
            "limit 'write.p99<5ms': .* does no write; its jobs do read",
        ),
    ],
)
def test_choices_that_make_no_run_are_refused(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(**choice)


def test_a_suites_value_that_its_profiles_differ_by_is_a_caveat() -> None:
    made = plan("wekatester/default", overrides={"numjobs": "4"})
    (caveat,) = made.caveats
    assert is_clause(caveat) and caveat["code"] == "one-value-for-suite"
    (told,) = caveats_of(made)
    assert told.startswith(
        "numjobs=4 applies to every profile of the suite; their own values differ: "
    )
    assert "1 in " in told and "latency" in told
    assert plan("wekatester/default", overrides={}).caveats == []


def test_the_plan_as_text_has_peoples_units_and_what_to_know() -> None:
    text = review_text(
        plan("wekatester/default", overrides={"numjobs": "4", "size": "33554432", "runtime": "90"})
    )
    assert "numjobs=4, size=32M, runtime=90s" in text
    assert "note       numjobs=4 applies to every profile of the suite" in text
    text = review_text(plan(overrides={"size": "33554432", "runtime": "90"}))
    assert "runtime=90s" in text and "size=32M" in text and "32 MiB" in text
    assert "adds       lat_percentiles, percentile_list, randrepeat, randseed" in text


def test_options_that_are_added_are_a_field_of_each_step() -> None:
    for step in plan().steps:
        assert step.added_options
        for name, value in step.added_options.items():
            assert (f"\n{name}=" if name == "randseed" else f"\n{name}={value}\n") in step.tasks[
                0
            ].job_file


def test_a_sweep_without_values_is_refused_by_its_name() -> None:
    with pytest.raises(UsageError, match="--sweep numjobs=: expected NAME=V1,V2"):
        sweep_of(["numjobs="])
