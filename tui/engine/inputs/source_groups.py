"""Groups of hosts from sources, in the inventory or on the command line, that can be refreshed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui.model.operands import unique
from tui.model.plain_data import format_utc
from tui.model.problem import UsageError
from tui.model.source_group import SourceGroup

if TYPE_CHECKING:
    from tui.engine.inputs.choosing import Chooser
    from tui.engine.inputs.hosts import Fleet


class SourceAnswer(Struct, frozen=True):
    """A source's answer for a group; `chooser` is None if the query failed."""

    group: SourceGroup
    chooser: Chooser | None = None


def source_groups(fleet: Fleet) -> list[SourceGroup]:
    """Return the source groups of the inventory, then SPECs that name further hosts."""
    found = {name: fleet.answers.get(name) or _named_before(fleet, name) for name in fleet.sources}
    covered = {host for group in found.values() for host in group.names}
    for use in fleet.uses if fleet.has_asked else ():
        if not set(use.hosts) <= covered:
            known = fleet.answers.get(use.spec)
            found[use.spec] = known or SourceGroup(use.spec, use.spec, use.hosts, use.utc, use.how)
            covered |= set(use.hosts)
    return list(found.values())


def _named_before(fleet: Fleet, name: str) -> SourceGroup:
    """Return a group of the inventory with its first answer, if it was queried at startup."""
    vouched = fleet.chooser.vouched.values() if fleet.has_asked else ()
    names = tuple(each.name for each in vouched if name in each.groups)
    uses = [use for use in fleet.uses if set(use.hosts) & set(names)] if names else []
    how = ", ".join(dict.fromkeys(use.how for use in uses if use.how))
    return SourceGroup(name, f"@{name}", names, min((use.utc for use in uses), default=""), how)


def ask_again(fleet: Fleet, group: SourceGroup) -> SourceAnswer:
    """Query a group's sources again.

    Safe to call in a thread: it changes nothing; `take_answer` applies the result.
    """
    chooser = fleet.new_chooser()
    try:
        found = chooser.hosts([group.spec])
    except UsageError as error:
        return SourceAnswer(replace(group, problem="; ".join(map(str, error.problems))))
    how = ", ".join(dict.fromkeys(use.how for use in chooser.uses if use.how))
    return SourceAnswer(
        SourceGroup(group.title, group.spec, tuple(found), format_utc(datetime.now(UTC)), how),
        chooser,
    )


def take_answer(fleet: Fleet, answer: SourceAnswer) -> None:
    """Apply the answer of a group's sources, or record why the query failed.

    Removes hosts that no source returns any more.
    """
    group, known = answer.group, fleet.chooser
    before = next((each for each in source_groups(fleet) if each.title == group.title), group)
    fleet.answers[group.title] = group
    if answer.chooser is None:
        return
    new = {use.spec: use for use in answer.chooser.uses}
    known.asked.update(answer.chooser.asked)
    known.uses[:] = [*(use for use in known.uses if use.spec not in new), *new.values()]
    still = {host for use in known.uses for host in use.hosts}
    for host in set(before.names) - set(group.names) - still:
        known.vouched.pop(host, None)
    known.vouched.update(answer.chooser.vouched)
    known.notes[:] = unique([*known.notes, *answer.chooser.notes])
