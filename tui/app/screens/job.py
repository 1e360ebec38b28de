"""A job without a profile: a form with its terms, and the plan beside it.

It starts in the same way as on Review.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from textual import events
from textual.content import Content

from tui.app.dialogs.confirm import LEAVE, Confirm
from tui.app.frame.step_screen import Leave
from tui.app.screens import review_form, review_plan
from tui.app.screens.plan_screen import DEFAULTS, PlanScreen, ask_for_name
from tui.app.widgets.form import FieldSpec, TextInput
from tui.app.widgets.lines import entitle, show_text
from tui.model.hostspec import LOCAL
from tui.model.problem import BenchtuiError, UsageError
from tui.text.line import LABEL, WARN, Line, labelled
from tui.workloads.terms import TARGETS, asked_first

if TYPE_CHECKING:
    from tui.engine.inputs.job_words import JobInWords
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.model.plan import Plan
    from tui.workloads.base import Workload

FIRST_PLACE = "/var/tmp"  # only for this machine: the storage path of other hosts is unknown
ANYWHERE = {"directory": ("/",)}  # for terms that are checked without a target
NO_TARGET = "needs a directory on the storage, a file or a device"
NO_DIRECTORY = "needs a directory on the storage"
EMPTY = {"directory": "required", "filename": "or a path here"}
UNUSED = "none"  # in other empty fields without a default
ONCE = "1"  # default of the field "repeat"
TOOL = "@tool"  # the field for the load generator; no term can have such a name

Typed = tuple[dict[str, str], str]
"""The terms and the repetitions as typed."""


class SavedJob(Struct, frozen=True):
    """The profile that the fields were saved as: its data, and the digest of its file."""

    tag: str
    data: dict[str, Any]
    sha256: str


def with_terms() -> dict[str, Workload]:
    """Return the load generators that accept terms, by name, the default first."""
    from tui import workloads

    return {each.name: each for each in workloads.every() if each.from_terms().job_terms()}


class JobScreen(PlanScreen):
    """A form for pattern, block size, jobs, queue depth, target and so on.

    Values separated by commas are measured in turn.
    """

    SCOPE = "job"
    UNCHANGED, CHANGED = "defaults, commas sweep", "changed, commas sweep"

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, str] = {}  # as typed
        self.repeat = ONCE  # as typed
        self.of_tools: dict[str, dict[str, str]] = {}  # changed terms as typed, by load generator
        # what a reset to the defaults replaced
        self.typed_before: tuple[dict[str, str], str, dict[str, dict[str, str]]] | None = None
        self.defaults: dict[str, str] = {}
        self.started: Typed | None = None  # what the newest run was started with
        self.saved: SavedJob | None = None  # as long as the fields are as they were saved
        self.filled: Typed | None = None  # what a search filled in
        self.searched: JobInWords | None = None  # a search that is to fill the fields
        self.left = ""  # what was not understood of it
        self.workload: Workload = next(iter(with_terms().values()))

    def arrive(self, at: str) -> None:
        """Fill the fields with the job of a search; ask first if the input is not saved."""
        from tui.engine.inputs.job_words import job_in

        if (job := job_in(at)) is None:
            return
        if self.unsaved and self.form.fields:
            self.ask_to_save(partial(self.fill_from, job))
        else:
            self.searched = job

    async def fill_from(self, job: JobInWords) -> None:
        """Fill the fields with a job that a search describes, and show its plan."""
        self.searched, self.arrives = job, True
        await self.show_form()

    @property
    def no_target(self) -> str:
        """Why a job without a target cannot be started."""
        terms = self.workload.from_terms().job_terms()
        return NO_TARGET if {term.name for term in terms} >= TARGETS else NO_DIRECTORY

    @property
    def unsaved(self) -> str:
        """A name for the input if it is neither saved nor started, otherwise empty."""
        kept = ((self.defaults, ONCE), self.started, self.filled)
        usual = {key: text for key, text in self.defaults.items() if key not in TARGETS}
        meant = {key: text or usual.get(key, "") for key, text in self.terms.items()}
        typed = (self.terms, self.repeat) in kept or (meant, self.repeat) in kept
        if typed or (self.plan and self.saved_profile() is not None):
            return ""
        return "the new job"

    def ask_to_save(self, then: Leave) -> None:
        """Ask what to do with the input; call `then` unless cancelled."""

        async def answered(answer: str | None) -> None:
            if answer == "save":
                self.action_save(then)
            elif answer == "discard":
                await self.reset()
                self.call_later(then)

        body = "What you typed is neither saved nor started."
        self.app.push_screen(Confirm("Save the new job?", body, LEAVE), answered)

    def note_start(self) -> None:
        """Remember the input that the run was started with."""
        self.started, self.left = (self.terms, self.repeat), ""

    async def on_screen_resume(self, event: events.ScreenResume) -> None:  # noqa: ARG002
        """Show the form, and the plan for the selected hosts or else this machine."""
        selection = self.shell.selection
        if not selection.ticked:
            selection.put(LOCAL, server=False)
        await self.show_form()

    async def show_form(self) -> None:
        """Show the form and the plan, with the focus on the part that comes next."""
        from_search = self.searched is not None
        if from_search or not self.form.fields:
            await self.fill_form()
        self.launch_line.hold()
        self.replan()
        self.refresh_chrome()
        if from_search and self.plan is not None:
            self.set_focus(self.plan_pane)
        elif self.arrives:  # what is typed next is the first thing that is asked for
            self.form.go_to_top()
            self.form.focus_at_cursor()
        elif self.focused is None:
            self.form.focus_first()
        self.arrives = False
        self.show_keys()

    def take_search(self) -> None:
        """Replace the input by the job that a search describes, if there is one."""
        from tui.app.screens.profiles_job import not_understood

        if (job := self.searched) is not None:
            self.searched, self.saved, self.filled = None, None, None
            self.workload = with_terms()[job.tool]
            self.terms, self.repeat, self.of_tools = dict(job.terms), ONCE, {}
            self.left = not_understood(job)

    async def fill_form(self) -> None:
        """Create a field for each common term, and one for the repetitions."""
        by_search = self.searched is not None
        self.take_search()
        here = self.shell.selection.ticked == [LOCAL]
        place = {"directory": FIRST_PLACE} if here else {}
        place = {} if self.terms.get("filename") else place
        terms = self.workload.from_terms().job_terms()
        by_name = {term.name: term for term in terms}
        terms = [by_name[name] for name in asked_first(by_name)]
        defaults = {term.name: place.get(term.name, term.default) for term in terms}
        self.terms, self.defaults = {**defaults, **self.terms}, defaults
        self.filled = (self.terms, self.repeat) if by_search else self.filled
        fields = [
            FieldSpec(
                term.name,
                self.terms[term.name],
                defaults[term.name],
                f"{term.help} ({self.workload.name} {term.name})",
                term.label,
                empty=EMPTY.get(term.name, ""),
                empty_is_default=bool(term.default),
            )
            for term in terms
        ]
        repeat = review_form.repeat_spec(self.repeat, ONCE)
        name = self.workload.name
        tool = FieldSpec(
            TOOL, name, name, "load generator", "tool", choices=tuple(with_terms()), is_change=False
        )
        await self.form.set_fields([*fields, repeat, *([tool] if len(with_terms()) > 1 else [])])

    @property
    def given(self) -> dict[str, tuple[str, ...]]:
        """The typed values by term; empty terms are left out."""
        from tui.workloads.terms import split_values

        return {name: split_values(text) for name, text in self.terms.items() if text}

    def check_field(self, name: str, text: str) -> str | None:
        """Return what is wrong with one field by itself, None if valid."""
        from tui.workloads.terms import split_values

        if name == review_form.REPEAT:
            return review_form.check_repeat(text) if text else None
        if name == TOOL:
            return None if text in with_terms() else f"one of {', '.join(with_terms())}"
        values = split_values(text)
        if not text:
            return None
        if not all(values):
            return "empty value: write V1,V2"
        place = {} if name in TARGETS else ANYWHERE
        try:
            self.workload.from_terms().job_of_terms({**place, name: values})
        except UsageError as error:
            return error.problems[0].message.rpartition(f"{name}={text}: ")[2]
        return None

    async def keep_typed(self) -> None:
        """Keep the fields as typed; if another load generator was selected, show its fields.

        Those fields keep the values typed there before, and take over the values of common fields.
        """
        values = self.form.values
        self.repeat, name = values.pop(review_form.REPEAT) or ONCE, values.pop(TOOL, "")
        self.terms = values
        workload = with_terms().get(name, self.workload)
        if workload is not self.workload:
            changed = {key: text for key, text in values.items() if text != self.defaults[key]}
            self.of_tools[self.workload.name] = changed
            known = {term.name for term in workload.from_terms().job_terms()}
            shared = {key: text for key, text in changed.items() if key in known}
            before = self.of_tools.get(workload.name, {}).items()
            own = {key: text for key, text in before if key not in values}
            self.workload, self.left = workload, ""
            self.terms = {**own, **shared}
            stays = self.form.has_focus_within
            await self.fill_form()
            if stays:
                self.form.focus_on(TOOL, typing=True)

    def take_input(self) -> LoadedProfile:
        """Return the profile of the terms and select it, so that Review shows the same.

        Raises UsageError.
        """
        from tui.engine.inputs.terms import made_profile

        self.show_defaults()
        if not self.given.keys() & TARGETS:
            raise UsageError(self.no_target)
        catalogue, selection = self.shell.catalogue, self.shell.selection
        if (saved := self.saved_profile()) is not None:
            name, self.loaded = saved.profile.profile, saved
        else:
            name = catalogue.keep_job(made_profile(self.workload, self.given))
            self.loaded = catalogue.load(name)
        if name != selection.profile:
            selection.choose_profile(name)
            self.refresh_chrome()
        selection.reset_input()
        selection.repeat = "" if saved or self.repeat == ONCE else self.repeat
        selection.changes += 1
        return self.loaded

    def saved_profile(self) -> LoadedProfile | None:
        """Return the profile that the fields were saved as; None if either has changed since."""
        if (saved := self.saved) is None or saved.data != self.data_of(
            self.given, saved.tag, self.repeat
        ):
            return None
        try:
            loaded = self.shell.catalogue.load(saved.tag)
        except BenchtuiError:
            return None
        return loaded if loaded.sha256 == saved.sha256 else None

    def data_of(self, given: dict[str, tuple[str, ...]], tag: str, repeat: str) -> dict[str, Any]:
        """Return the data of the profile made from these fields, without the comment at its top."""
        from tui.engine.inputs.terms import made_profile
        from tui.model.yaml_text import load

        return load(made_profile(self.workload, given, tag, int(repeat)), "").data

    def show_problem(self, problem: str, *, in_form: bool = False) -> None:
        """Show why the plan cannot start; a target that has not been entered yet is no error."""
        super().show_problem(problem, in_form=in_form)
        if problem == self.no_target:
            self.form.show_problem("")
            self.plan_pane.show(partial(draft_lines, self.draft()))
            entitle(self.plan_pane, subtitle="")
            text = f"{self.shell.symbols.warn} cannot start yet: {problem}"
            show_text(self.launch_line, Content.styled(text, "bold $warn"))

    def show_warnings(self, warnings: list[str]) -> None:
        """Show the warnings, beginning with the parts of a search that were not understood."""
        super().show_warnings([*([self.left] if self.left else []), *warnings])

    def draft(self) -> Plan | None:
        """Return the plan with a placeholder as target; None if other terms are invalid."""
        from tui.engine.inputs.terms import made_profile
        from tui.engine.plan.plan import Choices, build_plan

        shell = self.shell
        try:
            text = made_profile(self.workload, {**ANYWHERE, **self.given})
            loaded = shell.catalogue.load_made(text, self.workload.name)
            hosts = shell.fleet.resolve(shell.selection.ticked)
            return build_plan(loaded, Choices(hosts=hosts, repeat=int(self.repeat)))
        except (BenchtuiError, ValueError):
            return None

    def show_defaults(self) -> None:
        """Show the effective values in empty fields, even if no target is typed yet."""
        place = {} if self.given.keys() & TARGETS else ANYWHERE
        job = self.workload.from_terms().job_of_terms({**place, **self.given})
        holds = {name: param.values[0] for name, param in job.params.items()} | dict(job.fixed)
        holds |= {**dict.fromkeys(place, ""), review_form.REPEAT: ONCE}
        for field in self.form.fields:
            held = holds.get(field.spec.name, "")
            box = field.query_one(TextInput)
            box.placeholder = held or (field.spec.empty if place else "") or UNUSED
            box.set_class(bool(held), "-held")
            field.set_class(bool(place) and field.spec.name == "directory", "-required")

    async def action_defaults(self) -> None:
        """Reset every field to its default; if all have it, bring back what was typed before."""
        typed = any(text != self.defaults[name] for name, text in self.terms.items())
        if not typed and self.repeat == ONCE and self.typed_before is not None:
            self.terms, self.repeat, self.of_tools = self.typed_before
            await self.fill_form()
            self.replan()
            return
        self.typed_before = self.terms, self.repeat, self.of_tools
        await self.reset()
        self.notify(DEFAULTS)

    async def reset(self) -> None:
        """Reset every field to its default."""
        self.terms, self.repeat, self.left = {}, ONCE, ""
        self.of_tools = {}
        await self.fill_form()
        self.form.go_to_top()
        self.replan()

    def action_save(self, then: Leave | None = None) -> None:
        """Ask for a name and write the job as a profile, then call `then`."""
        ask_for_name(self, partial(self.save, self.given, self.repeat, then=then))

    async def save(
        self,
        given: dict[str, tuple[str, ...]],
        repeat: str,
        name: str | None,
        *,
        then: Leave | None = None,
    ) -> None:
        """Save the job as a profile, which Profiles then lists and Enter starts; call `then`.

        Raises BenchtuiError.
        """
        from tui.engine.inputs.profile_files import check_tag, create
        from tui.engine.inputs.terms import made_profile

        check_tag(tag := name or "")
        profile = made_profile(self.workload, given, tag, int(repeat))
        path = create(self.shell.catalogue, tag, profile)
        loaded = self.shell.catalogue.load(tag)
        self.saved = SavedJob(tag, self.data_of(given, tag, repeat), loaded.sha256)
        self.notify(f"saved {tag}: {path}")
        self.launch_line.hold()
        self.replan()
        if then is not None:
            self.call_later(then)


def draft_lines(draft: Plan | None, width: int) -> list[Line]:
    """Return a line about the missing target, then the plan without the parts that need it."""
    lines = labelled([("target", LABEL)], [("none yet", WARN)], width, review_plan.INDENT)
    return [*lines, *(review_plan.draft_lines(draft, width) if draft else [])]
