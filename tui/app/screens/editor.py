"""The profile editor: text with problems while typing, preview, form of parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual import events, on, work
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import TextArea

from tui.app.dialogs.confirm import LEAVE, Confirm, DialogChoice
from tui.app.frame.step_screen import KeyBar, Leave, StepScreen, footer_actions
from tui.app.screens import editor_text
from tui.app.screens.editor_text import LoadedText, YamlArea, judge
from tui.app.screens.review_form import check_param, choices_of, default_text, hint
from tui.app.services.launching import sample_plan
from tui.app.services.outside_editor import edit_outside
from tui.app.terminal.action import key_name
from tui.app.widgets.form import FieldSpec, Form
from tui.app.widgets.lines import TextPane, lacking, shown_as
from tui.model.problem import BenchtuiError, UsageError
from tui.model.yaml_text import YamlDocument, load

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.model.profile import Profile

QUIET_S = 0.2  # without a key before the text is checked
CHECK_FILE_S = 1.0  # between two checks whether the file has changed on disk
WIDE = 100  # columns from which a preview is shown
VIEWS = {"text": "", "job": "Job file", "difference": "Differences", "values": "Parameters"}
OVERWRITE = (
    DialogChoice("cancel", "c", "Cancel"),
    DialogChoice("overwrite", "o", "Overwrite", harmful=True),
)
Change = Literal["none", "saved", "conflict", "changed"]
"""How the file on disk changed.

saved: it now equals the edits; conflict: it changed while there are edits; changed: it
changed while there are no edits.
"""


class EditorScreen(StepScreen):
    """Edits one profile file.

    Input is checked but never refused: a broken file can be saved, and is listed as broken.
    """

    SCOPE = "editor"
    CSS_PATH = "editor.tcss"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.file = EditedFile(path, self.shell.paths.profiles)
        self.judged = LoadedText("")
        self.last_good: LoadedProfile | None = None
        self.view = ""
        self.chose_view = False  # otherwise it depends on the terminal's width
        self.enters_form = False  # the user asked for the form before its fields were made
        self._quiet: Timer | None = None
        self.area: YamlArea
        self.form: DefaultsForm
        self.preview: TextPane  # job file or differences
        self.problems: TextPane

    def compose_body(self) -> Iterable[Widget]:
        """Yield the text, a preview, and the problems."""
        symbols = self.shell.symbols
        self.area = YamlArea(
            symbols.bad, shown_as("…", lacking(self.app)), id="editor-text", classes="pane"
        )
        self.area.border_title = Content(self.file.name)
        self.preview = TextPane(id="editor-preview")
        self.form = DefaultsForm(self.shell.symbols.bad, shown_as("…", lacking(self.app)))
        self.form.add_class("pane", update=False)
        self.form.border_title = VIEWS["values"]
        yield Horizontal(
            Vertical(self.form, self.area, id="editor-left"), self.preview, id="editor-body"
        )
        self.problems = TextPane(id="editor-problems")
        self.problems.border_title = "Problems"
        yield self.problems

    @property
    def unsaved(self) -> str:
        """The file's name if it has unsaved changes, otherwise empty."""
        return self.file.name if self.is_mounted and self.file.differs(self.area.text) else ""

    def on_mount(self) -> None:
        """Read the file, check it, and watch it for changes on disk."""
        try:
            self.file.text = self.file.read()
        except BenchtuiError as error:
            self.notify(str(error), severity="error")
        self.area.load_text(self.file.text)
        self.area.move_cursor(editor_text.first_place(self.file.text))
        self.room_changed()
        self.set_focus(self.area)
        self.check_text()
        self.set_interval(CHECK_FILE_S, self.check_file)

    # -- checking what was typed

    @on(TextArea.Changed)
    def typed(self) -> None:
        """Check the text once typing pauses."""
        self.show_state()
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(QUIET_S, self.check_text)

    @work(thread=True, group="judge", exclusive=True)
    def check_text(self) -> None:
        """Load the text as a profile, to check it, and show the result."""
        self.app.call_from_thread(
            self.show_checked, judge(self.shell.catalogue, self.area.text, self.file.path)
        )

    def show_checked(self, judged: LoadedText) -> None:
        """Show the result of a check, unless the text has changed meanwhile."""
        if not self.is_mounted or judged.text != self.area.text:
            return
        self.judged = judged
        self.enters_form &= judged.loaded is not None
        self.last_good = judged.loaded or self.last_good
        self.area.mark(judged.problems)
        self.show_problems()
        self.show_state()
        self.show_preview()
        self.call_later(self.show_form)

    def check_file(self) -> None:
        """Load changes made on disk. Unsaved edits are kept, and a conflict is shown."""
        change = self.file.compare_with_disk(self.area.text)
        if change == "saved":
            self.show_state()
        elif change == "conflict":
            text = "the file changed on disk; your edits are kept, and saving asks first"
            self.notify(text, severity="warning")
        elif change == "changed":
            self.area.put(self.file.text)
            self.notify("reloaded: the file changed on disk")

    # -- showing

    @on(events.Resize)
    def room_changed(self) -> None:
        """Show the job file beside the text if it fits, unless the user chose a view.

        Redraw the footer.
        """
        fitting_view = "job" if self.app.size.width >= WIDE else "text"
        if not self.chose_view and self.view != fitting_view:
            self.show_view(fitting_view)
        self.show_state()

    @on(TextArea.SelectionChanged)
    def cursor_moved(self) -> None:
        """Highlight the problems of the current line."""
        if self.judged.problems:
            self.show_problems()

    def show_problems(self) -> None:
        """Show the problems of the text."""
        here = self.area.cursor_location[0] + 1
        self.problems.show(
            partial(editor_text.problem_lines, self.judged, here, self.shell.symbols)
        )
        self.problems.border_subtitle = editor_text.counted(self.judged)
        self.problems.set_class(bool(self.judged.problems), "-wrong")

    @on(events.DescendantFocus)
    def show_state(self) -> None:
        """Show whether the text is saved and checked, and which keys work."""
        self.area.border_subtitle = "not saved" if self.unsaved else "saved"
        if self.judged.text != self.area.text:
            self.problems.border_subtitle = "checking"
        useless = set() if self.judged.problems else {"editor.problem"}
        useless |= {"editor.values"} if self.form.has_focus_within else set()
        useful = [
            a
            for a in footer_actions(self.SCOPE, useless, self.app.size.width)
            if a.scope == self.SCOPE
        ]
        next_view = VIEWS[following_view(self.view)].lower() or "text only"
        labels = {"editor.view": next_view} if self.view else {}
        pairs = [(key_name(a.keys[0]), labels.get(a.id, a.label)) for a in useful]
        pairs[:0] = [] if self.focused is self.area else [("Tab", "next field")]
        pairs[2:2] = [
            ("F1", "help"),
            ("Esc", "close" if self.focused is self.area else "to the text"),
        ]
        self.query_one(KeyBar).show_hint(*fitting(pairs, self.app.size.width - 2))

    def show_preview(self) -> None:
        """Show the preview of the text."""
        if self.view == "difference":
            self.preview.show(partial(editor_text.difference, self.judged, self.file.text))
        elif self.view in ("job", "values"):  # beside the form, it shows the effect of a value
            self.preview.border_title = editor_text.job_title(self.judged, self.last_good)
            plan_of = partial(sample_plan, shell=self.shell)
            self.preview.show(partial(editor_text.job_lines, self.judged, self.last_good, plan_of))

    def show_view(self, view: str) -> None:
        """Show a view beside the text, or with `text` the text alone."""
        self.view = view
        self.set_class(view != "text", "-side")
        self.set_class(view == "values", "-values")
        self.preview.border_title = VIEWS[view]
        self.show_preview()
        self.show_state()

    async def show_form(self) -> None:
        """Show the form of parameters, and move to it if the user asked for that."""
        if self.judged.loaded is None or self.form.has_focus_within:
            return
        await self.form.show_profile(self.judged.loaded.profile, self.judged.base)
        if self.enters_form:
            self.action_values()

    @on(Form.Edited)
    def field_edited(self) -> None:
        """Write the form's valid defaults into the text."""
        text, problems = self.form.apply_to(self.area.text)
        for problem in problems:
            self.notify(str(problem), severity="warning")
        self.area.put(text)

    # -- actions

    def action_view(self) -> None:
        """Show the next of the views beside the text."""
        self.chose_view, self.enters_form = True, False
        self.show_view(following_view(self.view))
        if self.form.has_focus_within:
            self.set_focus(self.area)
        self.preview.scroll_home(animate=False)

    def action_values(self) -> None:
        """Move to the form of parameters, once its fields exist."""
        if self.last_good is not None and not self.last_good.profile.params:
            self.enters_form = False
            self.notify("this profile has no parameters", severity="warning")
            return
        self.enters_form = not self.form.is_made
        self.chose_view = True
        self.show_view("values")
        if self.form.is_made:
            self.call_after_refresh(self.form.focus_first)

    def action_problem(self) -> None:
        """Go to the next problem after the cursor; after the last one, to the first."""
        place = editor_text.next_problem(self.judged.problems, self.area.cursor_location)
        if place is not None:
            self.set_focus(self.area)
            self.area.move_cursor(place, center=True)

    @on(Form.Done)
    def action_back(self) -> None:
        """Return to the text, or leave; ask first if there are unsaved changes."""
        self.enters_form = False
        if self.focused is not self.area:
            self.set_focus(self.area)
        elif self.unsaved:
            self.ask_to_save(self.leave)
        else:
            self.leave()

    def ask_to_save(self, then: Leave) -> None:
        """Ask what to do with unsaved changes; call `then` unless cancelled."""

        async def answered(answer: str | None) -> None:
            if answer == "save":
                self.action_save(then)
            elif answer == "discard":
                self.area.put(self.file.text)
                await call_and_wait(then)

        text = self.area.text  # its last characters may not have been checked
        judged = (
            self.judged
            if self.judged.text == text
            else judge(self.shell.catalogue, text, self.file.path)
        )
        state = "The profile has no problems."
        if problems := judged.problems:
            state = (
                f"The profile has {editor_text.count(problems)}: it can be saved but not run."
            )
        body = f"Your changes are not saved. {state}"
        self.app.push_screen(Confirm(f"Save {self.file.name}?", body, LEAVE), answered)

    def leave(self) -> None:
        """Return to the profile list, with the cursor on this profile."""
        self.shell.go(
            "profiles",
            self.judged.loaded.profile.profile if self.judged.loaded else str(self.file.path),
        )

    @work(group="save", exclusive=True)
    async def action_save(self, then: Leave | None = None) -> None:
        """Save the text, then call `then`; ask first if the file changed on disk."""
        self.check_file()
        if self.file.outside is not None:
            body = "It has changed since you opened it. Overwriting loses those changes."
            question = Confirm(f"{self.file.name} changed on disk", body, OVERWRITE, warns=True)
            if await self.app.push_screen_wait(question) != "overwrite":
                return
        if self.write() and then is not None:
            await call_and_wait(then)

    def write(self) -> bool:
        """Write the text to the file, and show its problems; return whether that succeeded."""
        text = self.area.text
        try:
            self.file.save(text)
        except BenchtuiError as error:
            self.notify(str(error), severity="error")
            return False
        if problems := judge(self.shell.catalogue, text, self.file.path).problems:
            self.notify(
                f"saved with {editor_text.count(problems)}: it cannot be run yet",
                severity="warning",
            )
        else:
            self.notify("saved")
        self.show_state()
        self.show_preview()
        return True

    def action_outside(self) -> None:
        """Save and edit the file in $EDITOR; show its problems on return."""
        if self.unsaved and not self.write():
            return
        edit_outside(self, self.file.path, self.shell.options.environ)
        self.check_file()
        self.check_text()


async def call_and_wait(then: Leave) -> None:
    """Call a deferred function, and wait for it if it is asynchronous."""
    result = then()
    if isawaitable(result):
        await result


def following_view(view: str) -> str:
    """Return the name of the view after this one."""
    names = list(VIEWS)
    return names[(names.index(view) + 1) % len(names)]


def fitting(pairs: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Return the (key, label) pairs that fit into `width` cells; earlier ones take precedence."""
    found: list[tuple[str, str]] = []
    for key, label in pairs:
        taken = sum(len(k) + len(v) + 3 for k, v in found)
        if taken + len(key) + len(label) + 1 <= width:
            found.append((key, label))
    return found


class EditedFile:
    """The file that is edited.

    `text`: last known content on disk. `outside`: content written by others that conflicts with the
    edits.
    """

    def __init__(self, path: Path, profiles: Path) -> None:
        self.path = path
        self.profiles = profiles  # the folder of the user's own
        self.text = ""
        self.outside: str | None = None

    @property
    def name(self) -> str:
        """The path, relative to the user's profiles if it is among them."""
        return str(self.path.relative_to(self.profiles) if self.is_own else self.path)

    @property
    def is_own(self) -> bool:
        """Whether the file is in the user's directory of profiles."""
        return self.path.is_relative_to(self.profiles)

    def read(self) -> str:
        """Return the text on disk. Raises UsageError."""
        from tui.model.problem import user_text

        return user_text(self.path)

    def differs(self, typed: str) -> bool:
        """Return whether a text differs from the last known content, ignoring line endings."""
        return lines_of(typed) != lines_of(self.text)

    def compare_with_disk(self, typed: str) -> Change:
        """Read the file again, remember its content, and return how it changed."""
        try:
            text = self.read()
        except BenchtuiError:
            return "none"  # missing or unreadable for now: saving writes it again
        if text in (self.text, self.outside):
            return "none"
        if text == typed:
            self.text, self.outside = text, None
            return "saved"
        if self.differs(typed):
            self.outside = text
            return "conflict"
        self.text = text
        return "changed"

    def save(self, text: str) -> None:
        """Write a text to the file. Raises BenchtuiError."""
        from tui.engine.inputs.profile_files import write_schema
        from tui.engine.inputs.user_files import save

        save(self.path, text)
        self.text, self.outside = text, None
        if self.is_own:
            write_schema(self.profiles)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, to compare texts regardless of line endings.

    A line break at the end of the text makes a difference.
    """
    return f"{text}.".splitlines()


class DefaultsForm(Form):
    """The defaults of all parameters.

    Those that differ from the extended profile are marked.
    """

    def __init__(self, mark: str, cut: str) -> None:
        super().__init__(self.check_default, mark, cut, "none changed", id="editor-form")
        self.profile: Profile | None = None
        self.is_made = False  # its fields exist
        self.defaults: dict[str, str] = {}  # as in the text

    def check_default(self, name: str, text: str) -> str | None:
        """Return what is wrong with the default of a parameter, None if valid."""
        params = self.profile.params if self.profile else {}
        return check_param(self.profile, name, text) if self.profile and name in params else None

    async def show_profile(self, profile: Profile, base: Profile | None) -> None:
        """Show a field for each parameter of a profile, unless the form has the focus.

        `base`: the profile that it extends.
        """
        self.profile = profile
        if self.has_focus_within:
            return
        wanted = {name: default_text(param) for name, param in profile.params.items()}
        if [*wanted.items()] != [*self.defaults.items()]:
            self.defaults, self.is_made = wanted, False
            origins = {**profile.params, **(base.params if base else {})}
            of = base.profile if base is not None else ""
            self.changed_from = f"changed from {of}" if of else "changed"
            await self.set_fields(
                FieldSpec(
                    name,
                    wanted[name],
                    default_text(origins[name]),
                    hint(param),
                    choices=choices_of(param),
                    before=f"{of}:" if of else "was",
                )
                for name, param in profile.params.items()
            )
        self.is_made = True

    def apply_to(self, text: str) -> tuple[str, list[UsageError]]:
        """Return a text with the form's valid defaults, and errors where that is impossible."""
        values, errors = self.values, self.errors
        problems: list[UsageError] = []
        right = {
            name: values[name] for name in self.defaults if name in values and name not in errors
        }
        for name, value in right.items():
            if value != self.defaults[name]:
                try:
                    text = with_default(text, name, value)
                except UsageError as error:
                    problems.append(error)
        self.defaults |= right
        return text, problems


# -- a text with another default, otherwise unchanged

_PLAIN = re.compile(r"[A-Za-z0-9/][A-Za-z0-9_./%+-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")


def with_default(text: str, name: str, value: str) -> str:
    """Return a profile's text with a parameter's default replaced.

    An inherited parameter gets a new line. Raises UsageError if the text is not YAML, or the place
    of the default in it is unknown.
    """
    document = load(text, "")
    for path in (("params", name, "default"), ("params", name)):
        span = document.spans.get(path)
        if span and span[1] > span[0]:
            return text[: span[0]] + written(value) + text[span[1] :]
    if ("params", name) in document.values:
        raise UsageError(f"the form cannot change the default of '{name}'; edit the text")
    return _with_new_line(text, document, f"{name}: {written(value)}")


def _with_new_line(text: str, document: YamlDocument, line: str) -> str:
    """Return the text with one more entry below ``params``, in the style of the existing ones."""
    params = document.data.get("params")
    if not isinstance(params, dict) or not params:
        if ("params",) not in document.keys:
            return f"{text.rstrip()}\nparams:\n  {line}\n"
        row, column = document.keys[("params",)]
        lines = text.split("\n")
        before, after = (
            lines[row - 1][: column - 1 + len("params")],
            lines[row - 1][column - 1 + len("params") :],
        )
        rest = re.sub(r"^\s*:\s*(\{\s*\}|~|null)?", "", after)
        lines[row - 1] = f"{before}:{f'  {rest.strip()}' if rest.strip() else ''}"
        return "\n".join([*lines[:row], f"  {line}", *lines[row:]])
    row, column = document.keys[("params", next(iter(params)))]
    lines = text.split("\n")
    last = ("params", next(reversed(params)))
    end = document.keys[last][0]
    if last in document.spans and end > row - 1 and not lines[row - 1][: column - 1].strip():
        blanks = lines[row - 1][: column - 1]
        end += text.count("\n", *document.spans[last])
        return "\n".join([*lines[:end], blanks + line, *lines[end:]])
    before, after = lines[row - 1][: column - 1], lines[row - 1][column - 1 :]
    if before.strip():  # {a: 1, b: 2} in one line
        lines[row - 1] = f"{before}{line}, {after}"
        return "\n".join(lines)
    return "\n".join([*lines[: row - 1], before + line, *lines[row - 1 :]])


def written(value: str) -> str:
    """Return a value as a YAML scalar that is read as the same text, number or truth value."""
    if value in ("true", "false", "yes", "no") or re.fullmatch(r"0|[1-9]\d{0,14}(\.\d+)?", value):
        return value
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS and not value[:1].isdigit()
    sized = re.fullmatch(r"\d+[a-zA-Z%]{1,3}", value)
    return value if plain or sized else json.dumps(value, ensure_ascii=False)
