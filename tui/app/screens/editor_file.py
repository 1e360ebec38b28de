"""The file behind the editor: its text on disk, what is not saved yet, what others have made of it.

No widgets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tui.model.problem import BenchtuiError

Change = Literal["none", "saved", "conflict", "changed"]
"""What happened to the file: it is as typed now; others changed it while something is typed.

Or while nothing is.
"""


class EditedFile:
    """A profile file.

    `text` is what is on disk as far as we know, `outside` what others have written over it since.
    """

    def __init__(self, path: Path, profiles: Path) -> None:
        self.path = path
        self.profiles = profiles  # the folder of the user's own
        self.text = ""
        self.outside: str | None = None

    @property
    def name(self) -> str:
        """Its path as far as it tells something."""
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
        """Return whether a text is not what is on disk; how lines break makes no difference."""
        return lines_of(typed) != lines_of(self.text)

    def look(self, typed: str) -> Change:
        """Look at the file on disk, while this text is typed; what is typed is kept."""
        try:
            text = self.read()
        except BenchtuiError:
            return "none"  # gone or unreadable for now: saving writes it again
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
        """Write the text whole. Raises BenchtuiError."""
        from tui.engine.inputs.profile_files import write_schema
        from tui.engine.inputs.user_files import save

        save(self.path, text)
        self.text, self.outside = text, None
        if self.is_own:
            write_schema(self.profiles)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text and of what follows its last line break, however the file breaks
    them.
    """
    return f"{text}.".splitlines()
