"""A run that was refused because another one holds its hosts: the same plan again, beside that run or after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.app.dialogs.confirm import Answer, Confirm
from tui.model.plain import some

if TYPE_CHECKING:
    from tui.model.plan import Plan

LOCKED = "host-locked"
WAIT_S = 3600.0
MOST = 6  # holders that are named
ANSWERS = (
    Answer("no", "n", "Not now"),
    Answer("wait", "w", "Wait for it, an hour at most"),
    Answer("take", "t", "Run beside it now", harmful=True),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One problem of one host."""

    host: str
    code: str
    message: str


def question(held: Sequence[Trouble]) -> Confirm:
    """Return the question how to go on: who holds which hosts, and what it means to run beside it."""
    hosts: dict[str, list[str]] = {}
    for trouble in held:
        hosts.setdefault(trouble.message.partition(";")[0], []).append(trouble.host)
    told = list(hosts.items())
    lines = [f"{some(names)}: {message}" for message, names in told[:MOST]]
    more = [f"and {len(told) - MOST} more"] if len(told) > MOST else []
    warning = "Two loads on one host measure each other: what both say is not to be trusted."
    return Confirm("Run the same plan again?", "\n".join([*lines, *more, "", warning]), ANSWERS, warns=True)


def again(plan: Plan, answer: str) -> Plan | None:
    """Return the plan that an answer asks for; None: none."""
    from msgspec.structs import replace

    if answer == "take":
        return replace(plan, take_locks=True)
    return replace(plan, wait_s=WAIT_S) if answer == "wait" else None
