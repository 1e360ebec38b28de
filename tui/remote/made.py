"""Identify files that a run created on a host, and remove them if unchanged (sh/made.sh)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from tui.model.plan import FILE_NUMBER, DirectoryIdentity, Identities
from tui.remote.agent import PATHS_AT_ONCE, Agent, batches, with_parents
from tui.remote.answers import AgentAnswer, AgentError

How = Literal["look", "remove"]
TreeHow = Literal["look", "empty", "remove", "share"]
REMOVE_TIMEOUT_S = 3600.0
NUMBERED_TIMEOUT_S = 600.0
AS_MADE, REMOVED, ABSENT, STUCK = "as-made", "removed", "absent", "stuck"
UNKNOWN = "unknown"


class Item(Struct, frozen=True):
    """A path to check or remove.

    `size`: required file size, None for any. `count`: number of numbered files.
    """

    path: str
    kind: Literal["file", "directory"]
    size: int | None = None
    count: int = 0


async def make_directories(agent: Agent, paths: Sequence[str]) -> list[str]:
    """Create directories and missing parents; return the new ones, parents first.

    If one fails, the others created by this call are removed again. Raises HostError.
    """
    wanted = with_parents(paths)
    created: list[str] = []
    for start, part in batches(wanted):
        try:
            answer = await agent.call("mkdirs", str(start), *part)
        except AgentError as error:
            created += [wanted[int(index)] for index in error.answer.all("created")]
            items = [Item(path, "directory") for path in created]
            await unmake(agent, "remove", items, await identify(agent, created))
            raise
        created += [wanted[int(index)] for index in answer.all("created")]
    return created


async def places(agent: Agent, directories: Sequence[str]) -> dict[str, DirectoryIdentity]:
    """Return the identities of existing directories. Raises HostError."""
    found: dict[str, DirectoryIdentity] = {}
    for _, part in batches(directories):
        for index, words in _words(await agent.call("places", *part)).items():
            real, _, mark = words.partition(" ")
            found[part[index]] = DirectoryIdentity(_path(real), mark)
    return found


def _path(hexadecimal: str) -> str:
    return bytes.fromhex(hexadecimal).removesuffix(b"\n").decode(errors="surrogateescape")


async def identify(
    agent: Agent, paths: Sequence[str], counts: Mapping[str, int] | None = None
) -> Identities:
    """Return the identities of existing paths and of their directories. Raises HostError.

    `counts`: number of files of a path with FILE_NUMBER; without it, the path is left out.
    """
    found = Identities()
    for directory, names in by_directory(path for path in paths if FILE_NUMBER not in path):
        for _, part in batches(names):
            answer = await agent.call("identify", directory, *map(word, part))
            paths_here = [posixpath.join(directory, name) for name in part]
            _add_identities(found, directory, paths_here, answer)
    for path in paths:
        if FILE_NUMBER in path and (count := (counts or {}).get(path)):
            directory, prefix, suffix = numbered_parts(path)
            words = (directory, prefix, suffix, str(count))
            answer = await agent.call("identify_numbered", *words, timeout_s=NUMBERED_TIMEOUT_S)
            _add_identities(found, directory, [path], answer)
    return found


def _add_identities(
    found: Identities, directory: str, paths: Sequence[str], answer: AgentAnswer
) -> None:
    real = _path(answer.values.get("real", ""))
    if not real:
        return
    found.directories[directory] = DirectoryIdentity(real, answer.values.get("place", ""))
    for line in answer.all("at"):
        index, _, identity = line.partition(" ")
        if index.isdigit() and int(index) < len(paths) and identity != "-":
            found.files[paths[int(index)]] = identity


async def unmake(
    agent: Agent, how: How, items: Sequence[Item], known: Identities
) -> dict[str, str]:
    """Check or remove created paths; return for each path `as-made`, `removed`, `absent`, or the
    reason why it was kept.

    Files first, then empty directories, deepest first. Nothing is removed unless identity and place
    match the record. Raises HostError.
    """
    outcomes = {item.path: UNKNOWN for item in items}
    recorded = [
        item
        for item in items
        if item.path in known.files and posixpath.dirname(item.path) in known.directories
    ]
    for (_, kind, directory), group in groupby(sorted(recorded, key=_order), key=_order):
        outcomes |= await _unmake_in(agent, how, kind, directory, list(group), known)
    return outcomes


def _order(item: Item) -> tuple[int, str, str]:
    """Return the sort key for removal: files first, then directories, deepest first."""
    depth = -item.path.count("/") if item.kind == "directory" else -1_000_000
    return (
        depth,
        "numbered" if FILE_NUMBER in item.path else item.kind,
        posixpath.dirname(item.path),
    )


async def _unmake_in(
    agent: Agent,
    how: How,
    kind: str,
    directory: str,
    items: list[Item],
    known: Identities,
) -> dict[str, str]:
    outcomes: dict[str, str] = {}
    place = words_of(directory, known.directories[directory])
    if kind == "numbered":
        for item in items:
            _, prefix, suffix = numbered_parts(item.path)
            words = (how, *place, known.files[item.path], prefix, suffix, str(item.count))
            answer = await agent.call("unmake_numbered", *words, timeout_s=NUMBERED_TIMEOUT_S)
            outcomes[item.path] = _words(answer).get(0, STUCK)
        return outcomes
    for start in range(0, len(items), PATHS_AT_ONCE):
        part = items[start : start + PATHS_AT_ONCE]
        expected = "\n".join(expected_of(item, known) for item in part)
        names = [word(posixpath.basename(item.path)) for item in part]
        found = _words(await agent.call("unmake", how, kind, *place, expected, *names))
        outcomes.update({item.path: found.get(index, STUCK) for index, item in enumerate(part)})
    return outcomes


async def unmake_tree(
    agent: Agent, how: TreeHow, path: str, known: Identities, share: tuple[int, int] = (0, 1)
) -> str:
    """Check or remove a directory named after the run: all of it, its empty parts, or one host's
    share.

    Returns the outcome as `unmake` does. `share`: index and number of hosts. Raises HostError.
    """
    directory, name = posixpath.split(path)
    if path not in known.files or directory not in known.directories:
        return UNKNOWN
    place = words_of(directory, known.directories[directory])
    words = (how, *place, expected_of(Item(path, "directory"), known), word(name), *map(str, share))
    return _words(await agent.call("unmake_tree", *words, timeout_s=REMOVE_TIMEOUT_S)).get(0, STUCK)


def by_directory(paths: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Group paths into (directory, file names)."""
    found: dict[str, list[str]] = {}
    for path in paths:
        directory, name = posixpath.split(path)
        found.setdefault(directory, []).append(name)
    return list(found.items())


def numbered_parts(path: str) -> tuple[str, str, str]:
    """Return the directory, and the parts of the file name before and after the number."""
    directory, name = posixpath.split(path)
    prefix, _, suffix = name.partition(FILE_NUMBER)
    return directory, prefix, suffix


def expected_of(item: Item, known: Identities) -> str:
    """Return the line with which `bt_is_it` compares a path: size, inode, stamp."""
    return f"{'-' if item.size is None else item.size} {known.files[item.path]}"


def words_of(directory: str, place: DirectoryIdentity) -> tuple[str, str, str]:
    """Return the arguments of `bt_stand_in` for a directory with its recorded identity."""
    return directory, f"{place.real}\n".encode(errors="surrogateescape").hex(), place.mark


def word(name: str) -> str:
    """Return a name as ./NAME, so that a leading dash does not make it an option."""
    return f"./{name}"


def _words(answer: AgentAnswer) -> dict[int, str]:
    found = (line.partition(" ") for line in answer.all("at"))
    return {int(index): words for index, _, words in found if index.isdigit()}
