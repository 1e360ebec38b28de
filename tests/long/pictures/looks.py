"""One picture of a screen: what lies on the disk, how the app is opened on it, what is pressed, at
which sizes.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot
from textual.screen import ModalScreen

from tests.app.driver import User
from tests.app.stage import Stage, tab
from tests.patience import seen
from tui.app.app import BenchtuiApp

Size = tuple[int, int]
Open = Callable[["Look"], BenchtuiApp]
Act = Callable[[User], Awaitable[None]]
SIZES: tuple[Size, ...] = ((80, 24), (120, 36), (200, 60))
# looks in a row that show the same: addresses of hosts and the line of Enter come later than the
# rest
STILL = 4
LOOK_S = 0.2


@dataclass(frozen=True)
class Look:
    """Colours and symbols."""

    name: str
    theme: str
    symbols: str = "braille"


DARK = Look("dark", "dark")
LOOKS = (
    DARK,
    Look("light", "light"),
    Look("16-colours", "ansi", "block"),
    Look("ascii", "dark", "ascii"),
)


@dataclass(frozen=True)
class Picture:
    """`make` puts files into a directory, once for all looks, and returns how to open the app.

    `act` goes on there.
    """

    name: str
    make: Callable[[Path], Open]
    act: Act | None = None


def pressed(*keys: str, sees: str = "") -> Act:
    """Press keys, then wait: for a text where a dialog opens or something is computed."""

    async def act(user: User) -> None:
        for key in keys:
            await user.press(key)
        if sees:
            await user.sees(sees)
        await settled(user)

    return act


def on_tab(name: str) -> Act:
    """Go to a tab of a result."""

    async def act(user: User) -> None:
        assert isinstance(user.app, Stage)
        await tab(user.app, user.pilot, name)

    return act


async def settled(user: User) -> None:
    """Wait until everything is painted that was asked for."""
    asks = isinstance(user.app.screen, ModalScreen)  # whatever has opened it waits for the answer
    if isinstance(user.app, Stage) and not asks:
        await user.app.settle_whole(user.pilot)
        return
    before, same = "", 0

    async def still() -> bool:
        nonlocal before, same
        await user.pilot.pause(LOOK_S)
        busy = not asks and any(worker.is_running for worker in user.app.workers)
        same = same + 1 if user.text == before and not busy else 0
        before = user.text
        return same >= STILL

    await seen(still, lambda: user.text)


def file_name(picture: Picture, look: Look, size: Size) -> str:
    """Return the name of a picture's file."""
    return f"{picture.name}.{size[0]}x{size[1]}.{look.name}.svg"


async def take(
    picture: Picture, opened: Open, look: Look, sizes: Sequence[Size]
) -> dict[Size, str]:
    """Return a picture as SVG for each size.

    One app shows all of them, as a terminal that is made larger would.
    """
    os.environ.pop("NO_COLOR", None)
    app = opened(look)
    found: dict[Size, str] = {}
    async with app.run_test(size=sizes[0]) as pilot:
        user = User(app, pilot)
        await settled(user)
        if picture.act is not None:
            await picture.act(user)
        for size in sizes:
            await resize(pilot, size)
            await settled(user)
            found[size] = app.export_screenshot(title="benchtui")
    return found


async def resize(pilot: Pilot[None], size: Size) -> None:
    """Make the terminal that large."""
    if pilot.app.size != size:
        await pilot.resize_terminal(*size)
