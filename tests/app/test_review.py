"""Step 3, Review: the plan of real profiles, changed in the form, started for real."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from textual.content import Content
from textual.widgets import Input, Static

from tests.app.driver import User, opened, options, write_inventory
from tests.app.journal_maker import RunMaker
from tests.remote.conftest import new_run_id
from tui.app.frame.shell import Options
from tui.app.screens import plan_screen
from tui.app.screens import review as review_screen
from tui.app.screens.plan_screen import LaunchLine, unready
from tui.app.widgets.form import Field, SecretInput
from tui.engine.preflight.preview import HostReadiness
from tui.journal.rundir import is_running, load_plan
from tui.library.summary import summarize
from tui.model.address import HostAddress
from tui.model.plan import Plan
from tui.remote.agent import Agent
from tui.remote.local import LocalTransport


def review(
    home: Path, profile: str = "demo/quick", hosts: tuple[str, ...] = ("local",), **changes: object
) -> Options:
    return options(home, hosts=hosts, profile=profile, review=True, **changes)


async def change(user: User, name: str, text: str) -> None:
    """Put a text into a field of the form."""
    field = next(box for box in user.app.screen.query(Input) if box.name == name)
    field.focus()
    await user.press("ctrl+u")
    await user.types(text)


async def test_an_old_plan_is_never_offered_while_the_next_one_is_made(home: Path) -> None:
    async with opened(review(home)) as user:
        screen = user.app.screen
        assert isinstance(screen, review_screen.ReviewScreen)
        await user.sees(lambda: screen.launch_line.seen and screen.plan is not None)
        await user.press("2")
        await user.sees(lambda: user.scope == "profiles")
        line = screen.launch_line
        assert screen.plan is None and line.awaits and not line.seen
        assert "runs on" not in str(line.content)
        screen.action_launch()  # a key that comes before the plan
        assert line.waits and not screen.starting
        line.forget_early_key()
        await user.press("3")
        await user.sees(lambda: line.seen and screen.plan is not None)
        await user.sees("runs on local")


async def test_it_opens_on_review_when_hosts_and_profile_are_given(home: Path) -> None:
    async with opened(review(home)) as user:
        assert user.scope == "review"
        await user.sees("Ten seconds of mixed")
        await user.sees("/var/tmp")
        await user.sees("  10 s")
        await user.sees("runs on local, 10 s")


async def test_nothing_chosen_says_what_comes_first(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("3")
        await user.sees("1 choose hosts first")
        await user.press("1", "space", "3")
        await user.sees("2 choose a profile first")


async def test_without_hosts_it_offers_this_machine_and_the_hosts_of_the_last_run(
    home: Path,
) -> None:
    write_inventory(home)
    async with opened(options(home, profile="demo/quick")) as user:
        await user.press("3")
        await user.sees("l run on this machine")
        assert "last run" not in user.text, "there is none"
        await user.press("h")
        await user.is_told("no earlier run whose hosts all still exist")
        await user.press("l")
        await user.starts("escape")
        assert user.app.selection.ticked == ["local"]
        await user.press("3", "h")
        assert user.told.endswith("runs on local; press 1 to choose others"), (
            "what was chosen stays"
        )
    made = run_of(home, "20261120T101530Z-demo-quick-7f3a", ["weka-01", "weka-02"])
    run_of(home, "20261121T101530Z-demo-quick-7f3a", ["weka-01", "gone"])
    async with opened(options(home, profile="demo/quick")) as user:
        await user.press("3")
        await user.sees("h run on the last run's hosts: weka-01, weka-02")
        assert user.text.splitlines()[-1].split()[:7] == [
            "1",
            "hosts",
            "l",
            "this",
            "machine",
            "h",
            "last",
        ]
        await user.press("h")
        await user.sees("Enter runs on 2 hosts, 10 s")
        assert user.app.selection.ticked == made


def run_of(home: Path, run_id: str, hosts: list[str]) -> list[str]:
    """Keep a run on these hosts; return them."""
    RunMaker(home / "runs" / run_id, hosts).begin().go().measure(1).finish()
    return hosts


async def test_servers_are_looked_at_and_it_is_reported_before_the_start(home: Path) -> None:
    write_inventory(home, "hosts:\n  osd-[1-2]: {role: server}\n")
    async with opened(review(home, servers=("osd-1", "osd-2"))) as user:
        await user.sees("(monitored, no load)")
        await user.sees("Enter runs on local, monitors 2 servers, 10 s")
        screen = user.app.screen
        assert isinstance(screen, review_screen.ReviewScreen) and screen.plan is not None
        assert [host.name for host in screen.plan.hosts] == ["local"]
        assert [host.name for host in screen.plan.servers] == ["osd-1", "osd-2"]
        user.app.selection.put("local", server=None)
        await user.press("1", "3")
        await user.sees("1 choose a host that generates load; only monitored: osd-1, osd-2")
        assert user.text.splitlines()[-1].split() == [
            "1",
            "hosts",
            "l",
            "this",
            "machine",
            "?",
            "help",
            "q",
            "quit",
        ]
        await user.press("enter")  # nothing of the plan before can be started unseen
        assert user.scope == "review" and user.told.endswith("nothing to run yet")


async def test_bytes_a_host_and_in_all(home: Path) -> None:
    write_inventory(home)
    async with opened(
        review(home, "weka/read-iops", ("weka-01", "weka-02")), size=(120, 36)
    ) as user:
        await user.sees("1.50 TiB (768 GiB per host)")


async def test_a_layout_is_part_of_what_enter_starts(home: Path) -> None:
    async with opened(review(home, "weka/read-iops")) as user:
        await user.sees("+ writing 768 GiB")


async def test_overwriting_files_is_warned_of(home: Path) -> None:
    async with opened(review(home)) as user:
        await user.sees("! overwrites its test files in /var/tmp")


async def test_a_changed_parameter_changes_the_plan_while_typing(home: Path) -> None:
    async with opened(review(home)) as user:
        await change(user, "runtime", "90s")
        await user.sees("  1 min 30 s")
        assert user.app.selection.overrides == {"runtime": "90s"}
        await user.sees("1 changed")


@pytest.mark.parametrize(
    ("field", "text"), [("@repeat", "3"), ("@sweep", "numjobs=1,2"), ("@cleanup", "no")]
)
async def test_what_differs_from_the_profile_is_counted_whichever_field_it_is(
    home: Path, field: str, text: str
) -> None:
    async with opened(review(home)) as user:
        await change(user, "@note", "of this run alone")
        await user.sees("as in the profile")
        await change(user, field, text)
        await user.sees("1 changed")
        await user.press("escape", "d")
        await user.sees("as in the profile")
        selection = user.app.selection
        assert (selection.repeat, selection.sweep) == ("", "")
        assert selection.note == "of this run alone"
        await user.sees(lambda: [plan.cleanup for plan in plans(user)] == [True])


async def test_what_is_typed_replaces_what_stood_in_the_field_and_an_arrow_keeps_it(
    home: Path,
) -> None:
    async with opened(review(home)) as user:
        await user.press("e", "tab")
        await user.types("90s")
        await user.sees("  1 min 30 s")
        await user.press("shift+tab", "tab", "right")
        await user.press("backspace", "m")
        assert user.app.selection.overrides == {"runtime": "90m"}


async def test_a_wrong_value_is_reported_under_its_field_and_nothing_can_start(home: Path) -> None:
    async with opened(review(home)) as user:
        await change(user, "numjobs", "many")
        await user.sees("is not a count")
        await user.sees("cannot start: numjobs")
        await user.press("enter")
        assert user.scope == "review"
        await user.press("escape", "enter")
        assert "numjobs" in user.told
        assert not (home / "runs").exists()


def plans(user: User) -> list[Plan]:
    """Return the plan on the screen; empty while it is being built."""
    plan = user.app.screen.plan  # type: ignore[attr-defined]
    return [] if plan is None else [plan]


async def test_repeat_and_note_go_into_the_plan(home: Path) -> None:
    async with opened(review(home)) as user:
        await change(user, "@repeat", "3")
        await change(user, "@note", "before the upgrade")
        await user.sees(lambda: "before the upgrade" in [each.note for each in plans(user)])
        assert [[step.repetition for step in plan.steps] for plan in plans(user)] == [[1, 2, 3]]
        await user.sees("  30 s")
        await change(user, "@repeat", "0")
        await user.sees("cannot start: repeat")


async def test_a_sweep_can_be_typed_and_is_checked(home: Path) -> None:
    async with opened(review(home)) as user:
        await change(user, "@sweep", "numjobs=1,2,4 size=1M,4M")
        await user.sees("6 points over numjobs, size")
        assert [step.point["numjobs"] for step in user.app.screen.plan.steps] == [1, 1, 2, 2, 4, 4]  # type: ignore[attr-defined]
        await change(user, "@sweep", "jobs=1,2")
        await user.sees("no parameter 'jobs'")
        await change(user, "@sweep", "size=1M,1024k")
        await user.sees("size: '1024k'")
        await user.sees("cannot start: sweep")


async def test_what_a_profile_sweeps_is_shown_as_swept_and_one_value_measures_that_alone(
    home: Path,
) -> None:
    (home / "profiles").mkdir(exist_ok=True)
    text = "profile: my/swept\ntitle: S\nextends: demo/quick\nsweep: {grid: {numjobs: [1, 4]}}\n"
    (home / "profiles" / "swept.yaml").write_text(text)
    async with opened(review(home, "my/swept")) as user:
        await user.sees("numjobs       1,4")
        await user.sees("as in the profile")
        await change(user, "numjobs", "4")  # what numjobs is unless it is swept
        await user.sees("1 step")
        await change(user, "numjobs", "1,4")
        await user.sees("2 steps")
        await change(user, "@sweep", "size=1M,4M")
        fields = {field.spec.name: field for field in user.app.screen.query(Field)}
        assert [name for name, field in fields.items() if field.has_class("-swept")] == ["size"]


async def test_p_asks_the_hosts_and_shows_what_each_answers(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    async with opened(review(home, overrides={"directory": str(target)}), size=(120, 36)) as user:
        await user.sees("p preflight")
        await user.press("p")
        # a long path breaks the line
        await user.sees(lambda: re.search(r"does\W+not\W+exist", user.text) is not None)
        await user.sees("local refuses this run")
        await user.sees("local is not ready; Enter checks again and starts")
        target.mkdir()
        await user.press("p")
        await user.sees("64 MiB to lay out")
        await user.sees("Enter runs on local, 10 s")
        assert "refuse" not in user.text and "fio-" in user.text
        await change(user, "size", "1M")  # another plan: nobody was asked about it
        await user.sees(lambda: "to lay out" not in user.text)
        assert not (home / "runs").exists()


async def test_p_tells_which_run_holds_a_host(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHTUI_LOCKS", str(tmp_path / "locks"))
    other = Agent(LocalTransport(HostAddress(name="local", transport="local")), new_run_id())
    assert await other.lock(60, "anna on jump1") is None
    async with opened(review(home, overrides={"directory": str(tmp_path)}), size=(120, 36)) as user:
        await user.sees("p preflight")
        await user.press("p")
        await user.sees("in use by run")
        await user.sees("local refuses this run")
        await user.sees("local is in use by another run; Enter checks again and starts")
        await other.unlock()
        await user.press("p")
        await user.sees("64 MiB to lay out")


async def test_the_line_of_enter_warns_when_a_host_is_not_ready(home: Path) -> None:
    write_inventory(home)
    async with opened(review(home, hosts=("local", "spare"))) as user:
        await user.sees("Enter runs on 2 hosts, 10 s")
        await user.press("p")
        await user.sees("1 of 2 hosts not ready; Enter checks again and starts")
        line = user.app.screen.query_one("#review-launch", Static).content
        assert isinstance(line, Content)
        assert [str(span.style) for span in line.spans] == ["$warn", "bold $accent", "$warn"]
        await change(user, "runtime", "20s")
        await user.press("escape")
        await user.sees("Enter runs on 2 hosts, 20 s")  # another plan: nobody was asked about it


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([], ""),
        ([HostReadiness("h1"), HostReadiness("h2")], ""),
        ([HostReadiness("h1", ("away",)), HostReadiness("h2", ("in use",), in_use=True),
            HostReadiness("h3")],
         "2 of 3 hosts not ready, 1 in use by another run"),
        ([HostReadiness("h1", ("in use",), in_use=True), HostReadiness("h2")],
            "1 of 2 hosts in use by another run"),
        ([HostReadiness("h1", ("in use",), in_use=True)], "h1 is in use by another run"),
    ],
)  # fmt: skip
def test_how_many_hosts_are_not_ready_and_why(answers: list[HostReadiness], said: str) -> None:
    assert unready(answers) == said


async def test_points_are_repeated_as_the_profile_says_unless_told_otherwise(home: Path) -> None:
    (home / "profiles").mkdir(exist_ok=True)
    text = (
        "profile: my/until\ntitle: Until\nextends: demo/quick\nrepeat: {until: 5%, min: 3, max:"
        " 4}\n"
    )
    (home / "profiles" / "until.yaml").write_text(text)
    async with opened(review(home, "my/until")) as user:
        await user.sees("until 5%")
        assert len(user.app.screen.plan.steps) == 4  # type: ignore[attr-defined]
        await change(user, "@repeat", "2")
        await user.sees("2 steps")
        assert user.app.screen.plan.until is None  # type: ignore[attr-defined]


async def test_files_can_be_kept_although_the_profile_removes_them(home: Path) -> None:
    async with opened(review(home), size=(120, 36)) as user:
        await user.sees("test files are removed")
        await change(user, "@cleanup", "no")
        await user.sees("test files remain")


async def test_d_puts_the_defaults_back(home: Path) -> None:
    async with opened(review(home, overrides={"runtime": "90s"})) as user:
        await user.sees("  1 min 30 s")
        await user.press("d")
        await user.sees("  10 s")
        assert user.app.selection.overrides == {}


async def test_v_shows_the_job_file_with_the_changes(home: Path) -> None:
    async with opened(review(home, overrides={"numjobs": "7"}), size=(120, 36)) as user:
        await user.press("v")
        await user.sees("numjobs=7")
        await user.press("v")
        await user.sees("Run plan")


async def test_escape_leaves_the_field_first_then_the_screen(home: Path) -> None:
    async with opened(review(home)) as user:
        await user.press("e")
        await user.sees("Tab next field  Enter plan  Esc leave")
        await user.sees("Parameters: editing")
        await user.press("escape")
        assert "keys go here" not in user.text
        assert user.scope == "review"
        await user.press("escape")
        assert user.scope == "profiles"


async def test_what_was_typed_is_still_there_after_a_look_at_hosts(home: Path) -> None:
    write_inventory(home)
    async with opened(review(home)) as user:
        await change(user, "runtime", "20s")
        await user.press("escape", "1", "3")
        await user.sees("  20 s")


async def test_another_profile_starts_from_its_own_defaults(home: Path) -> None:
    async with opened(review(home, overrides={"numjobs": "7"})) as user:
        user.app.selection.choose_profile("weka/read-iops")
        await user.press("1", "3")
        await user.sees("192")
        assert user.app.selection.overrides == {}


async def test_no_text_is_cut_at_80_columns(home: Path) -> None:
    async with opened(review(home, "weka/read-iops")) as user:
        await user.sees("768 GiB")
        assert "…" not in user.text


async def test_enter_starts_the_run_shown_and_goes_to_live(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    small = {
        "directory": str(target),
        "runtime": "2s",
        "size": "1M",
        "numjobs": "1",
        "direct": "no",
    }
    async with opened(review(home, overrides=small)) as user:
        await user.sees("Enter runs on local, 2 s")
        await user.press("enter", "enter")  # twice is one run
        await user.sees(lambda: user.scope == "live")
        assert len(list((home / "runs").iterdir())) == 1
        run_dir = user.app.live_run
        assert run_dir is not None
        assert load_plan(run_dir).params["runtime"] == 2.0
        await user.sees(lambda: (run_dir / "run.json").exists() and not is_running(run_dir))
        record = json.loads((run_dir / "run.json").read_text())
        assert record["state"] == "complete"
        summary = summarize(run_dir)
        assert summary is not None
        assert summary.headline_value
        assert list(target.iterdir()) == []


SEARCH = """\
profile: my/sized
title: Reads of a small file
tool: fio
params: {directory: {default: DIRECTORY, kind: directory}}
fio:
  global: {ioengine: psync, time_based: 1, runtime: 1s, size: 1M, ramp_time: 0}
  jobs: {r: {rw: randread, bs: 4k, directory: "{directory}/{host}"}}
prepare: {layout: true}
headline: {metric: iops, direction: read}
capacity: {limits: ["p99 < 9s"], point: 1s, most: 1s, hold: 1s, points: 2}
"""


async def test_enter_starts_a_search_and_live_follows_it_to_its_answer(
    home: Path, tmp_path: Path
) -> None:
    (home / "profiles").mkdir(exist_ok=True)
    (home / "profiles" / "sized.yaml").write_text(SEARCH.replace("DIRECTORY", str(tmp_path)))
    async with opened(review(home, "my/sized"), size=(120, 36)) as user:
        await user.starts()
        await user.sees(lambda: user.scope == "live")
        await user.sees("Search capacity within p99 < 9 s")
        run_dir = user.app.live_run
        assert run_dir is not None
        await user.sees(lambda: (run_dir / "run.json").exists() and not is_running(run_dir))
        await user.sees("full load meets the limits")
        assert user.app.screen.points.search.record.answer.state == "met-at-full-load"  # type: ignore[attr-defined]


async def test_no_key_starts_a_plan_before_it_has_been_on_the_screen(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_screen, "READ_S", 3600.0)
    async with opened(options(home)) as user:
        await user.press("enter")
        await user.sees(lambda: user.cursor == "@demo/quick")
        await user.press("enter", "enter", "enter")  # like a key held down
        await user.sees("Run plan")
        await user.press("enter")
        assert user.scope == "review" and "runs on" not in user.text
        assert not (home / "runs").exists()
        user.app.screen.query_one(LaunchLine).plan_seen()
        await user.sees("Enter again: runs on local, 10 s")
        await user.press("e")
        await user.sees(lambda: "Enter runs on" not in user.text and "Enter plan" in user.text)


async def test_the_footer_has_enter_once_it_is_taken_and_one_that_came_early_is_told_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_screen, "READ_S", 3600.0)
    async with opened(review(home)) as user:
        await user.sees("Run plan")
        assert user.text.splitlines()[-1].split()[:2] == ["e", "change"]
        await user.press("enter", "enter")
        assert user.static("#review-launch") == "plan just changed: press Enter again"
        user.app.screen.query_one(LaunchLine).plan_seen()
        await user.sees("press Enter again: runs on local, 10 s")
        assert user.text.splitlines()[-1].split()[:2] == ["Enter", "run"]
        await change(user, "numjobs", "many")
        await user.press("escape")
        await user.sees("cannot start: numjobs")
        assert user.text.splitlines()[-1].split()[:2] == ["e", "change"], "nothing to run"
        await change(user, "numjobs", "1")
        await user.press("escape", "escape", "3")
        await user.sees("Run plan")
        assert user.static("#review-launch") == "", "nothing was pressed since"


async def test_who_leaves_before_the_plan_was_seen_leaves_quietly(home: Path) -> None:
    async with opened(review(home, "demo/quick")) as user:
        await user.sees("Run plan")
        screen = user.app.screen
        await screen.query_one("#review-body").remove()  # as it is for a moment when the app ends
        screen.query_one(LaunchLine).plan_seen()
        await user.pilot.pause()


async def test_a_secret_is_never_shown_in_the_form_the_plan_or_a_message(home: Path) -> None:
    (home / "profiles").mkdir(exist_ok=True)
    text = (
        "profile: my/secret\ntitle: Secret\nextends: demo/quick\n"
        'params:\n  key: {kind: secret, default: "${OUR_KEY}"}\n'
        'fio:\n  global: {description: "{key}"}\n'
    )
    (home / "profiles" / "secret.yaml").write_text(text)
    async with opened(review(home, "my/secret"), size=(120, 36)) as user:
        await user.sees("runs on local")
        await change(user, "key", "typed-by-hand")
        await user.sees("cannot start: key")
        assert "typed" not in user.text
        field = next(box for box in user.app.screen.query(SecretInput) if box.name == "key")
        field.action_select_all()
        field.action_copy()
        assert "typed" not in user.app.clipboard
        await user.press("escape", "v")
        assert "typed" not in user.text
        await user.press("v", "enter")
        assert "typed" not in user.text + user.told
        assert not (home / "runs").exists()
        await change(user, "key", "${MY_KEY}")
        # a toast may lie over it
        await user.sees(lambda: "runs on local" in user.static("#review-launch"))
        assert user.app.screen.plan.secrets == ["MY_KEY"]  # type: ignore[attr-defined]
