"""Dialogs that export a run to a file or copy text to the clipboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tui.app.dialogs.confirm import Dialog, Refusal
from tui.app.terminal.theme import Symbols
from tui.app.widgets.form import TextInput
from tui.app.widgets.lines import Lines, key_line
from tui.app.widgets.picklist import PickList
from tui.metrics.units import plural
from tui.text.line import ACCENT, BRIGHT, LABEL, TEXT, Line, clip, rule, wrap
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.export.copies import Copy

ROWS_AROUND_FORMATS = 9  # rows of the screen outside of the list
NAME_CELLS, TOOLS_CELLS, LABEL_CELLS = 18, 26, 10
WIDTH = 96  # holds most descriptions in one line
NAMES = "names, addresses, paths and notes"


class ExportFormat(Struct, frozen=True):
    """A selectable format: the tools that read it, its contents, and a line with the details."""

    name: str
    tools: str
    contents: str
    details: str = ""


class ExportRequest(Struct, frozen=True):
    """The format and the path of an export.

    `redact`: replace names and `words`.
    """

    format: str
    where: str
    redact: bool = False
    words: tuple[str, ...] = ()


class ExportDialog(Dialog[ExportRequest | None]):
    """Asks for a format and a path. Returns the request, or None after Escape.

    `propose` returns a path for a format, redacted or not.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "cancel", show=False),
        Binding("enter", "write", "write", show=False),
        Binding("space", "names", "names", show=False),
        Binding("tab", "app.focus_next", show=False),
        Binding("shift+tab", "app.focus_previous", show=False),
    ]
    DEFAULT_CSS = """
    ExportDialog {
        & PickList { background: $surface; }
        & #export-about { color: $secondary; margin: 1 0; }
        & #export-names { height: 1; }
        & Horizontal { height: 1; }
        & .export-label { width: 10; color: $dim; }
        & TextInput { width: 1fr; }
        & #export-words-row { display: none; }
        & #export-words-row.-shown { display: block; }
    }
    """

    def __init__(
        self,
        title: str,
        formats: list[ExportFormat],
        propose: Callable[[str, bool], str],
        symbols: Symbols,
    ) -> None:
        super().__init__()
        self.heading, self.formats, self.propose, self.symbols = title, formats, propose, symbols
        self.redact = False
        self._proposed = ""

    def compose(self) -> ComposeResult:
        """Yield the formats, the switch for redaction, and the path."""
        columns = (
            Column[ExportFormat]("format", lambda each: each.name, NAME_CELLS, role=BRIGHT),
            Column[ExportFormat]("for", lambda each: each.tools, least=TOOLS_CELLS, role=TEXT),
            Column[ExportFormat]("contents", lambda each: each.contents, least=20, role=LABEL),
        )
        with Vertical(classes="dialog") as dialog:
            dialog.styles.width, dialog.styles.max_width = WIDTH, "96%"
            dialog.border_title = Content(self.heading)
            dialog.border_subtitle = key_line(
                ("Up Down", "format"), ("Space", "redact"), ("Tab", "field"),
                ("Enter", "write"), ("Esc", "cancel"),
            )
            yield PickList(columns, lambda each: each.name, fits=True, id="export-formats")
            yield Static(id="export-about", markup=False)
            yield Static(id="export-names", markup=False)
            with Horizontal(id="export-words-row"):
                yield Static("", classes="export-label")
                yield TextInput(placeholder="more words, separated by spaces", id="export-words")
            with Horizontal():
                yield Static("write to", classes="export-label")
                yield TextInput(placeholder="a file, or a directory ending in /", id="export-path")
            yield Refusal()

    def show_refusal(self, reason: str) -> None:
        """Show why nothing was written, in place of the details, with the cursor on the path."""
        super().show_refusal(reason)
        self.query_one("#export-about").display = not reason
        if reason:
            self.field("path").focus()

    def on_resize(self) -> None:
        """Fit the list into the lines that the fields leave."""
        self.call_after_refresh(self.share_room)

    def share_room(self) -> None:
        """Reserve lines below the list for the longest details, so that nothing moves."""
        width = max(self.picklist.size.width, 1)
        texts = map(about_text, self.formats)
        below = max((len(wrap([(text, LABEL)], width)) for text in texts), default=0)
        self.query_one("#export-about").styles.height = below
        most = max(2, self.size.height - ROWS_AROUND_FORMATS - below)
        self.picklist.styles.height = min(len(self.formats) + 1, most)

    def on_mount(self) -> None:
        """Focus the list of formats."""
        self.picklist.set_rows(self.formats)
        self.picklist.focus()
        self.show_names()

    @property
    def picklist(self) -> PickList[ExportFormat]:
        """The list of formats."""
        return self.query_one("#export-formats", PickList)

    def field(self, name: str) -> TextInput:
        """Return the input named `words` or `path`."""
        return self.query_one(f"#export-{name}", TextInput)

    def show_names(self) -> None:
        """Show whether names will be redacted."""
        tick = self.symbols.ticked if self.redact else self.symbols.unticked
        label, box = "redact".ljust(LABEL_CELLS), f"{tick.strip()} {NAMES}"
        self.query_one("#export-names", Static).update(
            Content.assemble((label, "$dim"), (box, "$text" if self.redact else "$secondary"))
        )
        self.query_one("#export-words-row").set_class(self.redact, "-shown")

    def action_names(self) -> None:
        """Switch redaction on or off."""
        self.redact = not self.redact
        self.show_names()
        self.propose_path()

    @on(events.Click, "#export-names")
    def names_clicked(self) -> None:
        """Switch redaction on or off on a click."""
        self.action_names()

    @on(PickList.Moved)
    def propose_path(self) -> None:
        """Show the details of the selected format, and propose a path unless the user typed one."""
        field, name = self.field("path"), self.picklist.cursor_key
        about = next((about_text(each) for each in self.formats if each.name == name), "")
        self.query_one("#export-about", Static).update(about)
        if field.value == self._proposed and name is not None:
            self._proposed = field.value = self.propose(name, self.redact)

    @on(Input.Submitted)
    def action_write(self) -> None:
        """Submit format, path and words; the dialog closes once the export is written."""
        where, words = self.field("path").value.strip(), self.field("words").value.split()
        if (name := self.picklist.cursor_key) is not None:
            self.submit(
                ExportRequest(
                    name, where or self._proposed, self.redact, tuple(words) if self.redact else ()
                )
            )


def about_text(each: ExportFormat) -> str:
    """Return a format's name and its details; empty without details."""
    return f"{each.name}: {each.details}" if each.details else ""


ROWS_AROUND_COPIES = 8  # rows of the screen outside of list and text
WIDEST = 140
LEAST_ROWS, MOST_ROWS = 3, 14  # of a text and its heading


class Beginning(Lines):
    """Shows the first lines of a text.

    A text of one line is wrapped; the lines of a longer text are truncated.
    """

    text = ""

    def build(self, width: int, height: int) -> list[Line]:
        """Return the lines that fit; the last one says how many more there are."""
        lines, room = text_lines(self.text, width), height - 1  # the rule takes one
        if len(lines) > room:
            more = len(lines) - room + 1
            lines = [*lines[: room - 1], Line.of((f"and {plural(more, 'more line')}", LABEL))]
        return [rule("Preview", "", width), *lines]


def text_lines(text: str, width: int) -> list[Line]:
    """Return a text as lines of at most `width` cells."""
    known = text.splitlines()
    if len(known) == 1:
        return [Line.of(*part) for part in wrap([(text, TEXT)], width)]
    return [Line.of(*clip([(line, TEXT)], width)) for line in known]


class CopyDialog(Dialog[str | None]):
    """Asks which text to copy: by its key, or by the cursor and Enter.

    Returns the text, or None after Escape.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,y,q", "dismiss", "cancel", show=False),
        Binding("enter", "take", "copy", show=False),
    ]
    DEFAULT_CSS = """
    CopyDialog {
        & PickList { height: auto; background: $surface; }
        & Beginning { background: $surface; margin-top: 1; }
    }
    """

    def __init__(self, whose: str, copies: list[Copy]) -> None:
        super().__init__()
        self.whose, self.copies = whose, copies
        for copy in copies:
            self._bindings.bind(copy.key, f"take('{copy.key}')", copy.label, show=False)

    def compose(self) -> ComposeResult:
        """Yield the list of texts, and a preview."""
        columns = (
            Column["Copy"]("key", lambda each: each.key, 3, role=ACCENT),
            Column["Copy"]("copy", lambda each: each.label, least=15, role=BRIGHT),
        )
        with Vertical(classes="dialog") as dialog:
            dialog.styles.width, dialog.styles.max_width = WIDEST, "96%"
            dialog.border_title = Content(f"Copy from {self.whose}")
            dialog.border_subtitle = key_line(("Enter", "or the letter copies"), ("Esc", "cancel"))
            chosen = PickList(columns, lambda each: each.key, id="copies")
            chosen.styles.height = len(self.copies) + 1
            yield chosen
            yield Beginning(id="copy-begin")

    def on_mount(self) -> None:
        """Focus the list of texts."""
        picklist = self.query_one("#copies", PickList)
        picklist.set_rows(self.copies)
        picklist.focus()

    def on_resize(self) -> None:
        """Fit the preview into the remaining lines, once the width is known."""
        self.call_after_refresh(self.share_room)

    def share_room(self) -> None:
        """Reserve lines for the longest text, so that nothing moves."""
        begin = self.query_one(Beginning)
        longest = (
            max(len(text_lines(copy.text, max(begin.size.width, 1))) for copy in self.copies) + 1
        )
        rows = min(longest, self.size.height - ROWS_AROUND_COPIES - len(self.copies), MOST_ROWS)
        begin.styles.height = max(LEAST_ROWS, rows)

    @on(PickList.Moved)
    def show_text(self) -> None:
        """Show the text under the cursor as a preview."""
        wanted, begin = self.query_one("#copies", PickList).cursor_key, self.query_one(Beginning)
        begin.text = next((copy.text for copy in self.copies if copy.key == wanted), "")
        begin.update_lines()

    def action_take(self, key: str = "") -> None:
        """Close with the text of a key or, without a key, with the one under the cursor."""
        wanted = key or self.query_one("#copies", PickList).cursor_key
        self.dismiss(next((copy.text for copy in self.copies if copy.key == wanted), None))
