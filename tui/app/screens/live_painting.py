"""Live: panels are painted one after the other, so that keys wait for none but the one at hand."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

from tui.app.frame.step_screen import FilteredScreen
from tui.app.screens.live_judging import LOOK_SLICE_S, let_keys_pass

MANY_HOSTS, MANY_OBJECTS = 100, 5_000  # what a second of a thousand hosts makes, in two passes


class PaintedScreen(FilteredScreen):
    """A screen that hands its state to its panels, one by one."""

    def painting(self) -> Iterator[None]:
        """Hand the state to the widgets, panel by panel."""
        raise NotImplementedError

    def paint(self) -> None:
        """Hand the state to the widgets."""
        for _ in self.painting():
            pass

    async def paint_in_slices(self, goes_on: Callable[[], bool]) -> None:
        """Hand the state to the widgets while it `goes_on`; keys that come meanwhile go first."""
        gave_way = time.monotonic()
        for _ in self.painting():
            if time.monotonic() - gave_way >= LOOK_SLICE_S:
                await let_keys_pass(self.shell)
                if not goes_on():
                    return
                gave_way = time.monotonic()


def leave_to_rest(hosts: int) -> None:
    """Have Python look for no garbage in what was read of many hosts, and seldom in what comes.

    A pass over a thousand hosts takes 100 ms, in which no key is handled.
    """
    if hosts >= MANY_HOSTS:
        gc.freeze()
        gc.set_threshold(MANY_OBJECTS, *gc.get_threshold()[1:])
