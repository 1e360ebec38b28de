"""Signatures of file systems, volume managers and partition tables, read from a few sectors of a device.

For hosts that have neither wipefs nor blkid. Offsets and magic bytes are those of util-linux, libblkid/src.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

SECTOR = 512
Sectors = Mapping[int, bytes]  # number of the first sector -> bytes from there on
ZFS_LABEL = 32  # sector of the pool's name-value list
HEAD = ((0, 20), (ZFS_LABEL, 16), (64, 2), (120, 16), (2048, 1))  # (first sector, count)


class Magic(Struct, frozen=True):
    """Bytes that stand at an offset of whatever is of this type."""

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
    """Return the sectors to read of a device of this size, as (first, count); RAID and GPT are at its end as well."""
    tail = ((sectors & ~127) - 128, (sectors - 16) & ~7, sectors - 2)
    return [*HEAD, *((first, 2) for first in tail if first > 0)]


def signatures(found: Sectors, sectors: int) -> Iterator[tuple[str, int]]:
    """Yield (type, byte offset) of what these sectors of a device hold."""
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
    """An MBR counts when one of its four entries is in use and all have a possible boot flag."""
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
