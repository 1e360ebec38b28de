"""Remove files that runs created on hosts, and leftovers of earlier runs."""

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
from tui.remote.agent import Agent, MarkedProcess, TaskDir, host_mark
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
        "not identified in the record (older version, or interrupted run); remove it manually"
    ),
    "no-directory": "cannot enter {directory}: is its file system mounted?",
    "leads-to": "{directory} now leads to {detail}: it was replaced or moved",
    "no-stat": "stat on the host cannot identify files; remove it manually",
    "other-directory": "{directory} is now a different directory",
    "other-file-system": "{directory} is now on a different file system",
    "kind": "it is now a {detail}",
    "mounted": "something is mounted on it",
    "mounted-below": "something is mounted below it; unmount that first",
    "other": "replaced since the run created it",
    "links": "it now has {detail} hard links",
    "size": "its size has just changed to {detail}",
}


def why_kept(path: str, answer: str) -> str:
    """Return why a path stays, from the agent's answer; empty if it was or can be removed, or does
    not exist.
    """
    what, _, detail = answer.partition(" ")
    if what in (AS_MADE, REMOVED, ABSENT):
        return ""
    if what == "leads-to":
        detail = printable(_decoded(detail))
    if what == "size" and detail.isdigit():
        detail = units.size(int(detail))
    return REASONS.get(what, "cannot be removed").format(
        directory=posixpath.dirname(path), detail=detail
    )


def _decoded(hexadecimal: str) -> str:
    try:
        return bytes.fromhex(hexadecimal).decode(errors="replace").removesuffix("\n")
    except ValueError:
        return "somewhere else"


CLEAN_S = 600.0
LEASE_S = CLEAN_S + 60.0  # not renewed
NAMES_SHOWN = 3


class Created(Struct, frozen=True):
    """Files that a run created on one host.

    `sizes` are from the plan, 0 if unknown; `grown` are larger sizes from later runs of this user.
    `counts`: number of files, for paths that stand for many. `target` was on the file system
    mounted at `mount`.
    """

    address: HostAddress
    paths: tuple[str, ...]
    sizes: Mapping[str, int]
    complete: bool  # whether the run completed, so that its files are complete
    counts: Mapping[str, int] = field(default_factory=dict)
    target: str = ""
    mount: str = ""
    grown: Mapping[str, int] = field(default_factory=dict)
    shared_with: tuple[str, ...] = ()  # hosts that share these files
    # recorded identities of the paths
    known: Identities = field(default_factory=Identities)


class Cleaning(Struct):
    """Planned or finished cleaning of one host: paths removed with their bytes, missing paths, and
    paths kept with the reason.
    """

    host: str
    goes: dict[str, int] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    stays: dict[str, str] = field(default_factory=dict)
    error: str = ""

    @property
    def bytes(self) -> int:
        """Bytes to remove, or removed."""
        return sum(self.goes.values())

    @property
    def settled(self) -> list[str]:
        """Paths that no longer need a record: removed or missing."""
        return [*self.goes, *self.absent]

    def lines(self, *, done: bool) -> list[str]:
        """Return the text lines for this host: what will happen, or with `done` what has
        happened.
        """
        if self.error:
            return [f"{self.host}: {self.error}"]
        verb = "removed" if done else "will be removed"
        size = f", {units.size(self.bytes)}" if self.bytes else ""  # 0: directories alone
        texts = [f"{some(self.goes, NAMES_SHOWN)}{size}: {verb}"] if self.goes else []
        texts += [f"{some(self.absent, NAMES_SHOWN)}: already gone"] if self.absent else []
        texts += [
            f"{path}: {'not removed' if done else 'will not be removed'}: {why}"
            for path, why in self.stays.items()
        ]
        return [f"{self.host}: {text}" for text in texts or ["nothing to remove"]]


def created_of(plan: Plan, record: RunRecord) -> list[Created]:
    """Return the files a run created, by host; hosts without files are omitted."""
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
    """Return these paths on a host as created files, with facts from plan and preflight."""
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


async def plan_cleaning(
    run_dir: Path, found: Sequence[Created], connections: Connections
) -> list[Cleaning]:
    """Return the planned cleaning of each host; changes nothing."""
    return await _everywhere(run_dir.name, with_grown(run_dir, found), connections, _plan_on)


def with_grown(run_dir: Path, found: Iterable[Created]) -> list[Created]:
    """Return the files with sizes and identities from later runs of this user."""
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
    """Check again, remove, pass the outcomes of all hosts to `keep`, and return them.

    Prevents engines from resuming the run meanwhile. Raises BenchtuiError if an engine is running.
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


async def _plan_on(agent: Agent, created: Created) -> Cleaning:
    cleaning = judge(created, await stat_files(agent, created.paths))
    await _check_numbered(agent, created, cleaning)
    await _keep_replaced(agent, created, cleaning)
    await _doubt_absent(agent, created, cleaning)
    return cleaning


async def _keep_replaced(agent: Agent, created: Created, cleaning: Cleaning) -> None:
    """Mark paths as kept that are no longer the ones the run created."""
    answers = await made.unmake(agent, "look", _items(created, cleaning.goes), created.known)
    for path, word in answers.items():
        if why := why_kept(path, word):
            del cleaning.goes[path]
            cleaning.stays[path] = why


def _items(created: Created, goes: Mapping[str, int]) -> list[made.Item]:
    """Return the paths to remove with their observed sizes; the agent skips a file whose size
    changes.
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


async def _check_numbered(agent: Agent, created: Created, cleaning: Cleaning) -> None:
    """Check all files of paths that stand for many files, not only the first."""
    for path in created.paths:
        count = created.counts.get(path, 0)
        if FILE_NUMBER not in path or path in cleaning.stays or not count:
            continue
        size = created.sizes.get(path, 0)
        found = await count_numbered(agent, path, count, size)
        cleaning.goes.pop(path, None)
        cleaning.absent = [each for each in cleaning.absent if each != path]
        if found.full:
            why = (
                "is not a regular file"
                if size
                else "is not empty, but the run created an empty file"
            )
            cleaning.stays[path] = f"{found.full} {why}"
        elif found.there:
            cleaning.goes[path] = size * found.there
        else:
            cleaning.absent.append(path)


async def _doubt_absent(agent: Agent, created: Created, cleaning: Cleaning) -> None:
    """Keep missing paths in the record if their file system may not be mounted."""
    if not cleaning.absent:
        return
    missing = set(cleaning.absent)
    above = {path: _directory_above(path, missing) for path in cleaning.absent}
    parents = await stat_files(agent, sorted(set(above.values())))
    moved = await _other_mount(agent, created)
    for path, parent in above.items():
        info = parents[parent]
        if moved or info is None or info.kind != "directory":
            why = moved or f"{parent} does not exist"
            cleaning.stays[path] = f"not visible, and {why}: is its file system mounted?"
    cleaning.absent = [path for path in cleaning.absent if path not in cleaning.stays]


def _directory_above(path: str, missing: set[str]) -> str:
    """Return the nearest parent of a path that the run did not create."""
    parent = posixpath.dirname(path)
    while parent in missing:
        parent = posixpath.dirname(parent)
    return parent


async def _other_mount(agent: Agent, created: Created) -> str:
    """Return a message if the run's directory is now on another file system; else ""."""
    if not (created.target and created.mount):
        return ""
    now = (await read_room(agent, [created.target]))[created.target].mount
    if not now or now == created.mount:
        return ""
    over = now.startswith(f"{created.mount.rstrip('/')}/")
    return (
        f"a file system is now mounted at {now}"
        if over
        else f"nothing is mounted at {created.mount}"
    )


def judge(created: Created, infos: Mapping[str, FileInfo | None]) -> Cleaning:
    """Decide which paths to remove and which to keep, from the current state of each path.

    A directory is removed only if all of its contents are.
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
    """Return how a path differs from the file that the run created; empty if it does not."""
    size = created.sizes.get(path)
    if FILE_NUMBER in path and not created.counts.get(path):
        return "the plan does not say how many files there are"
    if size is None:
        return "" if info.kind in ("directory", "file") else f"it is now a {info.kind}"
    if info.kind != "file":
        return f"it is now a {info.kind}, not the file that the run created"
    largest = max(size, created.grown.get(path, 0))
    if size and (info.size > largest or (created.complete and info.size < size)):
        return f"its size differs: {sizes_text(info.size, size)}"
    return ""


def sizes_text(now: int, made: int) -> str:
    """Return the current and original size as text, exact if rounding would hide the difference."""
    if abs(now - made) < made / 100:
        return f"{units.exact(now)} B now, {units.exact(made)} B when created"
    return f"{units.size(now)} now, {units.size(made)} when created"


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
        count = f"{len(alive)} process{'' if len(alive) == 1 else 'es'}"
        return Cleaning(agent.host, error=f"{count} of this run still running: not cleaned")
    planned = await _plan_on(agent, created)
    whole = [
        path
        for path in planned.goes
        if is_own_directory(agent.run_id, path) and path not in created.sizes
    ]
    answers = {path: await made.unmake_tree(agent, "remove", path, created.known) for path in whole}
    rest = replace(created, paths=tuple(path for path in created.paths if path not in whole))
    cleaning = await remove_created(agent, rest)
    cleaning.goes |= {path: 0 for path in whole if not why_kept(path, answers[path])}
    cleaning.stays |= {path: why for path in whole if (why := why_kept(path, answers[path]))}
    return cleaning


async def remove_created(agent: Agent, created: Created) -> Cleaning:
    """Remove the paths that are unchanged since the run, and return the outcome for all paths.

    Raises HostError.
    """
    cleaning = await _plan_on(agent, created)
    items = {item.path: item for item in _items(created, cleaning.goes)}
    answers = await made.unmake(agent, "remove", list(items.values()), created.known)
    for path, word in answers.items():
        if why := why_kept(path, word):
            del cleaning.goes[path]
            full = word == made.STUCK and items[path].kind == "directory"
            cleaning.stays[path] = "not empty" if full else why
    return cleaning


def is_own_directory(run_id: str, path: str) -> bool:
    """Return whether a directory was created for this run alone, so that all of its contents are
    the run's.
    """
    return posixpath.basename(path) == f"benchtui-{run_id}"


class Leftover(Struct, frozen=True):
    """Processes and directories that one run left on one host.

    `mark` is the run's name for the host.
    """

    host: str
    run: str
    mark: str
    processes: tuple[MarkedProcess, ...]
    directories: tuple[TaskDir, ...]

    @property
    def live(self) -> bool:
        """Whether it has a supervisor; then it is not a leftover, and ends when its lease
        expires.
        """
        return any(directory.alive for directory in self.directories)

    def line(self) -> str:
        """Return the leftover as one line of text."""
        count = len(self.processes)
        parts = [f"{count} process{'es' if count > 1 else ''}" if count else "no process"]
        if self.directories:
            oldest = max(directory.age_s for directory in self.directories)
            size = sum(directory.bytes for directory in self.directories)
            state = "still running" if self.live else "ended"
            parts.append(f"{state}, {units.duration(oldest)} old, {units.size(size)}")
        commands = sorted({process.command.split(" ")[0] for process in self.processes})
        known_as = "" if self.mark == host_mark(self.host) else f" (as {self.mark})"
        return (
            f"{self.host}: run {self.run}{known_as}: "
            f"{', '.join(parts)} {' '.join(commands)}".rstrip()
        )


async def find_leftovers(
    addresses: Sequence[HostAddress], connections: Connections
) -> tuple[list[Leftover], list[HostError]]:
    """Return leftovers on all hosts, and the errors of hosts that did not answer."""
    found, errors = await fan_out(
        {address.name: _find(address, connections) for address in addresses}
    )
    return [leftover for each in found.values() for leftover in each], list(errors.values())


async def remove_leftovers(
    addresses: Sequence[HostAddress], leftovers: Iterable[Leftover], connections: Connections
) -> list[HostError]:
    """End the processes of leftovers by their mark, and remove their directories.

    Returns the errors of hosts where that failed.
    """
    of_host: dict[str, list[Leftover]] = {}
    for leftover in leftovers:
        of_host.setdefault(leftover.host, []).append(leftover)
    work = {
        each.name: _remove_leftovers(each, of_host[each.name], connections)
        for each in addresses
        if each.name in of_host
    }
    return list((await fan_out(work))[1].values())


async def _find(address: HostAddress, connections: Connections) -> list[Leftover]:
    async with agent_on(address, connections, "sweep") as agent:
        processes, directories = await agent.leftovers()
    keys = dict.fromkeys(
        [(p.run, p.host) for p in processes] + [(d.run, d.host) for d in directories]
    )
    return [
        Leftover(
            address.name,
            run,
            mark,
            tuple(p for p in processes if (p.run, p.host) == (run, mark)),
            tuple(d for d in directories if (d.run, d.host) == (run, mark)),
        )
        for run, mark in keys
    ]


async def _remove_leftovers(
    address: HostAddress, leftovers: Iterable[Leftover], connections: Connections
) -> None:
    errors: list[HostError] = []
    async with agent_on(address, connections, "sweep") as agent:
        for leftover in leftovers:
            try:
                await agent.end_leftovers(leftover.run, leftover.mark)
            except HostError as error:  # continue with the others of this host
                errors.append(error)
    if errors:
        raise errors[0]
