"""Editing a profile: its text with problems as one types, what comes of it beside, parameters as a form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import TextArea

from tui.app.dialogs.confirm import Confirm, DialogChoice
from tui.app.frame.step_screen import KeyBar, Leave, StepScreen, footer_actions
from tui.app.screens import editor_text, review_plan
from tui.app.screens.editor_text import LoadedText, YamlArea, judge, with_default
from tui.app.screens.review_form import check_param, choices_of, default_text, hint
from tui.app.services.launching import sample_plan
from tui.app.services.outside_editor import EditorError, edit_file
from tui.app.terminal import actions
from tui.app.widgets.form import FieldSpec, Form
from tui.app.widgets.lines import TextPane
from tui.model.problem import BenchtuiError, UsageError
from tui.text.line import BAD, LABEL, WARN, Line, indented

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.model.plan import Plan
    from tui.model.profile import Param

QUIET_S = 0.2  # without a key before the text is looked at
LOOK_S = 1.0  # between looks at the file on disk
WIDE = 100  # columns from which something is shown beside the text
STEPS_SHOWN = 6
VIEWS = {"text": "", "job": "Job file", "difference": "What differs", "values": "Parameters"}
LEAVE = (
    DialogChoice("save", "s", "Save"),
    DialogChoice("discard", "d", "Discard", harmful=True),
    DialogChoice("cancel", "c", "Cancel"),
)
OVERWRITE = (DialogChoice("cancel", "c", "Cancel"), DialogChoice("overwrite", "o", "Overwrite", harmful=True))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text and of what follows its last line break, however the file breaks them."""
    return f"{text}.".splitlines()


class EditorScreen(StepScreen):
    """One file. What is typed is checked, never refused: a broken file may be saved, and is listed as broken."""

    SCOPE = "editor"
    CSS_PATH = "editor.tcss"
    DEFAULT_VIEW: ClassVar[str] = "job"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.saved = ""  # the text as it is on disk, as far as we know
        self.outside: str | None = None  # what somebody else has made of the file meanwhile
        self.judged = LoadedText("")
        self.view = "text"
        self.chose_view = False  # else it goes with the width of the terminal
        self._quiet: Timer | None = None
        self._fields: tuple[tuple[str, str], ...] = ()
        self.form_is_made = False  # its fields can be entered
        self.enters_form = False  # somebody asked for it before that
        self._last_good: LoadedProfile | None = None

    def compose_body(self) -> Iterable[Widget]:
        """The text, what comes of it, what is wrong with it."""
        area = YamlArea(self.shell.symbols.bad, id="editor-text", classes="pane")
        preview = TextPane(id="editor-preview")
        form = Form(self.check_field, self.shell.symbols.bad, id="editor-form")
        form.add_class("pane", update=False)
        yield Horizontal(area, Vertical(form, preview, id="editor-side"), id="editor-body")
        problems = TextPane(id="editor-problems")
        problems.border_title = "Problems"
        yield problems

    @property
    def area(self) -> YamlArea:
        """The text."""
        return self.query_one(YamlArea)

    @property
    def form(self) -> Form:
        """The parameters."""
        return self.query_one(Form)

    @property
    def preview(self) -> TextPane:
        """Job file or differences."""
        return self.query_one("#editor-preview", TextPane)

    @property
    def unsaved(self) -> str:
        """The file, while something typed is not on disk."""
        return self.shown_path if self.is_mounted and lines_of(self.area.text) != lines_of(self.saved) else ""

    # -- opening

    def on_mount(self) -> None:
        """Read the file."""
        self.area.border_title = Content(self.shown_path)
        try:
            self.saved = self.read()
        except BenchtuiError as error:
            self.notify(str(error), severity="error")
        self.area.load_text(self.saved)
        self.area.move_cursor(self.first_place(self.saved))
        self.show_view(self.fitting_view)
        self.set_focus(self.area)
        self.look_at_text()
        self.set_interval(LOOK_S, self.look_at_file)

    @property
    def fitting_view(self) -> str:
        """What is shown beside the text unless somebody chose: nothing where there is little room."""
        return "text" if self.app.size.width < WIDE else self.DEFAULT_VIEW

    @on(events.Resize)
    def room_changed(self) -> None:
        """The terminal may be wide enough now, or too narrow; the footer has other room."""
        if not self.chose_view and self.view != self.fitting_view:
            self.show_view(self.fitting_view)
        self.show_state()

    @property
    def shown_path(self) -> str:
        """The file's name as far as it tells something."""
        own = self.shell.paths.profiles
        return str(self.path.relative_to(own)) if self.path.is_relative_to(own) else str(self.path)

    def read(self) -> str:
        """Return the text on disk. Raises UsageError."""
        from tui.engine.inputs.profile_texts import profile_text

        return profile_text(self.path)

    def first_place(self, text: str) -> tuple[int, int]:
        """Return where one would begin to type: at the first line that is no comment."""
        lines = text.split("\n")
        return next((index for index, line in enumerate(lines) if line and not line.startswith("#")), 0), 0

    # -- looking at what was typed

    @on(TextArea.Changed)
    def typed(self) -> None:
        """Look at the text once the keys rest."""
        self.show_state()
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(QUIET_S, self.look_at_text)

    @on(TextArea.SelectionChanged)
    def cursor_moved(self) -> None:
        """The problems of this line are bright."""
        if self.judged.problems:
            self.show_problems()

    @work(thread=True, group="judge", exclusive=True)
    def look_at_text(self) -> None:
        """Load the text as a profile."""
        found = judge(self.shell.catalogue, self.area.text, self.path)
        self.app.call_from_thread(self.take, found)

    def take(self, judged: LoadedText) -> None:
        """Show what the text is, unless it is another one by now."""
        if not self.is_mounted or judged.text != self.area.text:
            return
        self.judged = judged
        self.enters_form &= judged.loaded is not None
        self._last_good = judged.loaded or self._last_good
        self.area.mark(judged.problems)
        self.show_problems()
        self.show_state()
        self.show_preview()
        self.call_later(self.show_fields)

    # -- showing

    def show_problems(self) -> None:
        """Bring the pane of problems up to date."""
        pane = self.query_one("#editor-problems", TextPane)
        here = self.area.cursor_location[0] + 1
        pane.show(partial(editor_text.problem_lines, self.judged, here, self.shell.symbols))
        pane.border_subtitle = editor_text.counted(self.judged)
        pane.set_class(bool(self.judged.problems), "-wrong")

    @on(events.DescendantFocus)
    def show_state(self) -> None:
        """Say whether the text is saved, whether it is looked at, and which keys work."""
        self.area.border_subtitle = "not saved" if self.unsaved else "saved"
        if self.judged.text != self.area.text:
            self.query_one("#editor-problems", TextPane).border_subtitle = "checking"
        useless = () if self.judged.problems else ("editor.problem",)
        useful = [a for a in footer_actions(self.SCOPE, useless, self.app.size.width) if a.scope == self.SCOPE]
        pairs = [(actions.key_name(a.keys[0]), a.label) for a in useful]
        pairs[2:2] = [("F1", "help"), ("Esc", "close" if self.focused is self.area else "to the text")]
        self.query_one(KeyBar).show_hint(*fitting(pairs, self.app.size.width - 2))

    def show_preview(self) -> None:
        """Bring the pane beside the text up to date."""
        if self.view == "difference":
            self.preview.show(partial(editor_text.difference, self.judged, self.saved))
        elif self.view in ("job", "values"):  # what a value leads to is seen below the form
            self.preview.show(self.job_lines)

    def job_lines(self, width: int) -> list[Line]:
        """Return the job files that the text leads to; the last good ones while it has problems."""
        loaded = self.judged.loaded or self._last_good
        if loaded is None:
            return [Line.of(("No job file yet: see the problems below" if self.judged.problems else "", LABEL))]
        try:
            plan = sample_plan(loaded, self.shell)
        except BenchtuiError as error:
            return indented([(str(error), BAD)], width, 0)
        lines = review_plan.job_files(plan_text_of(plan))
        more = len(plan.steps) - STEPS_SHOWN
        lines += [Line.of((f"and {more} more steps", LABEL))] if more > 0 else []
        before = [Line.of(("as it was before the problems below", WARN)), Line()]
        return lines if self.judged.loaded is not None else [*before, *lines]

    def show_view(self, view: str) -> None:
        """Show one thing beside the text, or the text alone."""
        self.view = view
        self.set_class(view != "text", "-side")
        self.set_class(view == "values", "-values")
        names = list(VIEWS)
        following = names[(names.index(view) + 1) % len(names)]
        self.form.border_title = VIEWS["values"]
        self.preview.border_title = VIEWS["job" if view == "values" else view]
        self.preview.border_subtitle = self.form.border_subtitle = f"F3 {VIEWS[following].lower() or 'text alone'}"
        self.show_preview()

    # -- the form

    async def show_fields(self) -> None:
        """Make the fields of the profile's parameters; while one types there, they stay."""
        loaded = self.judged.loaded
        if loaded is None or self.in_form:
            return
        params = loaded.profile.params
        wanted = tuple((name, default_text(param)) for name, param in params.items())
        if wanted != self._fields:
            self._fields, self.form_is_made = wanted, False
            await self.form.set_fields(self.field_specs(params))
        self.form_is_made = True
        if self.enters_form:
            self.action_values()

    def field_specs(self, params: Mapping[str, Param]) -> list[FieldSpec]:
        """Return a field for each parameter, with the default of the profile that this one extends."""
        base = self.judged.base
        specs = []
        for name, param in params.items():
            origin = base.params.get(name, param) if base else param
            specs.append(
                FieldSpec(name, default_text(param), default_text(origin), hint(param), choices=choices_of(param))
            )
        return specs

    def check_field(self, name: str, text: str) -> str | None:
        """Return what is wrong with a field's text."""
        loaded = self.judged.loaded or self._last_good
        return check_param(loaded.profile, name, text) if loaded and name in loaded.profile.params else None

    @on(Form.Edited)
    def field_edited(self) -> None:
        """Write the defaults that are right into the text."""
        values, errors = self.form.values, self.form.errors
        text = self.area.text
        for name, before in self._fields:
            if name in values and name not in errors and values[name] != before:
                try:
                    text = with_default(text, name, values[name])
                except UsageError as error:
                    self.notify(str(error), severity="warning")
        kept = {name: before for name, before in self._fields if name in errors or name not in values}
        self._fields = tuple((name, kept.get(name, values.get(name, ""))) for name, _ in self._fields)
        self.area.put(text)

    @on(Form.Done)
    def form_done(self) -> None:
        """Back to the text."""
        self.set_focus(self.area)

    @property
    def in_form(self) -> bool:
        """Whether a field has the focus."""
        return self.form in (self.focused.ancestors if self.focused else ())

    # -- actions

    def action_view(self) -> None:
        """Show the next thing beside the text."""
        self.chose_view, self.enters_form = True, False
        names = list(VIEWS)
        self.show_view(names[(names.index(self.view) + 1) % len(names)])
        if self.in_form:
            self.set_focus(self.area)
        self.preview.scroll_home(animate=False)

    def action_values(self) -> None:
        """Go into the form, at once or as soon as its fields are made."""
        if self._last_good is not None and not self._last_good.profile.params:
            self.enters_form = False
            self.notify("this profile has no parameters", severity="warning")
            return
        self.enters_form = not self.form_is_made
        self.chose_view = True
        self.show_view("values")
        if self.form_is_made:
            self.call_after_refresh(self.form.focus_first)

    def action_problem(self) -> None:
        """Go to the next problem after the cursor, or to the first one."""
        places = sorted({(problem.line or 1, problem.column or 1) for problem in self.judged.problems})
        if not places:
            return
        row, column = self.area.cursor_location
        line, at = next((place for place in places if place > (row + 1, column + 1)), places[0])
        self.set_focus(self.area)
        self.area.move_cursor((line - 1, at - 1), center=True)

    def action_back(self) -> None:
        """Back to the text first, then out, with a question when something is not saved."""
        self.enters_form = False
        if self.focused is not self.area:
            self.set_focus(self.area)
        elif self.unsaved:
            self.ask_to_save(self.leave)
        else:
            self.leave()

    def ask_to_save(self, then: Leave) -> None:
        """Ask what becomes of what was typed, and go on unless it is to be looked at again."""
        text = self.area.text  # its last letters may not have been looked at
        judged = self.judged if self.judged.text == text else judge(self.shell.catalogue, text, self.path)
        state = "It has no problem."
        if problems := judged.problems:
            state = f"It has {editor_text.count(problems)}: it can be saved, but not run."
        body = f"What you changed is not saved yet. {state}"
        self.app.push_screen(Confirm(f"Save {self.shown_path}?", body, LEAVE), partial(self.leave_answered, then))

    async def leave_answered(self, then: Leave, answer: str | None) -> None:
        """Do what was answered."""
        if answer == "save":
            self.save(then)
        elif answer == "discard":
            self.discard()
            await go_on(then)

    def discard(self) -> None:
        """Forget what was typed."""
        self.area.put(self.saved)

    def leave(self) -> None:
        """Back to the list, on this profile."""
        self.shell.go("profiles", self.judged.loaded.profile.profile if self.judged.loaded else str(self.path))

    # -- saving

    def action_save(self) -> None:
        """Save; ask first when somebody else has changed the file."""
        self.save()

    @work(group="save", exclusive=True)
    async def save(self, then: Leave | None = None) -> None:
        """Write the text; ask first when the file is not what was read."""
        self.look_at_file()
        if self.outside is not None:
            body = "Somebody else has changed it since you opened it. Overwriting loses what they did."
            question = Confirm(f"{self.shown_path} was changed outside", body, OVERWRITE, warns=True)
            if await self.app.push_screen_wait(question) != "overwrite":
                return
        if self.write() and then is not None:
            await go_on(then)

    def write(self) -> bool:
        """Write the text whole. Return whether that worked."""
        from tui.engine.inputs.profile_files import write_schema
        from tui.engine.inputs.user_files import save

        text = self.area.text
        try:
            save(self.path, text)
        except BenchtuiError as error:
            self.notify(str(error), severity="error")
            return False
        self.saved, self.outside = text, None
        if self.path.is_relative_to(self.shell.paths.profiles):
            write_schema(self.shell.paths.profiles)
        if problems := judge(self.shell.catalogue, text, self.path).problems:
            self.notify(f"saved with {editor_text.count(problems)}: it cannot be run yet", severity="warning")
        else:
            self.notify("saved")
        self.show_state()
        self.show_preview()
        return True

    def look_at_file(self) -> None:
        """Take over what was saved outside; keep what is typed here, and say so."""
        try:
            text = self.read()
        except BenchtuiError:
            return  # gone or unreadable for now: saving writes it again
        if text in (self.saved, self.outside):
            return
        if text == self.area.text:
            self.saved, self.outside = text, None
            self.show_state()
        elif self.unsaved:
            self.outside = text
            self.notify("the file was changed outside; what you type is kept, saving asks first", severity="warning")
        else:
            self.saved = text
            self.area.put(text)
            self.notify("read again: the file was changed outside")

    def action_outside(self) -> None:
        """Save and go on in $EDITOR; the problems are shown on return."""
        if self.unsaved and not self.write():
            return
        try:
            with self.app.suspend():
                edit_file(self.path, self.shell.options.environ)
        except EditorError as error:
            self.notify(str(error), severity="error")
        self.look_at_file()
        self.look_at_text()


async def go_on(then: Leave) -> None:
    """Do what waited for an answer."""
    result = then()
    if isawaitable(result):
        await result


def fitting(pairs: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Return as many of the pairs as a line of this width holds."""
    found: list[tuple[str, str]] = []
    for key, label in pairs:
        taken = sum(len(k) + len(v) + 3 for k, v in found)
        if taken + len(key) + len(label) + 1 <= width:
            found.append((key, label))
    return found


def plan_text_of(plan: Plan) -> Plan:
    """Return a plan with its first steps alone."""
    from msgspec.structs import replace

    return replace(plan, steps=plan.steps[:STEPS_SHOWN])
