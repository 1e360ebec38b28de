"""The line above the keys on Review: what Enter starts, or why it starts nothing yet. Pure."""

from __future__ import annotations

from msgspec import Struct
from textual.content import Content


class Launch(Struct, frozen=True):
    """What is known of a launch: the plan in a line, and whether a key starts it."""

    said: str
    taken: bool  # the plan was on the screen for long enough
    early: bool = False  # somebody pressed the key before that
    waits: bool = False  # once, so that it starts the plan by itself
    typing: bool = False  # a field has the focus, where Enter ends the typing
    unready: str = ""  # which hosts said that they would refuse it


WAITS = "Enter came early: starts in a moment; any other key stops that"
EARLY = "the plan is shown first: press Enter again"


def launch_content(launch: Launch) -> Content:
    """Return which key starts the plan, once it does; a key that came too early is told to come again."""
    if not launch.taken:
        return Content.styled(WAITS if launch.waits else EARLY, "$warn") if launch.early else Content()
    if launch.unready and not launch.typing:
        return Content.assemble((f"{launch.unready}; ", "$warn"), ("Enter ", "bold $accent"), ("tries anyway", "$warn"))
    if launch.typing:
        return Content.styled(launch.said, "$dim")
    key = Content.assemble(("press ", "$warn") if launch.early else "", ("Enter ", "bold $accent"))
    return Content.assemble(key, ("again: ", "$warn") if launch.early else "", (launch.said, "bold $bright"))
