"""Remove from hosts what a finished run created, and say why something stays."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from tui.engine.preflight.destroy import sizes_of, tasks_of
from tui.engine.preflight.made_files import MadeFiles
from tui.journal.rundir import no_engine, owner
from tui.metrics import units
from tui.model.address import HostAddress
from tui.model.plain import printable, some
from tui.model.plan import FILE_NUMBER, DirectoryIdentity, Identities, Plan
from tui.remote import made
from tui.remote.agent import Agent
from tui.remote.answers import FileInfo
from tui.remote.devices import read_room
from tui.remote.fan_out import agent_on, fan_out
from tui.remote.files import count_numbered, stat_files
from tui.remote.made import ABSENT, AS_MADE, REMOVED, UNKNOWN
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.model.host_record import FilesLeft
    from tui.model.record import RunRecord
    from tui.remote.connections import Connections

REASONS: Mapping[str, str] = {
    UNKNOWN: (
        "not identified in the record (made by an older version, or the run was cut off); remove it"
        " by hand"
    ),
    "no-directory": "{directory} cannot be entered: is its file system mounted?",
    "leads-to": "{directory} leads to {detail} now: it was replaced or moved",
    "no-stat": "stat on the host cannot identify files; remove it by hand",
    "other-directory": "{directory} is another directory now",
    "other-file-system": "{directory} is on another file system now",
    "kind": "it is a {detail} now",
    "mounted": "something is mounted on it",
    "mounted-below": "something is mounted below it; unmount that first",
    "other": "replaced since the run made it",
    "links": "it has {detail} hard links now",
    "size": "it changed to {detail} just now",
}


def why_kept(path: str, said: str) -> str:
    """Return why a path stays, by the agent's word of it.

    Empty when it goes, went, or is not there.
    """
    what, _, detail = said.partition(" ")
    if what in (AS_MADE, REMOVED, ABSENT):
        return ""
    if what == "leads-to":
        detail = printable(_decoded(detail))
    if what == "size" and detail.isdigit():
        detail = units.size(int(detail))
    return REASONS.get(what, "it could not be removed").format(
        directory=posixpath.dirname(path), detail=detail
    )


def _decoded(hexadecimal: str) -> str:
    try:
        return bytes.fromhex(hexadecimal).decode(errors="replace").removesuffix("\n")
    except ValueError:
        return "somewhere else"


CLEAN_S = 600.0
LEASE_S = CLEAN_S + 60.0  # it is not renewed
NAMES_SHOWN = 3


class Created(Struct, frozen=True):
    """What a run's record names on one host. `sizes` are those the plan gave its files, 0 when it
    knew none.

    `grown` are those that later runs of ours gave the same files.

    `counts` are those of paths that stand for many files. `target` was on the file system that is
    mounted at `mount`.
    """

    address: HostAddress
    paths: tuple[str, ...]
    sizes: Mapping[str, int]
    complete: bool  # whether the run came to its good end, so that its files are whole
    counts: Mapping[str, int] = field(default_factory=dict)
    target: str = ""
    mount: str = ""
    grown: Mapping[str, int] = field(default_factory=dict)
    shared_with: tuple[str, ...] = ()  # hosts for which these files are the same ones
    # identities of the paths that were recorded
    known: Identities = field(default_factory=Identities)


class Cleaning(Struct):
    """One host before or after: what goes (with its bytes), what was not there, what stays and
    why.
    """

    host: str
    goes: dict[str, int] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    stays: dict[str, str] = field(default_factory=dict)
    error: str = ""

    @property
    def bytes(self) -> int:
        """Bytes of what goes."""
        return sum(self.goes.values())

    @property
    def settled(self) -> list[str]:
        """What the record need not name any more."""
        return [*self.goes, *self.absent]

    def lines(self, *, done: bool) -> list[str]:
        """Return it for people: what is going to happen, or what has."""
        if self.error:
            return [f"{self.host}: {self.error}"]
        verb = "removed" if done else "will be removed"
        said = (
            [f"{some(self.goes, NAMES_SHOWN)}, {units.size(self.bytes)}: {verb}"]
            if self.goes
            else []
        )
        said += [f"{some(self.absent, NAMES_SHOWN)}: not there any more"] if self.absent else []
        said += [
            f"{path}: {'stayed' if done else 'stays'}: {why}" for path, why in self.stays.items()
        ]
        return [f"{self.host}: {text}" for text in said or ["nothing to remove"]]


def created_of(plan: Plan, record: RunRecord) -> list[Created]:
    """Return what a run left, host by host; hosts with nothing are left out."""
    addresses = {host.name: host for host in plan.hosts}
    whole = record.state == "complete"
    return [
        created_on(
            plan,
            addresses[host.name],
            host.files_left.paths,
            host.facts,
            _known(host.files_left),
            complete=whole,
        )
        for host in record.hosts
        if host.files_left is not None and host.name in addresses
    ]


def _known(left: FilesLeft) -> Identities:
    places = {
        path: DirectoryIdentity(place.real, place.mark) for path, place in left.directories.items()
    }
    return Identities(dict(left.identities), places)


def created_on(
    plan: Plan,
    address: HostAddress,
    paths: Sequence[str],
    facts: Mapping[str, object],
    known: Identities,
    *,
    complete: bool = False,
) -> Created:
    """Return these paths with what the plan, and the facts of the preflight, say of them."""
    specs = [spec for task in tasks_of(plan, address.name) for spec in task.files]
    counts: dict[str, int] = {}
    for spec in specs:
        counts[spec.path] = max(spec.count, counts.get(spec.path, 0))
    target, mount = (str(facts.get(name) or "") for name in ("target", "target_mount"))
    sharing = tuple(str(facts.get("shares_files_with") or "").split())
    sizes = sizes_of(plan, address.name)
    return Created(
        address,
        tuple(paths),
        sizes,
        complete,
        counts,
        target,
        mount,
        shared_with=sharing,
        known=known,
    )


async def look(run_dir: Path, found: Sequence[Created], connections: Connections) -> list[Cleaning]:
    """Return what would be removed on each host. Nothing is changed."""
    return await _everywhere(run_dir.name, with_grown(run_dir, found), connections, _look)


def with_grown(run_dir: Path, found: Iterable[Created]) -> list[Created]:
    """Return the same, with what later runs of this user have made of these files: their sizes, and
    what they are.
    """
    made_files = MadeFiles.beside(run_dir)
    return [_as_later_runs_left(each, made_files) for each in found]


def _as_later_runs_left(created: Created, made_files: MadeFiles) -> Created:
    later = made_files.identities(created.address.name)
    files = {path: later.get(path, identity) for path, identity in created.known.files.items()}
    known = Identities(files, created.known.directories)
    return replace(created, grown=made_files.sizes(created.address.name), known=known)


async def clean(
    run_dir: Path,
    found: Sequence[Created],
    connections: Connections,
    keep: Callable[[list[Cleaning]], object],
) -> list[Cleaning]:
    """Look again, remove, have `keep` write down what has become of everything on each host, and
    return that.

    Meanwhile no engine can resume the run. Raises BenchtuiError if one is running.
    """
    made_files = MadeFiles.beside(run_dir)
    with no_engine(run_dir):
        cleaned = await _everywhere(run_dir.name, with_grown(run_dir, found), connections, _remove)
        for created, cleaning in zip(found, cleaned, strict=True):
            for host in {cleaning.host, *created.shared_with}:
                made_files.forget(host, cleaning.settled)
        await asyncio.to_thread(keep, cleaned)
    return cleaned


async def _everywhere(
    run_id: str,
    found: Sequence[Created],
    connections: Connections,
    work: Callable[[Agent, Created], Awaitable[Cleaning]],
) -> list[Cleaning]:
    async def one(created: Created) -> Cleaning:
        async with (
            asyncio.timeout(CLEAN_S),
            agent_on(created.address, connections, run_id) as agent,
        ):
            return await work(agent, created)

    cleaned, errors = await fan_out({each.address.name: one(each) for each in found})
    cleaned |= {name: Cleaning(name, error=error.message) for name, error in errors.items()}
    return [cleaned[each.address.name] for each in found]


async def _look(agent: Agent, created: Created) -> Cleaning:
    cleaning = judge(created, await stat_files(agent, created.paths))
    await _look_at_numbered(agent, created, cleaning)
    await _keep_replaced(agent, created, cleaning)
    await _doubt_absent(agent, created, cleaning)
    return cleaning


async def _keep_replaced(agent: Agent, created: Created, cleaning: Cleaning) -> None:
    """Keep what is not what the run made, whatever it is called."""
    said = await made.unmake(agent, "look", _items(created, cleaning.goes), created.known)
    for path, word in said.items():
        if why := why_kept(path, word):
            del cleaning.goes[path]
            cleaning.stays[path] = why


def _items(created: Created, goes: Mapping[str, int]) -> list[made.Item]:
    """Return what goes, with the size that each file has been seen with: it must not change any
    more.
    """
    return [
        (
            made.Item(
                path, "file", size if FILE_NUMBER not in path else None, created.counts.get(path, 0)
            )
            if path in created.sizes or FILE_NUMBER in path
            else made.Item(path, "directory")
        )
        for path, size in goes.items()
    ]


async def _look_at_numbered(agent: Agent, created: Created, cleaning: Cleaning) -> None:
    """Judge paths that stand for many files by all of them: the first alone does not tell."""
    for path in created.paths:
        count = created.counts.get(path, 0)
        if FILE_NUMBER not in path or path in cleaning.stays or not count:
            continue
        size = created.sizes.get(path, 0)
        found = await count_numbered(agent, path, count, size)
        cleaning.goes.pop(path, None)
        cleaning.absent = [each for each in cleaning.absent if each != path]
        if found.full:
            why = "is no plain file" if size else "is no empty file, the run made it empty"
            cleaning.stays[path] = f"{found.full} {why}"
        elif found.there:
            cleaning.goes[path] = size * found.there
        else:
            cleaning.absent.append(path)


async def _doubt_absent(agent: Agent, created: Created, cleaning: Cleaning) -> None:
    """What is not there may be on a file system that is not mounted now: such paths stay in the
    record.
    """
    if not cleaning.absent:
        return
    missing = set(cleaning.absent)
    above = {path: _directory_above(path, missing) for path in cleaning.absent}
    parents = await stat_files(agent, sorted(set(above.values())))
    moved = await _other_mount(agent, created)
    for path, parent in above.items():
        info = parents[parent]
        if moved or info is None or info.kind != "directory":
            why = moved or f"{parent} is not there"
            cleaning.stays[path] = f"it cannot be seen, and {why}: is its file system mounted?"
    cleaning.absent = [path for path in cleaning.absent if path not in cleaning.stays]


def _directory_above(path: str, missing: set[str]) -> str:
    """Return the directory of a path, or the nearest above it that the run has not made itself and
    that is gone.
    """
    parent = posixpath.dirname(path)
    while parent in missing:
        parent = posixpath.dirname(parent)
    return parent


async def _other_mount(agent: Agent, created: Created) -> str:
    """Return in words that the run's directory is on another file system now.

    Empty when it is not.
    """
    if not (created.target and created.mount):
        return ""
    now = (await read_room(agent, [created.target]))[created.target].mount
    if not now or now == created.mount:
        return ""
    over = now.startswith(f"{created.mount.rstrip('/')}/")
    return (
        f"something is mounted at {now} now"
        if over
        else f"nothing is mounted at {created.mount} now"
    )


def judge(created: Created, infos: Mapping[str, FileInfo | None]) -> Cleaning:
    """Return what will be removed and what stays, by what exists at each path now.

    Directories are judged by what will be removed from them.
    """
    cleaning = Cleaning(created.address.name)
    for path in created.paths:
        info = infos.get(path)
        if info is None:
            cleaning.absent.append(path)
        elif why := why_unlike(created, path, info):
            cleaning.stays[path] = why
        else:
            cleaning.goes[path] = info.size if info.kind == "file" else 0
    return cleaning


def why_unlike(created: Created, path: str, info: FileInfo) -> str:
    """Return why a path is not what the run made; an empty text when it is."""
    size = created.sizes.get(path)
    if FILE_NUMBER in path and not created.counts.get(path):
        return "its plan does not say how many files the run made"
    if size is None:
        return "" if info.kind in ("directory", "file") else f"it is a {info.kind} now"
    if info.kind != "file":
        return f"it is a {info.kind} now, not the file that the run made"
    largest = max(size, created.grown.get(path, 0))
    if size and (info.size > largest or (created.complete and info.size < size)):
        return f"it has {told_apart(info.size, size)}"
    return ""


def told_apart(now: int, made: int) -> str:
    """Return two sizes in words, in bytes where three digits do not tell them apart."""
    if abs(now - made) < made / 100:
        return f"{units.exact(now)} B now, the run made it with {units.exact(made)} B"
    return f"{units.size(now)} now, the run made it with {units.size(made)}"


async def _remove(agent: Agent, created: Created) -> Cleaning:
    held = await agent.lock(LEASE_S, owner())
    if held is not None and held.run != agent.run_id:
        return Cleaning(agent.host, error=f"in use by run {held.run} of {held.owner}: not cleaned")
    try:
        return await _remove_locked(agent, created)
    finally:
        with suppress(HostError):
            await agent.unlock()


async def _remove_locked(agent: Agent, created: Created) -> Cleaning:
    if alive := await agent.sweep(kill=False):
        return Cleaning(
            agent.host, error=f"{len(alive)} processes of this run are alive: not cleaned"
        )
    looked = await _look(agent, created)
    whole = [
        path
        for path in looked.goes
        if is_own_directory(agent.run_id, path) and path not in created.sizes
    ]
    said = {path: await made.unmake_tree(agent, "remove", path, created.known) for path in whole}
    rest = replace(created, paths=tuple(path for path in created.paths if path not in whole))
    cleaning = await remove_created(agent, rest)
    cleaning.goes |= {path: 0 for path in whole if not why_kept(path, said[path])}
    cleaning.stays |= {path: why for path in whole if (why := why_kept(path, said[path]))}
    return cleaning


async def remove_created(agent: Agent, created: Created) -> Cleaning:
    """Remove what is as the run made it, and return what has become of everything.

    Raises HostError.
    """
    cleaning = await _look(agent, created)
    items = {item.path: item for item in _items(created, cleaning.goes)}
    said = await made.unmake(agent, "remove", list(items.values()), created.known)
    for path, word in said.items():
        if why := why_kept(path, word):
            del cleaning.goes[path]
            full = word == made.STUCK and items[path].kind == "directory"
            cleaning.stays[path] = "it is not empty" if full else why
    return cleaning


def is_own_directory(run_id: str, path: str) -> bool:
    """Return whether a directory is the one that the run made under its own name, so that all in it
    is the run's.
    """
    return posixpath.basename(path) == f"benchtui-{run_id}"
