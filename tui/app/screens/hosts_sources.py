"""Sources as groups of the Hosts screen: headings, details, and queries in the background."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from threading import Thread
from typing import TYPE_CHECKING

from tui.metrics.units import duration
from tui.text.line import ACCENT, BAD, LABEL, TEXT, Line, Run, indented

if TYPE_CHECKING:
    from tui.app.terminal.theme import Symbols
    from tui.engine.inputs.hosts import Fleet
    from tui.engine.inputs.source_groups import SourceAnswer
    from tui.model.source_group import SourceGroup


def groups_of(fleet: Fleet) -> list[SourceGroup]:
    """Return the sources of an inventory as groups."""
    if not fleet.sources and not fleet.has_asked:
        return []
    from tui.engine.inputs.source_groups import source_groups

    return source_groups(fleet)


def note(
    group: SourceGroup, ticked: Collection[str], asking: Collection[str], symbols: Symbols
) -> Run:
    """Return the heading's note: how many hosts are ticked, and the age of the answer."""
    if group.title in asking:
        return f"{symbols.wait} querying", ACCENT
    count = sum(name in ticked for name in group.names)
    share = f"{count}/{len(group.names)}"
    if group.problem:
        return f"{share} {symbols.bad} failed", BAD
    age = group.age_s(datetime.now(UTC))
    if age is None:
        return "not queried: press r", LABEL
    return f"{share}, {duration(age)} ago", ACCENT if count else LABEL


def lines(group: SourceGroup, symbols: Symbols, width: int) -> list[Line]:
    """Return the details of a source: its error, when and how it was queried."""
    failed = indented([(f"{symbols.bad} {group.problem}", BAD)], width, 0) if group.problem else []
    age = group.age_s(datetime.now(UTC))
    by = f", {group.how}" if group.how else ""
    if age is not None:
        age_text = f"{'last answer' if failed else 'queried'} {duration(age)} ago{by}; "
    else:
        age_text = "" if failed else "not queried yet; "
    return [*failed, *indented([(age_text, TEXT), ("r", ACCENT), (" refreshes", LABEL)], width, 0)]


def ask(fleet: Fleet, groups: Sequence[SourceGroup], take: Callable[[SourceAnswer], None]) -> None:
    """Query sources in daemon threads, which do not delay leaving.

    `take` runs on the event loop.
    """
    from tui.engine.inputs.source_groups import ask_again

    loop, context = asyncio.get_running_loop(), contextvars.copy_context()

    def one(group: SourceGroup) -> None:
        answer = ask_again(fleet, group)
        with suppress(RuntimeError):  # the app is gone
            loop.call_soon_threadsafe(take, answer, context=context)

    for group in groups:
        Thread(target=one, args=(group,), daemon=True, name=f"source {group.title}").start()
