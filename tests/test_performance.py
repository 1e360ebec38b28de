"""docs/performance.md and the README say what was measured: their figures and words are written
from one file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.long.bench.judged import (
    FLOOR,
    TARGETS,
    first_frame,
    host_costs,
    losses,
    observed,
    targets,
    truth,
)
from tests.long.bench.report import DATA, PAGES, written


def found(bench: str, *rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What a bench has kept."""
    return {bench: {"rows": list(rows)}}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_what_was_measured_last(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<!-- words: " in text
    assert text == written(text, json.loads(DATA.read_text())), (
        f"{page.name} is old: python -m tests.long.bench report"
    )


def test_the_readme_says_how_far_percentiles_are_off_and_in_which_direction() -> None:
    off = {"benchtui, % off": -0.34, "mean of hosts, % off": 12.4, "worst host, % off": -3.0}
    said = truth(found("true_percentiles", {"percentile": "p50"}, {"percentile": "p99", **off}))
    assert (
        said
        == "merged p99 0.3 % off, the mean of the hosts' p99 12 % too high, the worst host's 3 %"
        " too low"
    )


@pytest.mark.parametrize(("rows", "measured", "judged"), [
    ([{"hosts": 64, "state": "complete", "CPU, % of a core": 10.0},
      {"hosts": 256, "state": "complete", "CPU, % of a core": 24.0}], "24.0", "met"),
    ([{"hosts": 256, "state": "complete", "CPU, % of a core": 50.0}], "50.0", "missed by 100 %"),
    ([{"hosts": 64, "state": "complete", "CPU, % of a core": 10.0},
        {"hosts": 256, "state": "failed: too busy"}],
     "10.0 at 64 hosts", "not measured at 256 hosts"),
    ([], "–", "not measured"),
])  # fmt: skip
def test_a_target_is_judged_at_its_own_size_alone(
    rows: list[dict[str, Any]], measured: str, judged: str
) -> None:
    first = targets(found("engine_scale", *rows)).splitlines()[2]
    assert [cell.strip() for cell in first.split("|")[2:4]] == [measured, judged]
    assert TARGETS[0].text in first


def test_growing_costs_of_a_host_are_reported() -> None:
    rows = [{"hosts": hosts, "state": "complete", "CPU, % of a core": cpu,
        "memory, MiB": 50.0 + hosts,
             "journal, kB/s": 6.0 * hosts} for hosts, cpu in ((10, 2.0), (100, 60.0))]  # fmt: skip
    said = host_costs(found("engine_scale", *rows))
    assert said.splitlines()[3].startswith("| 100 | 6.00 |")
    assert said.endswith(
        "engine: CPU per host per second: 3.0 times as much at 100 hosts as at 10."
    )
    assert host_costs(found("engine_scale", rows[0])).endswith("growth unknown.")
    assert host_costs(
        found("engine_scale", rows[0], {**rows[1], "CPU, % of a core": 20.0})
    ).endswith("than at 10.")


def test_every_figure_in_which_another_program_is_better_is_listed_the_worst_first() -> None:
    rows = [
        {"hosts": 4, "program": "benchtui", "time, s": 3.0, "client CPU, s": 2.0, "forks": 5.0},
        {"hosts": 4, "program": "pdsh", "time, s": 2.0, "client CPU, s": 0.5, "forks": 9.0},
        {"hosts": 4, "program": "clush", "time, s": "not installed"},
        {"hosts": 8, "program": "pdsh", "time, s": 0.1, "client CPU, s": 0.1},
    ]
    told = losses(found("fan_out", *rows)).splitlines()[2:]
    assert told == [
        "| one command, 4 hosts: client CPU, s | pdsh | 0.50 | 2.00 |",
        "| one command, 4 hosts: time, s | pdsh | 2.00 | 3.00 |",
    ]
    frozen = {"what": "the network", "reported after, s": "never in 1 of 3"}
    peer = {"what": "the network", "program": "fio --client", "reported after, s": 5.7}
    assert "| never in 1 of 3 |" in losses(
        found("frozen_host", {**frozen, "program": "benchtui"}, peer)
    )
    assert losses(found("fan_out", rows[0])) == "Nothing: one command."


def test_the_first_frame_is_compared_with_an_empty_textual_app() -> None:
    ours = {"what": "first frame", "program": "benchtui", "time, ms": 500.0, "CPU, ms": 400.0}
    assert first_frame(found("cold_start", ours)) == "The first frame took 500 ms, 400 of CPU."
    floor = {**ours, "program": FLOOR, "time, ms": 250.0, "CPU, ms": 240.0}
    said = first_frame(found("cold_start", ours, floor))
    assert said.endswith(
        " took 250 ms, 240 of CPU, the minimum for any program that uses it. The rest is ours."
    )
    assert "Textual" not in losses(found("cold_start", ours, floor)), (
        "what ours stands on is no peer"
    )


def test_observer_cost_is_compared_with_the_spread_between_rounds() -> None:
    rounds = {"side": "fio alone", "between rounds, %": 3.0}
    ours = {"side": "under benchtui", "between rounds, %": 2.0, "against fio alone, %": -4.0}
    assert (
        observed(found("observer", rounds, ours))
        == "Under benchtui fio did 4.0 % less than alone, beyond the spread between rounds (3.0 %)."
    )
