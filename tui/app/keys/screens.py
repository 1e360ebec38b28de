"""The one list of screens: top bar, keys, help, documents and the way back come from it.

How to add a screen
-------------------
1. A folder in `tui/app/screens` with a class that derives from `tui.app.frame.base.StepScreen` and sets ``SCOPE``.
2. An `Entry` in `SCREENS` below, and its class in `CLASSES` of `tui.app.app`: it is imported when it is shown first.
3. Its keys in `tui.app.keys.actions`, each with an id that begins with the screen's name.
"""

from __future__ import annotations

from msgspec import Struct


class Entry(Struct, frozen=True):
    """One screen. Those with a `key` stand in the top bar, in the order of the list."""

    name: str  # the scope of its actions
    title: str
    key: str = ""
    help: str = ""
    back: str = "hosts"  # where Escape goes
    part_of: str = ""  # the screen that the top bar marks while this one is shown
    aside: bool = False  # not a step of the flow
    after_choice: bool = False  # has nothing to show before hosts and a profile are chosen
    missing: str = ""  # it shows one run, or one file: what is said while there is none
    lists: bool = True  # the keys of lists work on it


NO_RUN = "no run yet: start one from Review (3), or open one from Runs (6)"
NO_MARKS = "nothing to compare yet: mark runs with Space on Runs (6), then press c"
SCREENS = (
    Entry("hosts", "Hosts", "1", "choose where to run"),
    Entry("profiles", "Profiles", "2", "choose what to run"),
    Entry("editor", "Editor", back="profiles", part_of="profiles", missing="no file yet"),
    Entry("review", "Review", "3", "see and change what will happen",
          back="profiles", after_choice=True),
    Entry("live", "Live", "4", "the run that is going on", back="review", missing=NO_RUN),
    Entry("result", "Result", "5", "what the last run measured",
          back="runs", missing=NO_RUN, lists=False),
    Entry("compare", "Compare", back="runs", part_of="runs", missing=NO_MARKS),
    Entry("runs", "Runs", "6", "every run that was kept", aside=True),
)  # fmt: skip
REPLAY = Entry("replay", "Replay", back="runs", part_of="live", missing=NO_RUN)
"""Live of a run that is played again, beside that of a run that goes on: it has the keys of Live."""
BY_NAME = {entry.name: entry for entry in (*SCREENS, REPLAY)}
IN_BAR = tuple(entry for entry in SCREENS if entry.key)
