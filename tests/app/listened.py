"""The app with a memory of its toasts, which leave the screen after some seconds."""

from pathlib import Path
from typing import Any

import tui.app.app
from tui.app.app import BenchtuiApp
from tui.app.frame.shell import Options


class Listened(BenchtuiApp):
    """The real app. `told` has the text of every toast, however late a test looks."""

    CSS_PATH = str(Path(tui.app.app.__file__).with_name("app.tcss"))

    def __init__(self, options: Options) -> None:
        self.told: list[str] = []
        super().__init__(options)

    def notify(self, message: str, **options: Any) -> None:
        self.told.append(message)
        super().notify(message, **options)
