"""What every dialog is: a screen above the others, which it dims."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, TypeVar

from textual.screen import ModalScreen

Returned = TypeVar("Returned")


class Dialog(ModalScreen[Returned]):
    """Derive, and put what it shows into a container of class `dialog`. Its style sheet comes with the first one."""

    CSS_PATH: ClassVar = [Path(__file__).with_name("dialog.tcss")]
