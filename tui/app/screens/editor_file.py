"""The file of the editor: its text on disk, unsaved edits, changes by others.

No widgets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tui.model.problem import BenchtuiError

Change = Literal["none", "saved", "conflict", "changed"]
"""How the file on disk changed: it equals the edits; it changed while there are edits.

Or it changed without edits.
"""


class EditedFile:
    """A profile file.

    `text`: last known content on disk. `outside`: what others wrote since, if it conflicts.
    """

    def __init__(self, path: Path, profiles: Path) -> None:
        self.path = path
        self.profiles = profiles  # the folder of the user's own
        self.text = ""
        self.outside: str | None = None

    @property
    def name(self) -> str:
        """Its path, relative to the user's profiles if it is there."""
        return str(self.path.relative_to(self.profiles) if self.is_own else self.path)

    @property
    def is_own(self) -> bool:
        """Whether it is in the user's own folder."""
        return self.path.is_relative_to(self.profiles)

    def read(self) -> str:
        """Return the text on disk. Raises UsageError."""
        from tui.engine.inputs.profile_texts import profile_text

        return profile_text(self.path)

    def differs(self, typed: str) -> bool:
        """Return whether a text differs from the disk, ignoring line endings."""
        return lines_of(typed) != lines_of(self.text)

    def look(self, typed: str) -> Change:
        """Compare the file on disk with this text, which is kept."""
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
        """Write the text. Raises BenchtuiError."""
        from tui.engine.inputs.profile_files import write_schema
        from tui.engine.inputs.user_files import save

        save(self.path, text)
        self.text, self.outside = text, None
        if self.is_own:
            write_schema(self.profiles)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with any line endings, including what follows the last one."""
    return f"{text}.".splitlines()
