"""Files on a host: metadata, content, page cache; copying programs to the host.

All functions raise HostError.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tui.model.operands import clause
from tui.model.plan import FILE_NUMBER
from tui.remote.agent import Agent, batches
from tui.remote.answers import (
    BlockSample,
    CacheDrop,
    FileExtents,
    FileInfo,
    parse_content,
    parse_extents,
    parse_files,
)
from tui.remote.transport import HostError

# `sync` writes all dirty pages, which may be most of the memory
SYNC_TIMEOUT_S = 600.0
# characters of a program per call; a multiple of 4, so that each chunk is whole base64
PIECE = 512 << 10


class NumberedFiles(Struct, frozen=True):
    """Existing numbered files.

    `there`: their count. `first`: one of them. `full`: one that is not a regular file, or has
    content although its size should be 0. Names are empty if there is none.
    """

    there: int
    first: str
    full: str


async def stat_files(agent: Agent, paths: Sequence[str]) -> dict[str, FileInfo | None]:
    """Return size, allocation and kind of each path; None if the path does not exist.

    A path with FILE_NUMBER stands for its first file.
    """
    found: dict[str, FileInfo | None] = {}
    for _, part in batches([path.replace(FILE_NUMBER, "0") for path in paths]):
        found.update(parse_files(part, await agent.call("files", *part), agent.host))
    return {path: found[path.replace(FILE_NUMBER, "0")] for path in paths}


async def count_numbered(agent: Agent, path: str, count: int, size: int = 0) -> NumberedFiles:
    """Return how many of `count` numbered files exist, with an example.

    `path` contains FILE_NUMBER. `size`: 0 if the files should be empty.
    """
    prefix, _, suffix = path.partition(FILE_NUMBER)
    words = (prefix, suffix, str(count), str(size))
    values = (await agent.call("numbered", *words, timeout_s=SYNC_TIMEOUT_S)).values
    return NumberedFiles(int(values["left"]), values.get("first", ""), values.get("full", ""))


async def read_extents(agent: Agent, paths: Sequence[str]) -> tuple[dict[str, FileExtents], str]:
    """Return the extents of each file, and the reason for files whose extents are unknown."""
    return parse_extents(await agent.call("extents", *paths), paths)


async def read_blocks(agent: Agent, blocks: Sequence[tuple[str, int]]) -> BlockSample:
    """Return how many of these 4 KiB blocks are zero or distinct, and how well they compress.

    `blocks`: (path, block number).
    """
    words = [word for path, number in blocks for word in (path, str(number))]
    return parse_content(await agent.call("sample", *words))


async def drop_page_cache(agent: Agent, paths: Sequence[str] = ()) -> CacheDrop:
    """Drop the host's page cache as root or through sudo; failing that, drop only the cached pages
    of `paths`.
    """
    values = (await agent.call("drop_caches", timeout_s=SYNC_TIMEOUT_S)).values
    dropped = CacheDrop(
        values.get("method", "none"), bool(values.get("ok")), values.get("detail", "")
    )
    return dropped if dropped.ok or not paths else await _drop_files(agent, paths, dropped.detail)


async def _drop_files(agent: Agent, paths: Sequence[str], why: str) -> CacheDrop:
    """Drop the cached pages of single files (posix_fadvise through dd), which needs no
    privileges.
    """
    forgotten = 0
    for _, part in batches(paths):
        values = (await agent.call("forget", *part, timeout_s=SYNC_TIMEOUT_S)).values
        if failed := values.get("failed"):
            return CacheDrop("files", False, f"{why}; {failed}")
        forgotten += int(values.get("forgotten") or 0)
    if not forgotten:
        return CacheDrop("files", False, f"{why}; no test file exists either")
    plural = "" if forgotten == 1 else "s"
    return CacheDrop("files", True, f"only that of {forgotten} test file{plural}: {why}")


async def copy_program(agent: Agent, name: str, packed: str, sha256: str) -> str:
    """Copy a program (base64-encoded gzip) to the host unless it is already there; return its path.

    Raises HostError.
    """
    where = (agent.run_id, agent.mark, name)
    if path := await _copied(agent, name, sha256):
        return path
    for at in range(0, len(packed), PIECE):
        await agent.call("carry", *where, str(int(at == 0)), packed[at : at + PIECE])
    if path := await _copied(agent, name, sha256):
        return path
    raise HostError("carry-failed", agent.host, clause("bad-checksum", name=name))


async def _copied(agent: Agent, name: str, sha256: str) -> str:
    answer = await agent.call("carried", agent.run_id, agent.mark, name, sha256)
    return answer.values.get("path", "")
