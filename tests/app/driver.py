"""Driving the whole app in tests, in the words of somebody who sits in front of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Static

from tests.app.listened import Listened
from tests.patience import seen
from tui.app.app import BenchtuiApp
from tui.app.frame.shell import Options
from tui.app.widgets.picklist import PickList
from tui.model.paths import Paths

INVENTORY = """\
# hosts of the lab
hosts:
  weka-[01-04]: {groups: [weka]}
  mapr-[1-3]: {user: bench, groups: [mapr]}
  spare: {address: 127.0.0.1, port: 1}
"""


class User:
    """Presses keys and reads the screen."""

    def __init__(self, app: BenchtuiApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys and let everything settle that they set off."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def starts(self, key: str = "enter") -> None:
        """Wait until a key starts the plan, be it behind a toast, and press it."""
        said = ("Enter runs on", "Enter searches on")
        await self.sees(lambda: any(each in self.static("#review-launch") for each in said))
        await self.press(key)

    async def types(self, text: str) -> None:
        """Type text."""
        await self.press(*("space" if letter == " " else letter for letter in text))

    async def sees(self, what: str | Callable[[], bool]) -> None:
        """Wait until a text is on the screen, or something is true."""
        true = what if callable(what) else lambda: what in self.text

        async def look() -> bool:
            if not true():
                await self.pilot.pause()
            return true()

        await seen(look, lambda: f"{what}\n{self.text}")

    async def is_told(self, what: str) -> None:
        """Wait until a toast has said something, whether it is still on the screen or not."""
        await self.sees(lambda: what in self.told)

    @property
    def told(self) -> str:
        """All that toasts have said."""
        assert isinstance(self.app, Listened)
        return "\n".join(self.app.told)

    @property
    def text(self) -> str:
        """Everything on the screen."""
        compositor = self.app.screen._compositor
        return "\n".join("".join(part.text for part in line) for line in compositor.render_strips())

    @property
    def scope(self) -> str:
        """Which step is shown."""
        return str(getattr(self.app.screen, "SCOPE", type(self.app.screen).__name__))

    @property
    def cursor(self) -> str | None:
        """Key of the row under the cursor."""
        return self.app.screen.query_one(PickList).cursor_key

    def static(self, selector: str) -> str:
        """The text of one widget."""
        return str(self.app.screen.query_one(selector, Static).content)


def options(home: Path, **changes: object) -> Options:
    """How the app is opened in tests: everything under `home`, nothing that depends on the
    terminal.
    """
    environ: Mapping[str, str] = {"TERM": "xterm-256color"}
    ssh_config = home / "ssh_config"
    ssh_config.touch()
    settings: dict[str, object] = {
        "paths": Paths(config=home, data=home),
        "ssh_config": ssh_config,
        "symbols": "braille",
        "theme": "dark",
        "environ": environ,
        **changes,
    }
    return Options(**settings)  # type: ignore[arg-type]


@asynccontextmanager
async def opened(given: Options, size: tuple[int, int] = (80, 24)) -> AsyncIterator[User]:
    """Open the app and wait until its first list is filled."""
    app = Listened(given)
    async with app.run_test(size=size, notifications=True) as pilot:
        user = User(app, pilot)
        await user.sees(
            lambda: user.scope != "Screen" and not any(w.is_running for w in app.workers)
        )
        await pilot.pause()
        yield user


def write_inventory(home: Path, text: str = INVENTORY) -> Path:
    """Write the user's inventory."""
    path = home / "inventory.yaml"
    path.write_text(text)
    return path


async def go_to_profile(user: User, tag: str) -> None:
    """Move the cursor of Profiles to a profile."""
    await user.press("2")
    await user.sees(lambda: user.scope == "profiles" and bool(user.app.screen.entries))  # type: ignore[attr-defined]
    user.app.screen.picklist.move_to(tag)  # type: ignore[attr-defined]
    await user.pilot.pause()
