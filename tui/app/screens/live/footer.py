"""The keys that the footer of Live names: those that do something with what is shown. Pure."""

from __future__ import annotations

from msgspec import Struct

Keys = tuple[tuple[str, str], ...]
GENERAL: Keys = (("?", "help"), ("q", "quit"))
LOOK_BACK: Keys = (("[]", "look back"),)
PLAY: Keys = (("Space", "play/hold"), ("←→", "10 s"))
SPEED, DIRECTION, HOST = ("+-", "speed"), ("t", "direction"), ("h", "host")


class Shown(Struct, frozen=True):
    """What is shown of which run. `zoomed`: the panel that has all room; `log`: the messages have it."""

    replay: bool = False
    over: bool = False
    gone: bool = False  # the engine died without a word
    remedy: bool = False  # something helps a failed run
    jobs: bool = False  # there are several
    found: bool = False  # findings are at hand
    roomy: bool = False
    log: bool = False
    zoomed: str | None = None
    back: bool = False  # a cursor stands at an earlier second


def hint(shown: Shown) -> Keys:
    """Return the keys in place of those that the registry has; none: these."""
    if shown.log:
        return (("↑↓", "scroll"), ("Esc", "hosts"), *GENERAL)
    if shown.zoomed is not None:
        own = (DIRECTION,) if shown.replay else (DIRECTION, HOST)
        first = PLAY if shown.replay else LOOK_BACK
        return (*first, *(own if shown.zoomed == "heat" else ()), ("z", "next panel"), ("Esc", "all"), *GENERAL)
    if shown.back and not shown.replay:
        now = ("Esc", "whole load" if shown.over else "now")
        return (*LOOK_BACK, now, ("s", "sort"), ("z", "zoom"), _job_or(shown, "L", "log"), *GENERAL)
    if shown.replay:
        before = (("v", "before"),) if shown.roomy else ()
        return (*PLAY, SPEED, ("Enter", "host"), ("s", "sort"), _job_or(shown, "L", "log"), *before, *GENERAL)
    if shown.over:
        first = (("R", "recover"),) if shown.gone else (("T", "remedy"),) if shown.remedy else ()
        findings = (("f", "findings"),) if shown.found else ()
        own = (("Enter", "result"), ("s", "sort"), *findings, ("L", "log"), _job_or(shown, "n", "note"))
        return (*first, *own, *GENERAL)
    return ()


def _job_or(shown: Shown, key: str, label: str) -> tuple[str, str]:
    return ("J", "job") if shown.jobs else (key, label)
