"""What the agent's probe found on a host."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from tui.model.hostfacts import Fact, boot_of, is_number

UNITS = {"_kib": 1024, "_sectors": 512}  # the agent prints sizes as it reads them: not every sh counts beyond 2^31
VERSION = re.compile(r"(?<!\d)(\d{1,9})\.(\d{1,9})")
COUNT = re.compile(r"[0-9]{1,18}")


class ToolFacts(Struct, frozen=True):
    """A command on a host; `version` None when its answer holds none."""

    path: str
    text: str
    version: tuple[int, int] | None


class DirFacts(Struct, frozen=True):
    """A target directory. Sizes are bytes, None when unknown."""

    path: str
    exists: bool = False
    is_dir: bool = False
    is_block: bool = False
    writable: bool = False
    fstype: str = ""
    source: str = ""
    mount: str = ""
    mount_options: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None
    used_bytes: int | None = None  # with free_bytes less than the whole: some of it may be reserved
    in_use: str = ""  # a device: where it, or a partition of it, is mounted, or "swap"

    @property
    def full(self) -> float | None:
        """How full it is, 0 to 1, as df has it: room that is reserved is neither used nor free."""
        if self.used_bytes is None or self.free_bytes is None or self.used_bytes + self.free_bytes <= 0:
            return None
        return round(self.used_bytes / (self.used_bytes + self.free_bytes), 4)


class HostProbe(Struct, frozen=True):
    """Everything that one probe found."""

    values: Mapping[str, Fact]
    tools: Mapping[str, ToolFacts]
    dirs: Mapping[str, DirFacts] = field(default_factory=dict)

    @property
    def boot_id(self) -> str:
        """The id of the host's present boot: equal on two hosts only when they are one machine; empty: unknown."""
        return boot_of(self.values)

    @property
    def user(self) -> str:
        """The user that we are on the host."""
        return str(self.values.get("user") or self.values.get("uid") or "?")

    def facts(self) -> dict[str, Fact]:
        """Return all facts as one flat mapping, for the journal and the record."""
        found = dict(self.values)
        for facts in self.dirs.values():
            found.update(
                target=facts.path,
                target_fstype=facts.fstype,
                target_source=facts.source,
                target_mount=facts.mount,
                target_mount_options=facts.mount_options,
                target_total_bytes=facts.total_bytes,
                target_free_bytes=facts.free_bytes,
                target_full=facts.full,
            )
        return {name: value for name, value in found.items() if value not in ("", None)}


def parse_probe(answer: Mapping[str, str], directories: Sequence[str], commands: Sequence[str] = ()) -> HostProbe:
    """Return the probe of an agent's answer about these directories and commands, in this order."""
    answer = in_bytes(answer)
    values: dict[str, Fact] = {
        name: as_int(value) if is_number(name) else value
        for name, value in answer.items()
        if not name.startswith(("dir.", "command."))
    }
    tools: dict[str, ToolFacts] = {}
    for index, command in enumerate(commands):
        if path := answer.get(f"command.{index}.path"):
            text = answer.get(f"command.{index}.version", "").strip()
            tools[command] = ToolFacts(path, text, version_of(text))
            name = posixpath.basename(command)
            values |= {f"{name}_path": path, f"{name}_version": text}
    dirs = {path: parse_dir(path, answer, f"dir.{index}.") for index, path in enumerate(directories)}
    return HostProbe(values, tools, dirs)


def in_bytes(answer: Mapping[str, str]) -> dict[str, str]:
    """Return an answer whose sizes are bytes, and named so."""
    found = dict(answer)
    for suffix, unit in UNITS.items():
        for name in [name for name in found if name.endswith(suffix)]:
            size = as_int(found.pop(name))
            found[name.removesuffix(suffix) + "_bytes"] = "" if size is None else str(size * unit)
    return found


def parse_dir(path: str, answer: Mapping[str, str], prefix: str) -> DirFacts:
    """Return what was found of one directory."""

    def get(name: str) -> str:
        return answer.get(prefix + name, "")

    return DirFacts(
        path=path,
        exists=bool(get("exists")),
        is_dir=bool(get("is_directory")),
        is_block=bool(get("is_block")),
        writable=bool(get("writable")),
        fstype=get("fstype"),
        source=get("source"),
        mount=get("mount_point"),
        mount_options=get("mount_options"),
        total_bytes=as_int(get("total_bytes")),
        free_bytes=as_int(get("free_bytes")),
        used_bytes=as_int(get("used_bytes")),
        in_use=get("mounted"),
    )


def version_of(text: str) -> tuple[int, int] | None:
    """Return (major, minor) of such as ``tool-3.33`` or ``tool-3.42-135-gf5344384``."""
    match = VERSION.search(text)
    return (int(match[1]), int(match[2])) if match else None


def as_int(text: str) -> int | None:
    """Return a whole number that 64 bits hold, None for anything else."""
    return int(text) if COUNT.fullmatch(text.strip()) else None
