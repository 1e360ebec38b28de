"""What a block device of a host is, who uses it, and what it holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tui.remote.answers import Answer
from tui.remote.probe import DirFacts, as_int, in_bytes, parse_dir
from tui.remote.signatures import SECTOR, signatures

Kind = Literal["mount", "swap", "holder", "ceph", "open", "loop", "claimed"]
VOLUME_MANAGERS = (("LVM-", "LVM"), ("mpath-", "multipath"), ("CRYPT-", "dm-crypt"), ("DMRAID-", "RAID"))
UNSURE = {
    "claimed": "whether the kernel would open it exclusively could not be checked (no perl or python3 that can)",
    "open": "whether a process of somebody else holds it open could not be checked (not root)",
    "scan": "whether a process holds it open could not be checked (no find that can, or it took too long)",
}
OCTAL = re.compile(r"\\([0-7]{3})")


class DeviceUse(Struct, frozen=True):
    """Who uses a device. `member` is the kernel name of the device itself, of a partition, or of the whole disk."""

    member: str
    kind: Kind
    detail: str = ""

    @property
    def text(self) -> str:
        """Return it for people."""
        match self.kind:
            case "mount":
                where = self.detail if self.detail.startswith("in ") else f"at {self.detail}"
                return f"{self.member} is mounted {where}"
            case "swap":
                return f"{self.member} is swap"
            case "ceph":
                return f"{self.member} belongs to a Ceph OSD ({self.detail})"
            case "holder":
                return f"{self.member} is part of {holder_text(self.detail)}"
            case "loop":
                return f"{self.member} is the backing store of {self.detail}"
            case "open":
                pid, _, command = self.detail.partition(" ")
                return f"{self.member} is held open by process {pid}" + (f" ({command})" if command else "")
        return f"{self.member} is in use: the kernel does not open it exclusively"


class DeviceSignature(Struct, frozen=True):
    """A file system, volume manager or partition table that is on a device or on one of its partitions."""

    member: str
    type: str
    offset: str = ""


class UnreadPart(Struct, frozen=True):
    """A device or partition whose contents no tool on the host has looked at; sectors of 512 bytes."""

    member: str
    sectors: int
    path: str


class DeviceFacts(Struct, frozen=True):
    """A device as it was found. `kind` is empty when nothing is there; sizes are bytes.

    `name` is the kernel's, `number` major:minor, `disk` the whole disk that a partition lies on. `unread` are parts
    whose contents could not be looked at. `unsure` says which checks of its use could not be made.
    """

    path: str
    kind: Literal["", "block", "char", "other"] = ""
    real: str = ""
    name: str = ""
    number: str = ""
    disk: str = ""
    size_bytes: int | None = None
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
    unsure: tuple[str, ...] = ()


def holder_text(detail: str) -> str:
    """Return what holds a device: ``dm-3 LVM-... vg-lv`` is "LVM vg-lv (dm-3)", ``md0`` is "RAID md0"."""
    name, *words = detail.split()
    if name.startswith("md"):
        return f"RAID {name}"
    uuid, dm_name = (words[0], words[-1]) if len(words) > 1 else ("", words[0] if words else "")
    manager = next((text for start, text in VOLUME_MANAGERS if uuid.startswith(start)), "")
    return " ".join(part for part in (manager, dm_name, f"({name})" if dm_name else name) if part)


def parse_devices(answer: Answer, paths: Sequence[str]) -> dict[str, DeviceFacts]:
    """Return what `bt_devices` said of each path."""
    return {path: _device(answer, path, str(index)) for index, path in enumerate(paths)}


def _device(answer: Answer, path: str, index: str) -> DeviceFacts:
    def get(name: str) -> str:
        return answer.values.get(f"dev.{index}.{name}", "").strip()

    def rows(key: str) -> list[list[str]]:
        return [row[1:] for row in (text.split(" ", 3) for text in answer.all(key)) if row[0] == index]

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
        unsure=tuple(UNSURE[row[0]] for row in rows("unsure") if row[0] in UNSURE),
    )


def _use(row: Sequence[str]) -> DeviceUse:
    detail = row[2].strip() if len(row) > 2 else ""
    return DeviceUse(row[0], row[1], OCTAL.sub(lambda match: chr(int(match[1], 8)), detail))  # type: ignore[arg-type]


def parse_peek(answer: Answer) -> dict[int, bytes]:
    """Return the sectors that `bt_peek` read, by the number of the first; what could not be read is missing."""
    rows = (text.partition(" ") for text in answer.all("peek"))
    return {int(first): bytes.fromhex(data) for first, _, data in rows if data}


def with_peek(facts: DeviceFacts, part: UnreadPart, found: dict[int, bytes]) -> DeviceFacts:
    """Return the facts with what the sectors of an unread part say; it stays unread when there are none."""
    if not found.get(0):
        return facts
    seen = (DeviceSignature(part.member, kind, hex(offset)) for kind, offset in signatures(found, part.sectors))
    rest = tuple(each for each in facts.unread if each != part)
    return replace(facts, signatures=(*facts.signatures, *seen), unread=rest)


def parse_room(answer: Answer, directories: Sequence[str]) -> dict[str, DirFacts]:
    """Return file system and room of each directory, or of what there is above it."""
    values = in_bytes(answer.values)
    return {path: parse_dir(path, values, f"dir.{index}.") for index, path in enumerate(directories)}
