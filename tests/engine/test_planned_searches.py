"""A search is planned from profile, hosts and wishes: what it may cost is known beforehand, and
nothing is dropped.
"""

from __future__ import annotations

import argparse
import re
from typing import Any

import pytest
from msgspec import structs

from tui.app.screens.review_form import HINTS, fields_words
from tui.cli import run
from tui.cli.shared.review import review_text
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.reproduce import choices_again
from tui.engine.plan.search import SearchChoice, offered_step
from tui.model.address import HostAddress
from tui.model.operands import clause
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.model.profile_parts import over_of
from tui.model.search import HOSTS, Offer
from tui.view.plan import caveats_of, time_bounds

FOUR = [HostAddress(name=f"h{number}") for number in range(1, 5)]
LOAD = """\
profile: my/ENGINE
title: Reads
tool: fio
params:
  directory: {default: /mnt/x, kind: directory}
  jobs: {default: 2, kind: count}
  depth: {default: 1, kind: count, max: 64}
  files: {default: 1, kind: count}
fio:
  global: {ioengine: ENGINE, rw: randread, time_based: 1, runtime: 5, size: 1m, nrfiles: "{files}"}
  jobs: {r: {directory: "{directory}", numjobs: "{jobs}", iodepth: "{depth}"}}
headline: {metric: iops, direction: read}
"""
OWN = {
    "rated": (
        "profile: my/rated\ntitle: R\nextends: demo/quick\nparams: {cap: {default: 500, kind:"
        " count}}\nfio: {global: {rate_iops: '{cap}'}}\ncurve: {}\n"
    ),
    "thinking": (
        "profile: my/thinking\ntitle: T\nextends: demo/quick\nfio: {global: {thinktime: 100}}\n"
    ),
    **{engine: LOAD.replace("ENGINE", engine) for engine in ("libaio", "psync")},
    "wide": (
        "profile: my/wide\ntitle: W\nextends: demo/quick\n"
        "capacity: {limits: ['p99 < 2ms'], over: [rate, {hosts: [1, 2, 8]}]}\n"
    ),
}


def plan(catalogue: Catalogue, profile: str, wish: SearchChoice, **choices: Any) -> Plan:
    return build_plan(catalogue.load(profile), Choices(hosts=FOUR, search=wish, **choices))


def over(found: Plan) -> dict[str, tuple[int, ...]]:
    assert found.search is not None
    return {knob.name: knob.values for knob in found.search.over}


LIMITS = ("p99 < 5ms",)


REFUSED = [
    (
        "weka/read-iops",
        SearchChoice(None, LIMITS, points=3),
        "--slo, --points requires a search: weka/read-iops defines no",
    ),
    (
        "weka/read-iops",
        SearchChoice(None, within_s=60.0),
        "--within requires a search: .* run --curve",
    ),
    ("weka/read-iops", SearchChoice(None, over={"rate": ()}), "--over requires a search"),
    (
        "my/wide",
        SearchChoice("none", point_s=5.0),
        "--point requires a search: --no-search was given$",
    ),
    ("weka/all", SearchChoice(None, points=3), "weka/all is a suite"),
    ("my/wide", SearchChoice(points=501), "--points 501: expected a whole number from 1 to 500"),
    ("my/wide", SearchChoice(points=0), "--points 0: "),
    (
        "my/wide",
        SearchChoice(within_s=10.0),
        "--within 10s is too short: one point takes 11s, including 1s before the measurement; ",
    ),
    (
        "weka/read-iops",
        SearchChoice("curve", within_s=15.0),
        "--within 15s is too short: one point takes 16s, including 6s before",
    ),
    (
        "my/wide",
        SearchChoice(point_s=60.0, most_point_s=30.0),
        "--most 30s: a point lasts at least 1m; use --point",
    ),
    (
        "my/wide",
        SearchChoice(over={"rate": (), "hosts": (1, 5, 6)}),
        "--over hosts=5,6: only 4 hosts were chosen",
    ),
    (
        "my/wide",
        SearchChoice("curve", over={"numjobs": ()}),
        "--over numjobs: a curve only varies the share of full load",
    ),
    (
        "my/wide",
        SearchChoice("scaling", over={"rate": (), "hosts": ()}),
        "--over rate: scaling only varies hosts",
    ),
    (
        "my/wide",
        SearchChoice("scaling", most_point_s=60.0),
        "--most does not apply to scaling: --point sets the time of every point",
    ),
    ("my/thinking", SearchChoice("curve"), "already limited by thinktime"),
]


@pytest.mark.parametrize(("profile", "wish", "message"), REFUSED)
def test_what_a_search_cannot_do_is_refused_and_not_dropped(
    catalogue: Catalogue, profile: str, wish: SearchChoice, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        plan(catalogue, profile, wish)


@pytest.mark.parametrize(
    ("profile", "wish", "more"),
    [
        *((profile, wish, {}) for profile, wish, _ in REFUSED),
        ("weka/read-iops", SearchChoice("capacity"), {}),
        ("demo/quick", SearchChoice("curve"), {"repeat": 2}),
        ("demo/quick", SearchChoice("capacity", LIMITS), {"sweep": {"numjobs": ["1"]}}),
        ("demo/quick", SearchChoice("none"), {"sweep": {"numjobs": ["1", "1"]}}),
        ("demo/quick", SearchChoice("none"), {"sweep": {"numjob": ["1"]}}),
        ("demo/quick", SearchChoice("none"), {"attest": {"warm": "yes"}}),
    ],
)
def test_a_form_is_told_in_its_own_words(
    catalogue: Catalogue, profile: str, wish: SearchChoice, more: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as refused:
        plan(catalogue, profile, wish, words=fields_words(), **more)
    assert "--" not in str(refused.value)


def test_the_words_of_the_form_are_the_labels_of_its_fields() -> None:
    labels = {label for label, _ in HINTS.values()} | {"repeat", "sweep"}
    words = " ".join(structs.astuple(fields_words()))
    assert set(re.findall("'(.*?)'", words)) == labels


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (SearchChoice("capacity", LIMITS), "automatically: use --over"),
        (SearchChoice("curve"), "run it once per value"),
        (SearchChoice("scaling"), "scaling only varies hosts"),
    ],
)
def test_a_sweep_is_refused_with_an_advice_that_the_search_can_follow(
    catalogue: Catalogue, wish: SearchChoice, message: str
) -> None:
    with pytest.raises(UsageError, match=f"--sweep numjobs: .*{message}"):
        plan(catalogue, "demo/quick", wish, sweep={"numjobs": ["1"]})


def test_a_ramp_of_the_profile_is_part_of_the_time_of_each_point(catalogue: Catalogue) -> None:
    found = plan(catalogue, "capacity/oltp-4k-70r30w", SearchChoice("capacity", within_s=600.0))
    assert found.search is not None
    assert (found.search.lead_s, found.search.own_ramp, found.steps[0].ramp_s) == (30.0, True, 30.0)
    assert time_bounds(found) == (600.0, 600.0)
    assert (
        "30 s to 2 min each, after 30 s of load, at most 10 min of load and pauses"
        in review_text(found)
    )
    free = time_bounds(
        plan(
            catalogue, "capacity/oltp-4k-70r30w", SearchChoice("capacity", within_s=1e6, hold_s=0.0)
        )
    )
    assert free == (20 * 60.0, 20 * (120.0 + 30.0 + 3.0))


def test_a_start_delay_and_the_usual_ramp_are_load_before_a_point(catalogue: Catalogue) -> None:
    found = plan(
        catalogue, "weka/read-iops", SearchChoice("capacity", LIMITS, points=2, hold_s=0.0)
    )
    assert found.search is not None
    assert (found.search.lead_s, found.search.own_ramp) == (5.0, False)
    assert time_bounds(found) == (2 * 16.0, 2 * (120.0 + 10.0 + 3.0))
    assert time_bounds(found)[0] == found.expected_s  # type: ignore[index]


@pytest.mark.parametrize(
    ("wish", "points"),
    [(SearchChoice("scaling"), 6), (SearchChoice("scaling", over={"hosts": (1, 4)}), 4)],
)
def test_points_that_may_be_made_again_are_no_part_of_the_time_of_a_scaling(
    catalogue: Catalogue, wish: SearchChoice, points: int
) -> None:
    found = plan(catalogue, "demo/quick", wish)
    assert time_bounds(found) == (points * 11.0, points * 11.0)
    assert len(found.steps) == points + 2


@pytest.mark.parametrize(
    ("engine", "over", "heavier"),
    [
        ("libaio", {}, ("rate jobs", "rate depth=32,64")),
        ("psync", {}, ("rate jobs",)),
        ("libaio", {"rate": (), "jobs": (2, 6)}, ("rate jobs=12,24", "rate jobs=6 depth=32,64")),
        ("libaio", {"depth": (2, 4), "hosts": (1, 4)}, ("depth=4 jobs", "depth=8,16")),
        ("libaio", {"rate": (), "hosts": (2,)}, ("rate hosts=2 jobs", "rate hosts=2 depth=32,64")),
    ],
)
def test_what_puts_more_in_flight_is_known_for_when_full_load_keeps_the_limits(
    catalogue: Catalogue, engine: str, over: dict[str, tuple[int, ...]], heavier: tuple[str, ...]
) -> None:
    wish = SearchChoice("capacity", LIMITS, over=over)
    found = plan(
        catalogue, f"my/{engine}", wish, overrides={"depth": "16"} if engine == "libaio" else {}
    )
    assert found.search is not None and found.search.heavier == heavier
    for words in heavier:
        asked = SearchChoice("capacity", LIMITS, over=over_of(words.split()))
        assert plan(catalogue, f"my/{engine}", asked).search is not None


def test_numbers_of_hosts_are_those_that_were_given_and_those_of_a_profile_that_fit(
    catalogue: Catalogue,
) -> None:
    assert over(plan(catalogue, "demo/quick", SearchChoice("scaling", over={"hosts": (1, 2)}))) == {
        HOSTS: (1, 2)
    }
    assert over(plan(catalogue, "demo/quick", SearchChoice("scaling"))) == {HOSTS: (1, 2, 4)}
    wide = plan(catalogue, "my/wide", SearchChoice())
    assert over(wide) == {"rate": (), HOSTS: (1, 2)}
    assert wide.caveats == [clause("host-counts-skipped", counts=[8], hosts=4)]
    assert caveats_of(wide) == [
        "host counts 8 of the profile: skipped, because only 4 hosts are chosen"
    ]


def test_what_a_search_sets_itself_is_reported_once_before_it_starts(catalogue: Catalogue) -> None:
    found = plan(catalogue, "my/rated", SearchChoice(), overrides={"runtime": "5m"})
    told = caveats_of(found)
    assert [caveat.partition(":")[0] for caveat in told] == [
        "rate_iops=500 is ignored",
        "runtime is ignored",
    ]
    assert "rate_iops=500 is ignored" in told[0]
    assert "rate_iops" not in found.steps[0].tasks[0].job_file
    assert (
        plan(catalogue, "demo/quick", SearchChoice("curve"), overrides={"numjobs": "2"}).caveats
        == []
    )
    assert not offered_step(found, found.slots[0], Offer(None, 10.0)).caveats, (
        "it is said again with each point"
    )


def test_a_load_that_waits_by_itself_can_be_measured_over_hosts(catalogue: Catalogue) -> None:
    assert (
        "thinktime=100"
        in plan(catalogue, "my/thinking", SearchChoice("scaling")).steps[0].tasks[0].job_file
    )


def test_lengths_of_points_are_as_they_were_asked_for_and_so_again(catalogue: Catalogue) -> None:
    found = plan(catalogue, "my/wide", SearchChoice(point_s=90.0, most_point_s=300.0))
    assert found.search is not None
    assert (found.search.point_s, found.search.most_point_s, found.steps[0].runtime_s) == (
        90.0,
        300.0,
        90.0,
    )
    longer = plan(catalogue, "my/wide", SearchChoice(point_s=300.0)).search
    assert longer is not None and longer.most_point_s == 300.0, "a longer least time is no fault"
    again = choices_again(found, catalogue.load("my/wide")).search
    assert again is not None
    assert plan(catalogue, "my/wide", again).search == found.search
    scaled = plan(catalogue, "my/wide", SearchChoice("scaling"))
    fewer = choices_again(scaled, catalogue.load("my/wide")).search
    assert fewer is not None
    two = build_plan(catalogue.load("my/wide"), Choices(hosts=FOUR[:2], search=fewer))
    assert over(two) == {HOSTS: (1, 2)}, "with fewer hosts the same can be asked for"


def wish(*words: str) -> SearchChoice:
    parser = argparse.ArgumentParser()
    run.configure(parser)
    return run.own_search_choice(parser.parse_args(["my/wide", *words]))


def test_the_command_line_asks_for_what_it_says() -> None:
    assert wish("--no-search") == SearchChoice("none")
    over_two = wish("--scaling", "--over", "hosts=1,2", "--point", "20s")
    assert over_two == SearchChoice("scaling", over={"hosts": [1, 2]}, point_s=20.0)
    bounds = (
        "--points",
        "9",
        "--within",
        "30m",
        "--point",
        "20s",
        "--most",
        "1m",
        "--slo",
        "p99<2ms",
    )
    assert wish("--curve", *bounds) == SearchChoice(
        "curve", ("p99<2ms",), {}, 9, 1800.0, 20.0, 60.0
    )
    wrong = {"--point": "0", "--most": "x", "--over": "hosts=", "--slo": "p99"}
    for option, text in wrong.items():
        with pytest.raises(UsageError, match=f"^{option}"):
            wish(option, text)


def test_an_answer_is_held_for_five_minutes_and_review_counts_the_time_before(
    catalogue: Catalogue,
) -> None:
    found = plan(catalogue, "weka/read-iops", SearchChoice("capacity", LIMITS, points=4))
    assert found.search is not None and found.search.hold_s == 300.0
    assert time_bounds(found) == (3 * 16.0 + 310.0, 4 * 310.0)
    assert "holds" in review_text(found) and "for 5 min" in review_text(found)
    bounded = plan(catalogue, "weka/read-iops", SearchChoice("capacity", LIMITS, within_s=400.0))
    assert bounded.search is not None and bounded.search.hold_s == 100.0
    asked = plan(
        catalogue, "weka/read-iops", SearchChoice("capacity", LIMITS, within_s=400.0, hold_s=20.0)
    )
    assert asked.search is not None and asked.search.hold_s == 20.0
    with pytest.raises(UsageError, match="no capacity to hold"):
        plan(catalogue, "weka/read-iops", SearchChoice("curve", hold_s=20.0))
