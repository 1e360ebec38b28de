"""Block devices of a host: kind, users, and signatures of their content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from tui.remote.agent import Agent, batches
from tui.remote.answers import AgentAnswer, DirFacts, as_int, in_bytes, parse_dir

SECTOR = 512
Sectors = Mapping[int, bytes]  # number of the first sector -> bytes from there on
ZFS_LABEL = 32  # sector of the pool's name-value list
HEAD = ((0, 20), (ZFS_LABEL, 16), (64, 2), (120, 16), (2048, 1))  # (first sector, count)


class Magic(Struct, frozen=True):
    """Bytes at an offset that identify a type of content."""

    type: str
    offset: int
    bytes: bytes


def _at(kind: str, magic: bytes, *offsets: int) -> tuple[Magic, ...]:
    return tuple(Magic(kind, offset, magic) for offset in offsets)


MAGICS = (
    *_at("ext4", b"\x53\xef", 0x438),
    *_at("xfs", b"XFSB", 0),
    *_at("btrfs", b"_BHRfS_M", 0x10040),
    *_at("f2fs", b"\x10\x20\xf5\xf2", 0x400),
    *_at("nilfs2", b"\x34\x34", 0x406),
    *_at("erofs", b"\xe2\xe1\xf5\xe0", 0x400),
    *_at("squashfs", b"hsqs", 0),
    *_at("gfs2", b"\x01\x16\x19\x70", 0x10000),
    *_at("ocfs2", b"OCFSV2", 0x400, 0x800, 0x1000, 0x2000),
    *_at("reiserfs", b"ReIsEr", 0x10034),
    *_at("jfs", b"JFS1", 0x8000),
    *_at("iso9660", b"CD001", 0x8001),
    *_at("ntfs", b"NTFS    ", 3),
    *_at("exfat", b"EXFAT   ", 3),
    *_at("vfat", b"FAT32   ", 0x52),
    *_at("vfat", b"FAT16   ", 0x36),
    *_at("vfat", b"FAT12   ", 0x36),
    *_at("swap", b"SWAPSPACE2", 0xFF6, 0xFFF6),
    *_at("swap", b"SWAP-SPACE", 0xFF6, 0xFFF6),
    *_at("LVM2_member", b"LABELONE", 0, 0x200, 0x400, 0x600),
    *_at("linux_raid_member", b"\xfc\x4e\x2b\xa9", 0, 0x1000),
    *_at("crypto_LUKS", b"LUKS\xba\xbe", 0),
    *_at("bcache", b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", 0x1018),
    *_at("bcachefs", b"\xc6\x85\x73\xf6\x66\xce\x90\xa9", 0x1018),
    *_at("ceph_bluestore", b"bluestore block device", 0),
    *_at("stratis", b"!Stra0tis", 0x204, 0x1204),
    *_at("vdo", b"dmvdo001", 0),
    *_at("oracleasm", b"ORCLDISK", 0x20),
    *_at("VMFS_volume_member", b"\x0d\xd0\x01\xc0", 0x100000),
    *_at("gpt", b"EFI PART", 0x200, 0x1000),
)


def windows(sectors: int) -> list[tuple[int, int]]:
    """Return the sectors to read on a device of this size, as (first, count).

    Includes its end, where RAID and GPT keep metadata.
    """
    tail = ((sectors & ~127) - 128, (sectors - 16) & ~7, sectors - 2)
    return [*HEAD, *((first, 2) for first in tail if first > 0)]


def signatures(found: Sectors, sectors: int) -> Iterator[tuple[str, int]]:
    """Yield (type, byte offset) of the signatures in these sectors."""
    for magic in MAGICS:
        if _holds(found, magic):
            yield magic.type, magic.offset
    if b"pool_guid" in found.get(ZFS_LABEL, b""):
        yield "zfs_member", ZFS_LABEL * SECTOR
    yield from _in_head(found.get(0, b""))
    yield from _at_the_end(found, sectors)


def _holds(found: Sectors, magic: Magic) -> bool:
    starts = ((magic.offset - first * SECTOR, data) for first, data in found.items())
    return any(start >= 0 and data[start:].startswith(magic.bytes) for start, data in starts)


def _in_head(head: bytes) -> Iterator[tuple[str, int]]:
    """Yield the signature if the head is an MBR: an entry in use, and valid boot flags in all
    four.
    """
    if head[510:512] != b"\x55\xaa":
        return
    entries = [head[start : start + 16] for start in range(446, 510, 16)]
    used = any(entry[4] and any(entry[8:16]) for entry in entries)
    if used and all(entry[0] in (0, 0x80) for entry in entries):
        yield "dos", 510


def _at_the_end(found: Sectors, sectors: int) -> Iterator[tuple[str, int]]:
    for first in ((sectors & ~127) - 128, (sectors - 16) & ~7):
        if found.get(first, b"").startswith(b"\xfc\x4e\x2b\xa9"):
            yield "linux_raid_member", first * SECTOR
    last = found.get(sectors - 2, b"")
    if last.startswith(b"Intel Raid ISM Cfg Sig."):
        yield "isw_raid_member", (sectors - 2) * SECTOR
    if last[SECTOR:].startswith(b"\xde\x11\xde\x11"):
        yield "ddf_raid_member", (sectors - 1) * SECTOR
    if last[SECTOR:].startswith(b"EFI PART"):
        yield "gpt", (sectors - 1) * SECTOR


Kind = Literal["mount", "swap", "holder", "ceph", "open", "loop", "claimed"]
Check = Literal["claimed", "open", "scan"]
CHECKS: tuple[Check, ...] = get_args(Check)  # of whether a device is in use
OCTAL = re.compile(r"\\([0-7]{3})")


class DeviceUse(Struct, frozen=True):
    """A use of a device.

    `member` is the kernel name of the part in use: the device, a partition, or the whole disk.
    """

    member: str
    kind: Kind
    detail: str = ""


class DeviceSignature(Struct, frozen=True):
    """A file system, volume manager or partition table on a device or on one of its partitions."""

    member: str
    type: str
    offset: str = ""


class UnreadPart(Struct, frozen=True):
    """A device or partition whose content no tool on the host could read.

    `sectors`: its size in sectors of 512 bytes.
    """

    member: str
    sectors: int
    path: str


class DeviceFacts(Struct, frozen=True):
    """Facts of a device; sizes in bytes. `kind` is empty if the path does not exist.

    `name` is the kernel's, `number` major:minor, `disk` the whole disk of a partition. `unread` are
    parts with unknown content. `unsure` lists failed checks of whether the device is in use.
    """

    path: str
    kind: Literal["", "block", "char", "other"] = ""
    real: str = ""
    name: str = ""
    number: str = ""
    disk: str = ""
    size_bytes: int | None = None
    logical_block_bytes: int | None = None
    model: str = ""
    serial: str = ""
    by_id: str = ""
    readable: bool = False
    writable: bool = False
    read_only: bool = False
    partitions: tuple[str, ...] = ()
    uses: tuple[DeviceUse, ...] = ()
    signatures: tuple[DeviceSignature, ...] = ()
    unread: tuple[UnreadPart, ...] = ()
    unsure: tuple[Check, ...] = ()


def parse_devices(answer: AgentAnswer, paths: Sequence[str]) -> dict[str, DeviceFacts]:
    """Parse the answer of `bt_devices`; return the facts of each path."""
    return {path: _device(answer, path, str(index)) for index, path in enumerate(paths)}


def _device(answer: AgentAnswer, path: str, index: str) -> DeviceFacts:
    def get(name: str) -> str:
        return answer.values.get(f"dev.{index}.{name}", "").strip()

    def rows(key: str) -> list[list[str]]:
        return [
            row[1:] for row in (text.split(" ", 3) for text in answer.all(key)) if row[0] == index
        ]

    kind = get("kind")
    sectors = as_int(get("sectors"))
    return DeviceFacts(
        path=path,
        kind=kind if kind in ("block", "char", "other") else "",  # type: ignore[arg-type]
        real=get("real"),
        name=get("name"),
        number=get("number"),
        disk=get("disk"),
        size_bytes=None if sectors is None else sectors * SECTOR,
        logical_block_bytes=as_int(get("logical_block")),
        model=get("model"),
        serial=get("serial"),
        by_id=get("by_id"),
        readable=bool(get("readable")),
        writable=bool(get("writable")),
        read_only=bool(get("read_only")),
        partitions=tuple(row[0] for row in rows("part")),
        uses=tuple(dict.fromkeys(_use(row) for row in rows("use"))),
        signatures=tuple(dict.fromkeys(DeviceSignature(*row[:3]) for row in rows("sig"))),
        unread=tuple(UnreadPart(row[0], as_int(row[1]) or 0, row[2]) for row in rows("unread")),
        unsure=tuple(each for row in rows("unsure") for each in CHECKS if row[0] == each),
    )


def _use(row: Sequence[str]) -> DeviceUse:
    detail = row[2].strip() if len(row) > 2 else ""
    return DeviceUse(row[0], row[1], OCTAL.sub(lambda match: chr(int(match[1], 8)), detail))  # type: ignore[arg-type]


def parse_peek(answer: AgentAnswer) -> dict[int, bytes]:
    """Parse the answer of `bt_peek`; return contents by first sector number, without unreadable
    sectors.
    """
    rows = (text.partition(" ") for text in answer.all("peek"))
    return {int(first): bytes.fromhex(data) for first, _, data in rows if data}


def with_peek(facts: DeviceFacts, part: UnreadPart, found: dict[int, bytes]) -> DeviceFacts:
    """Return facts with the signatures found in an unread part's sectors.

    Without its first sector, the part stays unread.
    """
    if not found.get(0):
        return facts
    seen = (
        DeviceSignature(part.member, kind, hex(offset))
        for kind, offset in signatures(found, part.sectors)
    )
    rest = tuple(each for each in facts.unread if each != part)
    return replace(facts, signatures=(*facts.signatures, *seen), unread=rest)


def parse_room(answer: AgentAnswer, directories: Sequence[str]) -> dict[str, DirFacts]:
    """Parse the file system and space of each directory or its nearest existing parent."""
    values = in_bytes(answer.values)
    return {
        path: parse_dir(path, values, f"dir.{index}.") for index, path in enumerate(directories)
    }


async def read_devices(agent: Agent, paths: Sequence[str]) -> dict[str, DeviceFacts]:
    """Return each path's facts as a device: its uses and the signatures on it. Raises HostError."""
    found = parse_devices(await agent.call("devices", *paths), paths)
    return {path: await _peeked(agent, facts) for path, facts in found.items()}


async def _peeked(agent: Agent, facts: DeviceFacts) -> DeviceFacts:
    for part in facts.unread:
        words = [str(number) for window in windows(part.sectors) for number in window]
        answer = await agent.call("peek", part.path, *words)
        facts = with_peek(facts, part, parse_peek(answer))
    return facts


async def read_room(agent: Agent, directories: Sequence[str]) -> dict[str, DirFacts]:
    """Return file system and free space of each directory or its nearest existing parent.

    Raises HostError.
    """
    found: dict[str, DirFacts] = {}
    for _, part in batches(directories):
        found.update(parse_room(await agent.call("room", *part), part))
    return found
