"""Hosts that use one and the same file of a shared file system: said before the load, made and counted once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from tui.engine.safety.file_needs import FileNeed
from tui.engine.safety.host_look import HostFindings
from tui.engine.safety.space import file_system_of
from tui.engine.session.context import RunContext
from tui.engine.session.session import HostSession
from tui.model.event import HostFacts
from tui.model.hostfacts import Fact
from tui.model.plan import Plan, Step
from tui.model.sharing import common_paths, sharing_text


class SharedFiles(Struct, frozen=True):
    """Files that the same hosts use on one file system. The first host makes them, and has them in its record."""

    hosts: tuple[str, ...]
    where: str
    paths: tuple[str, ...]


def shared_files(plan: Plan, found: Mapping[str, HostFindings]) -> list[SharedFiles]:
    """Return the files that hosts share, by what was found of the file systems they are on."""
    groups: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for path, hosts in common_paths(plan).items():
        for sharing, where in _on_one_file_system(path, hosts, found):
            groups.setdefault((sharing, where), []).append(path)
    return [SharedFiles(hosts, where, tuple(paths)) for (hosts, where), paths in groups.items()]


def _on_one_file_system(
    path: str, hosts: Sequence[str], found: Mapping[str, HostFindings]
) -> Iterator[tuple[tuple[str, ...], str]]:
    by_place: dict[str, list[str]] = {}
    words: dict[str, str] = {}
    for host in hosts:
        facts = found[host].room_of(path) if host in found else None
        if facts is not None and (facts.source or facts.mount):
            place = file_system_of(host, found[host].probe, facts)
            by_place.setdefault(place, []).append(host)
            words[place] = f"{facts.mount or facts.path} ({facts.fstype} from {facts.source})"
    yield from ((tuple(sharing), words[place]) for place, sharing in by_place.items() if len(sharing) > 1)


def tell_sharing(ctx: RunContext, found: Mapping[str, HostFindings]) -> None:
    """Say which hosts use the same files, keep it with their facts, and leave the making of them to the first."""
    for session in ctx.sessions:
        session.made_elsewhere = {}
    for shared in shared_files(ctx.plan, found):
        ctx.say("warning", sharing_text(ctx.plan, shared.paths, shared.hosts, shared.where))
        for session in ctx.sessions:
            if session.name in shared.hosts:
                sharing: dict[str, Fact] = {"shares_files_with": " ".join(shared.hosts)}
                session.facts |= sharing
                session.journal.append(HostFacts(t=0.0, host=session.name, facts=sharing))
            if session.name in shared.hosts[1:]:
                session.made_elsewhere |= dict.fromkeys(shared.paths, shared.hosts[0])
                session.missing -= set(shared.paths)
                session.short -= set(shared.paths)


def own_needs(ctx: RunContext, step: Step, session: HostSession, needs: Sequence[FileNeed]) -> list[FileNeed]:
    """Return what a host lays out itself: not what another one that takes part lays out for both."""
    here = {each.name for each in ctx.taking_part(step)}
    others = [need for need in needs if session.made_elsewhere.get(need.spec.path) in here]
    ctx.made_files.add(session.name, (need.spec for need in others))
    return [need for need in needs if need not in others]


def forget_made(ctx: RunContext, session: HostSession, paths: Sequence[str]) -> None:
    """Forget files that are gone, on every host that had them."""
    for each in ctx.sessions:
        if each is session or set(paths) & set(each.made_elsewhere):
            ctx.made_files.forget(each.name, paths)
