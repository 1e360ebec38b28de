"""The plan of a counter-experiment: the step of a kept plan, as it was and with one change, on its
hosts and files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tui.cli.shared.review import review_text
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.search import proof_plan
from tui.engine.preflight.preview import targets_named
from tui.model.address import HostAddress
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.model.search import SAID, LoadChange, Prediction, ProofQuestion
from tui.view.plan import caveats_of

HOSTS = [HostAddress(name=f"h{number}") for number in (1, 2, 3, 4)]
BETTER = Prediction("iops", least=1.3, below=1.1)
DEPTH, FEWER = LoadChange("twice-in-flight", BETTER), LoadChange("half-hosts", BETTER)
BLOCK = LoadChange("half-block", BETTER)


def kept(profile: str = "weka/read-iops", **choices: Any) -> Plan:
    """A plan as a run directory keeps it."""
    given = {"hosts": HOSTS, "overrides": {"size": "32m", "numjobs": "4"}, **choices}
    made = build_plan(Catalogue(Path("/nowhere")).load(profile), Choices(**given))
    return msgspec.json.decode(msgspec.json.encode(made), type=Plan)


def proof(
    plan: Plan, *experiments: LoadChange, step: int = 0, seconds: float | None = None
) -> Plan:
    asked = ProofQuestion("the-run", step, "concurrency", "words", experiments, {"iops": 1000.0})
    return proof_plan(plan, asked, seconds)


def files(plan: Plan, step: int) -> list[set[str]]:
    return [{spec.path for spec in task.files} for task in plan.steps[step].tasks]


def test_the_load_as_it_was_then_with_one_change_each_15_s_on_the_files_of_the_run() -> None:
    first = kept()
    made = proof(first, DEPTH)
    assert [step.point for step in made.steps] == [
        {"load": "unchanged"},
        {"load": "twice as many I/Os in flight"},
    ]
    assert [step.runtime_s for step in made.steps] == [15.0, 15.0]
    assert [step.in_flight for step in made.steps] == [16, 32]
    assert files(made, 0) == files(made, 1) == files(first, 0)
    assert made.proves is not None and made.proves.before == 1000.0


def test_no_offsets_are_read_twice() -> None:
    first = kept()
    made = proof(first, DEPTH)
    seeds = [task.randseed for step in (*first.steps, *made.steps) for task in step.tasks]
    assert len(set(seeds)) == len(seeds)


def test_half_of_the_hosts_do_what_they_did() -> None:
    made = proof(kept(), FEWER)
    assert made.steps[1].hosts == ["h1", "h2"]
    assert files(made, 1) == files(made, 0)[:2]
    assert (made.steps[0].in_flight, made.steps[1].in_flight) == (16, 8)


def test_the_first_experiment_that_can_be_made_is_taken() -> None:
    made = proof(kept(), BLOCK, DEPTH)  # blocks of 4k
    assert made.proves is not None and made.proves.experiment == DEPTH


def test_a_check_that_came_after_the_run_refuses_nothing_that_ran() -> None:
    first = kept()
    assert proof(first, DEPTH).caveats == []
    idle = first.profile.text.replace("params:", "params:\n  spare: {default: 1, kind: count}", 1)
    old = replace(first, profile=replace(first.profile, text=idle))
    made = proof(old, DEPTH)
    assert [step.in_flight for step in made.steps] == [16, 32]
    (said,) = caveats_of(made)
    assert said.startswith("this version of benchtui rejects the profile: weka/read-iops:")
    assert said.endswith("parameter 'spare' is never used: no option contains {spare}")
    broken = replace(
        first, profile=replace(first.profile, text=idle.replace("headline:", "headlin:", 1))
    )
    with pytest.raises(UsageError, match="unknown key 'headlin'"):
        proof(broken, DEPTH)


def test_when_none_can_be_made_each_says_why() -> None:
    with pytest.raises(UsageError) as refused:
        proof(kept(hosts=HOSTS[:1]), BLOCK, FEWER)
    assert "half the block size: cannot halve blocks of 4k: " in str(refused.value)
    assert "half the hosts: there is only one host" in str(refused.value)


def test_what_was_agreed_to_be_destroyed_is_not_agreed_to_again() -> None:
    first = replace(kept("weka/write-iops"), destroy=("/dev/sdx",), take_locks=True)
    made = proof(first, DEPTH)
    assert (made.destroy, made.take_locks) == ((), False)
    assert made.steps[1].tasks[0].writes_bytes


def test_what_was_agreed_to_for_the_run_holds_for_the_same_targets_right_after_it() -> None:
    made = proof(kept("weka/write-iops"), DEPTH)
    path = made.steps[0].tasks[0].files[0].path
    assert targets_named(made, [path, "/dev/sdx"]) == [path]


def test_a_step_of_a_suite_is_that_of_its_profile() -> None:
    made = proof(kept("weka/fio"), DEPTH, step=1)
    assert made.profile.tag == kept("weka/fio").steps[1].profile
    assert made.headline is not None and made.members == []


def test_a_point_of_a_sweep_over_hosts_has_its_number_of_hosts() -> None:
    first = kept(sweep={"numjobs": ["1", "2"]})
    made = proof(first, DEPTH, step=1)
    assert made.steps[0].in_flight == 8


def test_a_load_generator_that_cannot_is_named() -> None:
    with pytest.raises(UsageError, match="mdtest has no"):
        proof(kept("weka/mdtest", overrides={}), DEPTH)


def test_the_plan_as_text_says_what_is_to_be_shown() -> None:
    said = review_text(proof(kept(), DEPTH))
    assert "proves     concurrency as the bottleneck of the-run, words" in said
    assert "predicted with twice as many I/Os in flight: 1.3x the IOPS or more" in said


def test_its_length_can_be_chosen() -> None:
    assert proof(kept(), DEPTH, seconds=4.0).steps[1].runtime_s == 4.0


def test_every_change_of_every_preset_is_on_files_of_the_run_or_refused() -> None:
    catalogue, made = Catalogue(Path("/nowhere")), 0
    for tag in catalogue.names():
        loaded = catalogue.load(tag)
        if loaded.profile.tool != "fio":
            continue
        first = build_plan(loaded, Choices(hosts=HOSTS[:2]))
        before = {
            spec.path: spec.size_bytes for task in first.steps[-1].tasks for spec in task.files
        }
        for change in SAID:
            try:
                changed = proof(
                    first, LoadChange(change, BETTER), step=first.steps[-1].index
                ).steps[1]
            except UsageError:
                continue
            made += 1
            after = {spec.path: spec.size_bytes for task in changed.tasks for spec in task.files}
            assert {
                path: size for path, size in after.items() if size > before.get(path, -1)
            } == {}, (tag, change)
    assert made > 200
