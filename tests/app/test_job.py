"""A job without a profile: the form on the left, the plan on the right, launched and saved from
there.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Static

from tests.app.driver import User, opened, options, write_inventory
from tests.app.test_review import change
from tui.app.dialogs.confirm import Confirm
from tui.app.frame.shell import Options
from tui.app.screens.job import JobScreen
from tui.app.widgets.form import TextInput
from tui.engine.inputs.profiles import Catalogue
from tui.model.plan import Plan


def local(home: Path) -> Options:
    return options(home, hosts=("local",))


async def form(user: User) -> JobScreen:
    await user.press("2", "n")
    await user.sees("queue depth")
    screen = user.app.screen
    assert isinstance(screen, JobScreen)
    await user.sees(lambda: screen.plan is not None)
    return screen


async def save(user: User, tag: str) -> None:
    """Save the job as a profile of this name."""
    await user.press("ctrl+s", "ctrl+u")
    await user.types(tag)
    await user.press("enter")
    await user.sees(lambda: f"saved {tag}" in user.told)


def planned(screen: JobScreen) -> Plan:
    assert screen.plan is not None, screen.problem
    return screen.plan


async def test_n_on_profiles_opens_a_form_whose_plan_is_beside_it(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        assert [host.name for host in planned(screen).hosts] == ["local"]
        await user.sees("8 GiB")
        await user.sees("35 s")


async def test_commas_sweep(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "bs", "4k,64k,1m")
        await change(user, "numjobs", "1,8")
        await user.sees(lambda: screen.plan is not None and len(screen.plan.steps) == 6)


async def test_a_wrong_value_is_named_and_starts_nothing(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "rw", "randreed")
        await user.sees("randread")
        await user.sees("cannot start")
        assert screen.plan is None


@pytest.mark.parametrize(("name", "text"), [("runtime", "0"), ("size", "8")])
async def test_what_a_plan_refuses_is_told_at_its_field_without_a_place_in_a_file(
    home: Path, name: str, text: str
) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, name, text)
        await user.sees(lambda: bool(screen.problem))
        at = next(field for field in screen.form.fields if field.spec.name == name)
        told = str(screen.problem)
        assert at.has_class("-wrong") and ":17:" not in told
        assert "job" not in told.split(), "there is one only"


async def test_defaults_are_shown_before_there_is_a_target(home: Path) -> None:
    write_inventory(home, "hosts: {weka-01: {}}\n")
    async with opened(options(home, hosts=("weka-01",))) as user:
        await user.press("2", "n")
        await user.sees("needs a directory")
        assert "✗" not in user.text  # no mistake yet
        await user.sees("4k")  # the block size, in an empty field
        await user.sees("libaio")


async def test_review_shows_the_same_plan_and_labels(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "iodepth", "1,4")
        await user.sees(lambda: screen.plan is not None and len(screen.plan.steps) == 2)
        job, labels = planned(screen), {each.spec.name: each.label for each in screen.form.fields}
        await user.press("escape", "3")
        await user.sees("Run plan")
        await user.sees(lambda: getattr(user.app.screen, "plan", None) is not None)
        review = user.app.screen
        assert [step.point for step in review.plan.steps] == [step.point for step in job.steps]  # type: ignore[attr-defined]
        fields = {each.spec.name: each.label for each in review.form.fields}  # type: ignore[attr-defined]
        assert {name: fields[name] for name in ("bs", "numjobs", "iodepth")} == {
            name: labels[name] for name in ("bs", "numjobs", "iodepth")
        }


async def test_ctrl_s_saves_the_job_as_a_profile(home: Path) -> None:
    async with opened(local(home)) as user:
        await form(user)
        await change(user, "bs", "8k")
        await save(user, "my/reads")
        profile = Catalogue(user.app.paths.profiles).load("my/reads").profile
        assert profile.params["bs"].default == "8k"
        assert "8k" not in profile.title, "the block size can be changed in the profile"


async def test_after_saving_the_plan_is_that_of_the_saved_profile_until_a_field_changes(
    home: Path,
) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "@repeat", "3")
        await user.sees(lambda: screen.plan is not None and len(screen.plan.steps) == 3)
        await save(user, "my/reads")
        await user.sees(lambda: planned(screen).profile.tag == "my/reads")
        assert (len(planned(screen).steps), user.app.selection.profile) == (3, "my/reads")
        await change(user, "bs", "8k")
        await user.sees(lambda: planned(screen).profile.tag == "fio/randread-8k")
        await change(user, "bs", "4k")
        await user.sees(lambda: planned(screen).profile.tag == "my/reads")


async def test_a_saved_profile_that_was_edited_since_is_not_taken_for_the_fields(
    home: Path,
) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await save(user, "my/reads")
        await user.sees(lambda: planned(screen).profile.tag == "my/reads")
        file = user.app.paths.profiles / "my/reads.yaml"
        file.write_text(file.read_text().replace("default: 4k", "default: 8k"))
        screen.replan()
        assert planned(screen).profile.tag == "fio/randread-4k"


async def test_repeat_measures_each_point_again_and_is_saved(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "bs", "4k,64k")
        await change(user, "@repeat", "3")
        await user.sees(lambda: screen.plan is not None and len(screen.plan.steps) == 6)
        await save(user, "my/reads")
        assert Catalogue(user.app.paths.profiles).load("my/reads").profile.repeat == 3


async def test_without_a_host_it_is_for_this_machine(home: Path) -> None:
    async with opened(options(home)) as user:
        await form(user)
        assert user.app.selection.ticked == ["local"]


async def test_on_the_first_start_one_key_leads_to_the_form(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.sees("J new job")
        await user.press("J")
        await user.sees("queue depth")
        assert user.app.selection.ticked == ["local"]


async def test_d_puts_back_what_was_typed(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "numjobs", "64")
        await user.press("escape", "d")
        await user.sees(lambda: screen.terms["numjobs"] == "8")


async def test_tab_goes_round_so_that_what_is_typed_never_becomes_a_command(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        boxes = list(screen.form.query(TextInput))
        screen.set_focus(boxes[-1])
        await user.press("tab")
        assert screen.focused is boxes[0]
        await user.press("shift+tab")
        assert screen.focused is boxes[-1]
        await user.press("down")
        assert screen.focused is boxes[0]


async def test_a_job_that_cannot_start_is_edited_when_the_form_is_opened_again(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "rw", "randreed")
        await user.press("escape", "1")
        await user.sees("this machine")
        await user.press("J")
        await user.sees("cannot start")
        assert screen.form.has_focus_within


async def test_the_form_that_is_opened_again_takes_what_is_typed(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "bs", "64k")
        await change(user, "numjobs", "64")
        await user.press("escape", "1", "J")
        await user.sees(lambda: user.app.screen is screen and screen.form.has_focus_within)
        await user.press("d", "q")
        first = next(iter(screen.form.values))
        assert screen.form.values[first] == "dq", "typed over the selected text, not commands"
        assert screen.form.values["numjobs"] == "64"
        assert user.app.screen is screen


@pytest.mark.parametrize("left_at", ["direct", "ioengine", "@repeat"])
async def test_a_new_job_and_defaults_begin_at_the_first_field(home: Path, left_at: str) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        first = screen.form.fields[0].query_one(TextInput)
        for keys in (("escape", "1", "J"), ("escape", "2", "n"), ("escape", "d", "e")):
            screen.form.focus_on(left_at)
            await user.sees(lambda: getattr(user.app.focused, "name", "") == left_at)
            await user.press(*keys)
            await user.sees(
                lambda: (
                    user.app.screen is screen
                    and user.app.focused is not None
                    and user.app.focused.name == first.name
                )
            )


@pytest.mark.parametrize("name", ["numjobs", "iodepth", "ramp_time", "direct", "@repeat"])
async def test_a_cleared_field_means_its_default_and_is_no_change(home: Path, name: str) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        default = screen.form.values[name]
        field = next(each for each in screen.form.fields if each.spec.name == name)
        await change(user, name, "")
        await user.sees(lambda: screen.form.values[name] == "" and not field.has_class("-changed"))
        assert not field.error and field.query_one(TextInput).placeholder == default
        await user.sees(lambda: screen.plan is not None and not screen.unsaved)


async def test_a_long_value_has_the_width_of_the_form_while_it_is_edited(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        box = screen.form.fields[0].query_one(TextInput)
        narrow = box.content_size.width
        await change(user, "directory", "/mnt/weka/bench/data0001")
        await user.sees("/mnt/weka/bench/data0001")
        assert box.content_size.width > narrow
        await user.sees(lambda: box.scroll_offset.x == 0)
        longer = "/mnt/weka/bench/" + "x".join(map(str, range(20)))
        await change(user, "directory", longer)
        hint = screen.form.fields[0].query_one(".field-hint", Static)
        await user.sees(lambda: longer in str(hint.content))
        await change(user, "directory", "/mnt/x")
        await user.sees(lambda: "/mnt/x" not in str(hint.content))
        await user.sees(lambda: box.content_size.width == narrow)


async def test_a_directory_is_no_engine(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "ioengine", "/mnt/x")
        await user.sees(lambda: "ioengine" in screen.form.errors)
        for engine in ("external:/mnt/x.so", "/opt/engines/own.so", "psync"):
            await change(user, "ioengine", engine)
            await user.sees(lambda: "ioengine" not in screen.form.errors)


async def test_defaults_again_bring_back_what_was_typed(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "bs", "64k")
        await change(user, "numjobs", "")
        emptied = next(field for field in screen.form.fields if field.spec.name == "numjobs")
        assert not emptied.has_class("-changed"), "empty is the default"
        await user.press("escape", "d")
        await user.is_told("brings your values back")
        assert not screen.form.values["bs"], "the default"
        await user.press("d")
        await user.sees(lambda: screen.form.values["bs"] == "64k")


async def test_quitting_asks_about_what_was_typed_unless_it_is_saved(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        assert not screen.unsaved
        await change(user, "numjobs", "64")
        await user.sees(lambda: screen.plan is not None and bool(screen.unsaved))
        await user.press("escape", "q")
        await user.sees(lambda: isinstance(user.app.screen, Confirm))
        await user.press("c")
        assert (user.app.screen, screen.terms["numjobs"]) == (screen, "64")
        await save(user, "my/reads")
        await user.sees(lambda: not screen.unsaved)


async def test_what_was_typed_can_be_saved_when_the_app_is_left(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "numjobs", "64")
        await user.sees(lambda: screen.plan is not None and bool(screen.unsaved))
        await user.press("escape", "1", "q")
        await user.sees(lambda: isinstance(user.app.screen, Confirm))
        await user.press("s", "ctrl+u")
        await user.types("my/reads")
        await user.press("enter")
        await user.sees(lambda: user.app._exit)
        profile = Catalogue(user.app.paths.profiles).load("my/reads").profile
        assert profile.params["numjobs"].default == 64


async def test_another_load_generator_has_its_own_fields_and_keeps_the_directory(
    home: Path,
) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "directory", "/var/tmp/x")
        screen.form.focus_on("@tool")
        await user.press("right")
        await user.sees(lambda: "ranks" in screen.form.values)
        assert screen.form.values["directory"] == "/var/tmp/x"
        await user.sees(lambda: screen.plan is not None and screen.plan.steps[0].tool == "ior")
        await user.sees(lambda: "fio/" not in user.text)
        await user.sees(lambda: getattr(user.app.focused, "name", "") == "@tool")
        await user.press("left")
        await user.sees(lambda: screen.form.values.get("bs") is not None)
        await user.sees(lambda: screen.plan is not None and screen.plan.steps[0].tool == "fio")


async def test_each_load_generator_keeps_what_was_typed_and_passes_on_what_both_have(
    home: Path,
) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        await change(user, "numjobs", "2")
        await change(user, "direct", "no")
        screen.form.focus_on("@tool")
        await user.press("right")
        await user.sees(lambda: "ranks" in screen.form.values)
        assert screen.form.values["direct"] == "no"
        await change(user, "ranks", "3")
        await change(user, "directory", "/var/tmp/y")
        screen.form.focus_on("@tool")
        await user.press("left")
        await user.sees(lambda: "numjobs" in screen.form.values)
        values = screen.form.values
        assert (values["numjobs"], values["direct"]) == ("2", "no")
        assert values["directory"] == "/var/tmp/y"
        await user.press("right")
        await user.sees(lambda: "ranks" in screen.form.values)
        assert screen.form.values["ranks"] == "3"


async def test_a_plan_that_takes_long_is_built_beside_the_typing(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        screen.planning.is_slow = True
        await change(user, "numjobs", "12")
        await user.sees(lambda: screen.plan is not None and screen.plan.steps[0].in_flight == 192)
        await change(user, "size", "1")
        screen.planning.is_slow = True
        await change(user, "size", "12")  # less than a block
        await user.sees("less than one block")
        assert screen.plan is None


async def test_a_saved_job_has_the_labels_of_its_form_on_review(home: Path) -> None:
    async with opened(local(home)) as user:
        screen = await form(user)
        labels = {each.spec.name: each.label for each in screen.form.fields}
        await save(user, "my/reads")
        await user.press("escape", "3")
        await user.sees(lambda: user.scope == "review" and user.app.screen.plan is not None)  # type: ignore[attr-defined]
        fields = {each.spec.name: each.label for each in user.app.screen.form.fields}  # type: ignore[attr-defined]
        assert {name: fields[name] for name in ("bs", "numjobs", "iodepth")} == {
            name: labels[name] for name in ("bs", "numjobs", "iodepth")
        }
