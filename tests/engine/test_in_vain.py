"""What is asked for and changes nothing is said before the start, and not measured under two
names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tui.engine.inputs.profiles import Catalogue, LoadedProfile
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.search import SearchChoice
from tui.model.address import HostAddress
from tui.model.alike import vain_axes
from tui.model.plan import Plan, parse_plan
from tui.model.problem import UsageError
from tui.view.plan import caveats_of

BASE = """\
profile: my/base
title: A base
tool: fio
params: {bs: {default: 4k, kind: size}, depth: {default: 1, kind: count}, dir: {default: /t, kind: directory}}
fio:
  global: {iodepth: "{depth}", bs: "{bs}", ioengine: psync, size: 1M, directory: "{dir}/{host}"}
  jobs: {mix: {rw: randread, runtime: 5, time_based: 1}}
headline: {metric: iops, direction: read}
"""
FIXED = "fio: {jobs: {mix: {bs: 64k}}}\n"
IDLE = "every job sets its own: [mix] bs=64k"
DATA = Path(__file__).parents[1] / "data"
VAIN = "iodepth has no effect with psync: it is synchronous"
SWEEP = "sweep over depth: all points run the same load, so they differ only by chance"
QUEUES = "fio: {global: {ioengine: libaio}}\n"


@pytest.fixture
def own(tmp_path: Path) -> Catalogue:
    (tmp_path / "base.yaml").write_text(BASE)
    return Catalogue(tmp_path)


def loaded(own: Catalogue, more: str, base: str = "my/base") -> LoadedProfile:
    path = own.user_dir / "x.yaml"
    return own.load_text(f"profile: my/x\nextends: {base}\n{more}", path)


def plan(profile: LoadedProfile, **choices: Any) -> Plan:
    return build_plan(
        profile, Choices(hosts=[HostAddress(name="h1"), HostAddress(name="h2")], **choices)
    )


def refusal(own: Catalogue, more: str, base: str = "my/base") -> str:
    with pytest.raises(UsageError) as caught:
        loaded(own, more, base)
    return str(caught.value).replace(f"{own.user_dir}/", "")


def hints(profile: LoadedProfile) -> list[str]:
    return [str(hint).replace(f"{profile.path.parent}/", "") for hint in profile.hints]


# -- options of [global]


@pytest.mark.parametrize(("option", "name"), [("bs", "bs"), ("blocksize", "bs")])
def test_a_parameter_that_every_job_overrides_is_an_error(
    own: Catalogue, option: str, name: str
) -> None:
    text = f'params: {{bs: {{default: 4k, kind: size}}}}\nfio: {{global: {{{option}: "{{bs}}"}}}}\n'
    assert (
        refusal(own, text, "demo/quick")
        == f"x.yaml:3:10: parameter 'bs' has no effect: every job sets its own: [mix] {name}=4k"
    )


def test_a_parameter_that_one_job_still_takes_acts(own: Catalogue) -> None:
    more = loaded(own, "fio: {jobs: {mix: {bs: 64k}, more: {rw: read}}}\n")
    assert hints(more) == []
    assert plan(more, sweep={"bs": ["4k", "8k"]}).axes == ["bs"]


def test_an_option_that_every_job_overrides_is_a_hint_with_its_place(own: Catalogue) -> None:
    more = (
        "fio: {global: {thinktime: 4}, jobs: {mix: {thinktime: 8}, more: {rw: read, thinktime:"
        " 16}}}\n"
    )
    told = "x.yaml:3:16: thinktime in [global] has no effect: every job sets its own: "
    told += "[mix] thinktime=8, [more] thinktime=16"
    profile = loaded(own, more)
    assert hints(profile) == [told]
    assert [caveat.removeprefix(f"{own.user_dir}/") for caveat in caveats_of(plan(profile))] == [told]


def test_a_profile_may_fix_what_the_extended_one_left_open_and_says_so(own: Catalogue) -> None:
    assert hints(loaded(own, FIXED)) == [
        f"x.yaml:2:1: parameter 'bs' of my/base has no effect here: {IDLE}"
    ]


@pytest.mark.parametrize(
    "choices",
    [
        {"overrides": {"depth": "2"}},
        {"sweep": {"depth": ["1", "2"]}},
        {"search": SearchChoice("capacity", limits=["p99 < 5ms"], over={"depth": []})},
    ],
)
def test_a_value_that_changes_nothing_is_refused(own: Catalogue, choices: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        plan(loaded(own, "fio: {jobs: {mix: {iodepth: 8}}}\n"), **choices)
    told = "my/x: parameter 'depth' has no effect: every job sets its own: [mix] iodepth=8"
    assert str(caught.value) == told


def test_the_value_that_it_has_anyway_is_not_refused(own: Catalogue) -> None:
    assert plan(loaded(own, FIXED), overrides={"bs": "4k"}).params["bs"] == 4096


def test_a_sweep_whose_loads_only_their_names_tell_apart_is_refused(own: Catalogue) -> None:
    more = """\
params: {lay: {default: true, kind: flag}}
prepare: {layout: "{lay}"}
fio: {global: {ioengine: "null"}}
"""
    fileless = loaded(own, more)
    with pytest.raises(UsageError, match="my/x: sweep over 'lay': all values give the same load"):
        plan(fileless, sweep={"lay": ["yes", "no"]})
    assert plan(fileless, sweep={"bs": ["4k", "8k"]}).axes == ["bs"]


def test_no_preset_asks_for_anything_without_effect(tmp_path: Path) -> None:
    presets = Catalogue(tmp_path)
    assert {tag: found for tag in presets.names() if (found := presets.load(tag).hints)} == {}


# -- queue depths


@pytest.mark.parametrize("more", ["params: {depth: 4}\n", "sweep: {grid: {depth: [1, 4]}}\n"])
def test_a_depth_that_no_engine_keeps_is_a_hint(own: Catalogue, more: str) -> None:
    assert [hint.partition(": ")[2] for hint in hints(loaded(own, more))] == [VAIN]
    assert hints(loaded(own, more + QUEUES)) == []


def test_a_plan_says_that_a_depth_does_not_act(own: Catalogue) -> None:
    made = plan(loaded(own, ""), overrides={"depth": "4"})
    assert caveats_of(made) == [VAIN]
    assert made.steps[0].jobs[0].in_vain == made.caveats[0] != VAIN
    assert plan(loaded(own, "")).caveats == []
    offloaded = loaded(own, "fio: {global: {io_submit_mode: offload}}\n")
    assert plan(offloaded, overrides={"depth": "4"}).caveats == []


def test_a_plan_that_has_caveats_as_texts_is_read_and_shown_as_before() -> None:
    old = parse_plan((DATA / "plans" / "caveats-as-texts.json").read_bytes())
    assert caveats_of(old) == old.caveats == [VAIN, SWEEP.replace("depth", "iodepth")]
    assert vain_axes(old.steps, old.axes) == ["iodepth"]


def test_a_sweep_over_a_depth_that_does_not_act_is_reported_to_measure_one_load(
    own: Catalogue,
) -> None:
    values = {"bs": ["4k", "8k"], "depth": ["1", "4"]}
    assert caveats_of(plan(loaded(own, ""), sweep=values)) == [VAIN, SWEEP]
    assert plan(loaded(own, QUEUES), sweep=values).caveats == []


def test_a_depth_that_one_of_two_jobs_keeps_is_a_sweep(own: Catalogue) -> None:
    both = loaded(own, "fio: {jobs: {more: {ioengine: libaio, rw: read}}}\n")
    assert caveats_of(plan(both, sweep={"depth": ["1", "4"]})) == [VAIN]


def test_a_search_over_a_depth_that_does_not_act_says_so(own: Catalogue) -> None:
    wish = SearchChoice("capacity", limits=["p99 < 5ms"], over={"depth": [1, 4]})
    told = "search over depth: all values give the same load"
    assert caveats_of(plan(loaded(own, ""), search=wish)) == [told, VAIN]
    assert plan(loaded(own, QUEUES), search=wish).caveats == []
