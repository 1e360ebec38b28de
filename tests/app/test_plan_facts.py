"""`--dry-run` and Review are two looks at one plan: what one of them says, the other says too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.engine.test_matrix import HOSTS
from tests.engine.test_prove import DEPTH, kept, proof
from tests.samples.records import IOPS, run, step
from tui.analysis.compare import compare
from tui.app.screens.review_plan import plan_lines
from tui.app.services.preflight import free_space
from tui.cli.shared.review import review_text, too_little_here
from tui.engine.inputs.hosts import LOCAL_ADDRESS
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.search import SearchChoice
from tui.metrics.repeat import repetitions_needed
from tui.model.hostfacts import Fact
from tui.model.plan import Attestation, Plan
from tui.text.line import plain_lines
from tui.view.plan import plan_facts, title_text, warnings
from tui.view.plan_layout import LayoutAhead, is_large, layout_bytes, space_text

SWEEP: dict[str, Any] = {"sweep": {"numjobs": ["1", "2"]}}
SEARCH: dict[str, Any] = {"search": SearchChoice("capacity", limits=("p99 < 5ms",))}


def plan(profile: str = "weka/read-iops", **choices: Any) -> Plan:
    """A plan of a preset for two hosts."""
    return build_plan(
        Catalogue(Path("/nowhere")).load(profile), Choices(**{"hosts": HOSTS[:2], **choices})
    )


PLANS = {
    "one step": lambda: plan(),
    "one host": lambda: plan(hosts=HOSTS[:1]),
    "servers": lambda: plan(servers=HOSTS[2:3]),
    "a mixed load": lambda: plan("demo/quick"),
    "a sweep": lambda: plan(**SWEEP),
    "repetitions": lambda: plan(repeat=4, **SWEEP),
    "a suite": lambda: plan("weka/all"),
    "metadata": lambda: plan("weka/mdtest"),
    "a search": lambda: plan(**SEARCH),
    "a device": lambda: replace(plan("demo/quick"), allow_device=True),
    "caveats": lambda: replace(plan(), caveats=["numjobs=4 in every profile"]),
    "attested": lambda: replace(
        plan(), attested=[Attestation("cold", "Is the cache cold?", "yes")]
    ),
    "a proof": lambda: proof(kept(), DEPTH),
    "dropped caches": lambda: replace(plan(), drop_caches="require"),
    "changed": lambda: plan("demo/quick", overrides={"runtime": "20s", "size": "1M"}),
    "kept options": lambda: replace(plan(), cleanup=True),
}


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("kind", PLANS)
def test_both_show_every_fact_of_a_plan(kind: str) -> None:
    made = PLANS[kind]()
    shown = one_line("\n".join(plain_lines(plan_lines(made, 400))))
    printed = one_line(review_text(made))
    for fact in plan_facts(made):
        said = one_line(f"{fact.label} {fact.text}{', '.join(fact.names)}{fact.more}")
        assert said in printed
        assert said in shown


def test_a_title_that_states_figures_is_not_shown_as_true_of_changed_ones() -> None:
    title = plan("demo/quick").profile.title
    facts = {
        fact.label: fact.text for fact in plan_facts(plan("demo/quick", overrides={"size": "1M"}))
    }
    assert facts["profile"] == f"modified: {title}" and facts["changed"] == "size=1M"


def test_a_title_without_figures_stays_when_parameters_change() -> None:
    made = plan("weka/read-iops", overrides={"runtime": "60s"})
    assert next(plan_facts(made)).text == made.profile.title


@pytest.mark.parametrize(
    "title", ["Random read 4k", "Ten seconds of reads", "one client", "70 % reads"]
)
def test_figures_of_a_title_are_digits_or_words(title: str) -> None:
    assert title_text(title, {"runtime": "60s"}, None) == f"modified: {title}"


@pytest.mark.parametrize(
    "title", ["", "WEKA read IOPS", "Often written files", "Standalone phones"]
)
def test_words_that_hold_the_name_of_a_number_are_no_figures(title: str) -> None:
    assert title_text(title, {"runtime": "60s"}, None) == title


def test_words_of_a_title_that_set_a_parameter_have_its_value_now() -> None:
    title = "rw=randread bs=4k numjobs=1"
    changed = {"numjobs": "8", "runtime": "5s"}
    assert title_text(title, changed, None) == "rw=randread bs=4k numjobs=8"
    assert title_text(title, {}, None, {"bs": "4k,64k"}) == "rw=randread bs=4k,64k numjobs=1"
    assert title_text(f"fast 4k {title}", changed, None).startswith("modified: fast 4k rw=")


def test_another_directory_leaves_the_title_true() -> None:
    made = plan("demo/quick", overrides={"directory": "/mnt/other"})
    assert next(plan_facts(made)).text == made.profile.title


@pytest.mark.parametrize("kind", PLANS)
def test_what_review_warns_of_is_printed_too(kind: str) -> None:
    made = PLANS[kind]()
    assert all(
        f"note {text}" in one_line(review_text(made)) for text in map(one_line, warnings(made))
    )


def test_it_is_said_how_many_runs_compare_needs() -> None:
    assert "1  (compare needs 4)" in review_text(plan())
    assert "4  (comparing 2 points needs 5)" in review_text(plan(repeat=4, **SWEEP)), (
        "two headlines"
    )


@pytest.mark.parametrize("points", [1, 2, 5, 6])
def test_the_stated_number_of_runs_decides_and_one_less_does_not(points: int) -> None:
    needed = repetitions_needed(points)
    for times, word in ((needed, "worse"), (needed - 1, "too few repetitions to say")):
        a, b = (
            [
                run(*(step(IOPS * share * (1 + 0.001 * turn), index=point, count=0,
                           point={"bs": point}) for point in range(points)))
                for turn in range(times)
            ]
            for share in (1.0, 0.85)
        )  # fmt: skip
        found = compare(a, b)
        assert {each.word for each in found.changes if each.headline} == {word}, (points, times)


def test_test_files_that_do_not_fit_are_told_and_marked() -> None:
    made = plan("demo/quick", overrides={"size": "1G"})
    size = sum(layout_bytes(made).values())
    roomy, tight = LayoutAhead(None, "2 GiB free", size), LayoutAhead(None, "1 GiB free", size - 1)
    assert not space_text(made, roomy) and not space_text(made, LayoutAhead())
    assert "1 GiB free" in space_text(made, tight) and is_large(made, tight)


def test_the_ramp_in_the_planned_time_is_named() -> None:
    without = plan()
    with_ramp = replace(without, steps=[replace(each, ramp_s=5.0) for each in without.steps])
    assert "5 s ramp" in review_text(with_ramp)
    assert "ramp" not in review_text(without)


def test_a_dry_run_on_this_machine_says_that_test_files_do_not_fit(tmp_path: Path) -> None:
    for size, fits in (("1M", True), ("100T", False)):
        made = plan(
            "demo/quick",
            overrides={"size": size, "directory": str(tmp_path)},
            hosts=[LOCAL_ADDRESS],
        )
        text = review_text(made, too_little_here(made))
        assert ("but only" not in text) is fits


@pytest.mark.parametrize(
    ("sources", "fits_tib", "text"),
    [
        ("aaa", 1.0, "1 TiB free"),
        ("abc", 3.0, "1 TiB free per host"),
        ("aab", 1.5, "1 TiB free per file system"),
    ],
)
def test_hosts_that_share_a_file_system_share_its_free_space(
    sources: str, fits_tib: float, text: str
) -> None:
    made = replace(plan(hosts=HOSTS[: len(sources)]), target="/mnt")
    facts: dict[str, dict[str, Fact]] = {
        host.name: {
            "target": "/mnt",
            "target_free_bytes": 1 << 40,
            "target_fstype": "nfs4",
            "target_source": f"{source}:/export",
            "target_mount": "/mnt",
            "boot_id": host.name,
        }
        for host, source in zip(made.hosts, sources, strict=True)
    }
    said, fits = free_space(made, facts)
    assert said == text and fits is not None and fits / (1 << 40) == pytest.approx(fits_tib)
