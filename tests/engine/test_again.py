"""A run made again: choices that lead to the plan that it had."""

from __future__ import annotations

from typing import Any

import pytest

from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.reproduce import choices_again
from tui.engine.plan.search import SearchChoice
from tui.model.address import HostAddress
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.model.search import LoadChange, Prediction, Proof

HOSTS = [HostAddress(name=f"h{number}") for number in (1, 2, 3)]
OWN = {
    "swept": (
        "profile: my/swept\ntitle: S\nextends: demo/quick\nsweep: {grid: {numjobs: [1, 2], size:"
        " [4M, 8M]}}\n"
    ),
    "until": (
        "profile: my/until\ntitle: U\nextends: demo/quick\nrepeat: {until: 5%, min: 3, max: 4}\n"
    ),
    "key": (
        "profile: my/key\ntitle: K\nextends: demo/quick\nparams:\n  key: {kind: secret, default:"
        " '${OUR_KEY}'}\nfio:\n  global: {description: '{key}'}\n"
    ),
    "sized": (
        "profile: my/sized\ntitle: Z\nextends: demo/quick\ncapacity: {limits: ['p99 < 2ms']}\n"
    ),
    "suite": (
        "profile: my/suite\ntitle: T\ntool: suite\nrepeat: 2\n"
        "suite: [{profile: demo/quick}, {profile: my/swept}]\n"
    ),
}


def what_is_measured(plan: Plan) -> list[object]:
    return [
        (
            step.name,
            step.params,
            step.point,
            step.repetition,
            step.hosts,
            [task.job_file for task in step.tasks],
        )
        for step in plan.steps
    ]


@pytest.mark.parametrize(
    ("profile", "chosen"),
    [
        ("demo/quick", {}),
        (
            "demo/quick",
            {
                "overrides": {"size": "32M", "runtime": "90s", "direct": "no"},
                "repeat": 3,
                "cleanup": False,
            },
        ),
        ("demo/quick", {"sweep": {"numjobs": ["1", "2"], "runtime": ["1500ms", "2m"]}}),
        ("my/swept", {}),
        ("my/swept", {"overrides": {"numjobs": "4"}}),  # 4 is what numjobs is unless it is swept
        ("my/swept", {"sweep": {"size": ["1M"]}, "repeat": 2}),
        ("my/until", {}),
        ("my/until", {"repeat": 2}),
        ("my/key", {"overrides": {"key": "${MY_KEY}"}}),
        ("my/suite", {"overrides": {"runtime": "3s"}, "repeat": 3}),
        ("my/suite", {}),
        ("wekatester/default", {"overrides": {"directory": "/mnt/other"}}),
        ("weka/all", {"precondition": False}),
    ],
)
def test_the_choices_of_a_plan_lead_to_it_again(
    catalogue: Catalogue, profile: str, chosen: dict[str, Any]
) -> None:
    loaded = catalogue.load(profile)
    plan = build_plan(loaded, Choices(hosts=HOSTS, **chosen))
    again = choices_again(plan, loaded)
    rest = {
        name: getattr(again, name)
        for name in ("overrides", "repeat", "sweep", "cleanup", "precondition")
    }
    made = build_plan(loaded, Choices(hosts=HOSTS, **rest))
    assert what_is_measured(made) == what_is_measured(plan)
    assert (made.cleanup, made.until, made.axes, made.params) == (
        plan.cleanup,
        plan.until,
        plan.axes,
        plan.params,
    )
    assert again.caveats == ()
    assert (
        rest["repeat"] == chosen.get("repeat")
        and rest["sweep"].keys() == chosen.get("sweep", {}).keys()
    )


def test_what_cannot_be_the_same_is_reported(catalogue: Catalogue) -> None:
    plan = build_plan(
        catalogue.load("my/key"), Choices(hosts=HOSTS, overrides={"key": "${MY_KEY}"})
    )
    assert choices_again(plan, catalogue.load("demo/quick")).caveats == (
        "my/key has changed since that run",
        "key was *** in that run",
    )


def test_a_counter_experiment_is_not_made_again(catalogue: Catalogue) -> None:
    plan = build_plan(catalogue.load("demo/quick"), Choices(hosts=HOSTS))
    plan.proves = Proof("r", 0, "cpu", "host-cpu", LoadChange("half-workers", Prediction("iops")))
    with pytest.raises(UsageError, match="counter-experiment"):
        choices_again(plan, catalogue.load("demo/quick"))


@pytest.mark.parametrize(
    "wish",
    [
        SearchChoice("capacity", ("p99 < 5ms", "errors = 0"), {"rate": ()}, 9, 600.0),
        SearchChoice("capacity", ("p99 < 5ms",), {"numjobs": (1, 2)}),
        SearchChoice("curve"),
        SearchChoice("scaling"),
        SearchChoice("none"),
    ],
)
def test_a_search_made_again_searches_for_the_same_and_a_measurement_measures(
    catalogue: Catalogue, wish: SearchChoice
) -> None:
    loaded = catalogue.load("my/sized")
    plan = build_plan(loaded, Choices(hosts=HOSTS, overrides={"runtime": "3s"}, search=wish))
    again = choices_again(plan, loaded)
    assert (again.repeat, again.sweep, again.overrides) == (None, {}, {"runtime": "3s"})
    made = build_plan(
        loaded,
        Choices(hosts=HOSTS, overrides=again.overrides, search=again.search or SearchChoice()),
    )
    assert made.search == plan.search
    assert what_is_measured(made) == what_is_measured(plan)
