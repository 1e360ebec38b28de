"""Which files must be written before they can be measured, and why. Pure."""

from __future__ import annotations

from msgspec import Struct

from tui.model.plan import FileSpec, HostTask
from tui.remote.agent import FileInfo


class FileNeed(Struct, frozen=True):
    """A file that must be written before it can be measured, and why."""

    spec: FileSpec
    why: str  # missing, short, holes


def file_need(spec: FileSpec, info: FileInfo | None) -> FileNeed | None:
    """Return why a file must be laid out, or None when it is there whole.

    A file of the right size is not enough: an interrupted layout, or a truncate, leaves holes that read as zeros
    without touching storage. Fewer allocated bytes than the size has means holes.
    """
    if info is None:
        return FileNeed(spec, "missing")
    if info.size < spec.size_bytes:
        return FileNeed(spec, "short")
    return FileNeed(spec, "holes") if info.allocated < spec.size_bytes else None


def needs_of(task: HostTask, found: dict[str, FileInfo | None]) -> list[FileNeed]:
    """Return the files of a task that must be written first."""
    needs = (file_need(spec, found.get(spec.path)) for spec in task.files)
    return [need for need in needs if need is not None]
