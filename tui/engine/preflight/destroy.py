"""Find data that a run would overwrite: devices in use or with data, foreign files, files to lay
out.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from tui.engine.preflight.made_files import Files
from tui.model.operands import Clause, Told, clause
from tui.model.plan import HARMLESS, FileSpec, HostTask, Plan, is_device, written_devices
from tui.remote.answers import DirFacts, FileInfo, HostProbe
from tui.remote.devices import DeviceFacts

Problem = tuple[str, Told]  # stable code and message


class HostFindings(Struct):
    """Findings of the checks on one host.

    `files` are the plan's files by path; None for a missing file.
    """

    probe: HostProbe
    files: dict[str, FileInfo | None] = field(default_factory=dict)
    devices: dict[str, DeviceFacts] = field(default_factory=dict)
    # by directory, which may not exist yet
    room: dict[str, DirFacts] = field(default_factory=dict)
    ours: frozenset[str] = frozenset()  # files created by this user's runs
    # errors of commands in a trial
    trials: dict[str, str] = field(default_factory=dict)
    # targets outside the host that do not answer
    unreached: list[Problem] = field(default_factory=list)

    def room_of(self, path: str) -> DirFacts | None:
        """Return the file system of a file, which need not exist; None if it was not checked."""
        for directory in parents(path):
            facts = self.room.get(directory) or self.probe.dirs.get(directory)
            if facts is not None:
                return facts
        return None

    def logical_block_of(self, path: str) -> int | None:
        """Return the logical block size under a file, directory or device; None without one, or if
        unknown.
        """
        facts = self.devices.get(path) or self.room_of(posixpath.join(path, "file"))
        return facts.logical_block_bytes if facts is not None else None


def parents(path: str) -> Iterator[str]:
    """Yield the parent directories of a path, the nearest first."""
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        yield path


def tasks_of(plan: Plan, host: str) -> list[HostTask]:
    """Return a host's tasks in all steps."""
    return [task for step in plan.steps for task in step.tasks if task.host == host]


def sizes_of(plan: Plan, host: str) -> dict[str, int]:
    """Return the largest planned size of each file on a host, by path."""
    sizes: dict[str, int] = {}
    for task in tasks_of(plan, host):
        for spec in task.files:
            sizes[spec.path] = max(spec.size_bytes, sizes.get(spec.path, 0))
    return sizes


class FileNeed(Struct, frozen=True):
    """A file that must be laid out before the measurement, with the reason."""

    spec: FileSpec
    why: str  # missing, short, holes


def file_need(spec: FileSpec, info: FileInfo | None) -> FileNeed | None:
    """Return why a file must be laid out, or None if it is complete.

    The right size is not enough: an interrupted layout, or a truncate, leaves holes that read as
    zeros without storage I/O. Fewer allocated bytes than the size mean holes.
    """
    if info is None:
        return FileNeed(spec, "missing")
    if info.size < spec.size_bytes:
        return FileNeed(spec, "short")
    return FileNeed(spec, "holes") if info.allocated < spec.size_bytes else None


def needs_of(task: HostTask, found: dict[str, FileInfo | None]) -> list[FileNeed]:
    """Return the files of a task that must be laid out first."""
    needs = (file_need(spec, found.get(spec.path)) for spec in task.files)
    return [need for need in needs if need is not None]


NAMES_SHOWN = 3


def devices_of(tasks: Iterable[HostTask], files: Mapping[str, FileInfo | None]) -> list[str]:
    """Return the paths that are devices, by their names or by what the host has at these paths."""
    paths = dict.fromkeys(spec.path for task in tasks for spec in task.files)
    return [
        path for path in paths if is_device(path) or kind_of(files.get(path)) in ("block", "char")
    ]


def unnamed_devices(plan: Plan) -> list[str]:
    """Return the devices that the plan writes to and the user has not confirmed."""
    return [path for path in written_devices(plan) if path not in plan.destroy]


def kind_of(info: FileInfo | None) -> str:
    """Return the kind of file at a path; empty if the path does not exist."""
    return info.kind if info is not None else ""


def judge_targets(plan: Plan, host: str, findings: HostFindings) -> Iterator[Problem]:
    """Yield reasons not to write to the devices and files of a host."""
    touched = overwritten(tasks_of(plan, host), findings.files)
    for path, facts in findings.devices.items():
        if plan.allow_device and path in touched:
            yield from judge_device(facts, plan.destroy)
    for image in dict.fromkeys(image for task in tasks_of(plan, host) for image in task.images):
        if image not in plan.destroy:
            yield "destroy-not-confirmed", clause("image-overwritten", image=image)
    for store in dict.fromkeys(
        store for task in tasks_of(plan, host) for store in task.stores_changed
    ):
        if store not in plan.destroy:
            yield "destroy-not-confirmed", clause("objects-overwritten", store=store)
    foreign = foreign_files(touched, findings)
    unnamed = [path for path in foreign if not is_named(path, plan.destroy)]
    if unnamed:
        yield "destroy-not-confirmed", not_confirmed(unnamed)


def judge_again(
    before: DeviceFacts | None, now: DeviceFacts, *, written: bool
) -> Iterator[Problem]:
    """Yield reasons not to use a device any more: it is gone or replaced, or `written` and in use.

    Does not check its content again, because earlier steps may have written it.
    """
    if not now.kind:
        yield "device-missing", clause("device-gone", path=now.path)
    elif now.kind == "other":
        yield from refusals(now)
    elif before is not None and is_another(before, now):
        was, is_now = identity(before), identity(now)
        yield "device-changed", clause("device-changed", path=now.path, before=was, now=is_now)
    elif written and now.uses:
        yield from refusals(now)


def is_another(before: DeviceFacts, now: DeviceFacts) -> bool:
    """Return whether a path now leads to a different device.

    Compares device numbers, and serial and size where known.
    """
    known = [(before.serial, now.serial), (before.size_bytes, now.size_bytes)]
    return before.number != now.number or any(was and is_ and was != is_ for was, is_ in known)


def judge_device(facts: DeviceFacts, named: Sequence[str]) -> Iterator[Problem]:
    """Yield reasons not to write to a device.

    A missing confirmation is reported only if nothing else is wrong.
    """
    if not facts.kind or facts.real in HARMLESS:
        return
    problems = list(refusals(facts))
    if not problems and facts.path not in named:
        told = clause("device-overwritten", path=facts.path, device=identity(facts))
        problems = [("destroy-not-confirmed", told)]
    yield from problems


def refusals(facts: DeviceFacts) -> Iterator[Problem]:
    """Yield the reasons to refuse a device; no option overrides them."""
    path = facts.path
    if facts.kind == "other":
        yield "target-not-a-device", clause("target-not-a-device", path=path)
    elif not facts.name:
        yield "device-unknown", clause("device-unknown", path=path)
    elif facts.uses:
        mounted = any(use.kind == "mount" for use in facts.uses)
        code = "device-mounted" if mounted else "device-in-use"
        yield code, clause("device-in-use", path=path, uses=uses_of(facts))
    elif facts.signatures:
        found = [*dict.fromkeys((each.member, each.type) for each in facts.signatures)]
        inner_first = sorted({member for member, _ in found}, reverse=True)
        told = clause(
            "device-with-data", path=path, name=facts.name, contents=found, members=inner_first
        )
        yield "device-has-filesystem", told
    elif facts.unread:
        parts = [part.path for part in facts.unread]
        yield "device-unreadable", clause("device-unreadable", path=path, parts=parts)
    elif facts.read_only:
        yield "device-read-only", clause("device-read-only", path=path)
    elif not facts.writable:
        yield "device-not-writable", clause("device-not-writable", path=path)


def uses_of(facts: DeviceFacts) -> list[Clause]:
    """Return the uses of a device as messages."""
    return [
        clause("device-use", member=use.member, kind=use.kind, detail=use.detail)
        for use in facts.uses
    ]


def identity(facts: DeviceFacts) -> Clause:
    """Return the identity of a device: size, model, serial, number, stable name."""
    return clause(
        "device-identity",
        size_bytes=facts.size_bytes,
        model=facts.model,
        serial=facts.serial,
        number=facts.number,
        by_id=facts.by_id.split(" ")[0],
    )


def all_of(facts: DeviceFacts) -> Clause:
    """Return all facts of a device, as one message."""
    path: Clause | str = facts.path
    if not facts.kind:
        return clause("device-absent", path=path)
    if facts.real not in ("", facts.path):
        path = clause("linked-path", path=facts.path, real=facts.real)
    state = uses_of(facts)
    state += [clause("content-on", kind=each.type, member=each.member) for each in facts.signatures]
    state += [clause("partitions", count=len(facts.partitions))] if facts.partitions else []
    blind = facts.unread or not facts.name
    state = state or [clause("contents-unknown" if blind else "not-in-use")]
    state += [clause("cannot-check", what=what) for what in facts.unsure]
    return clause("device-found", path=path, device=identity(facts), state=state)


def overwritten(tasks: Iterable[HostTask], files: Mapping[str, FileInfo | None]) -> list[str]:
    """Return the files and devices that measurements on a host write to, including layout."""
    touched: dict[str, None] = {}
    for task in tasks:
        touched.update(dict.fromkeys(spec.path for spec in task.written))
        touched.update(dict.fromkeys(laid_out(task, files)))
    return list(touched)


def laid_out(task: HostTask, files: Mapping[str, FileInfo | None]) -> list[str]:
    """Return the files written before a task is measured, by benchtui's layout or by fio.

    fio unlinks or truncates a regular file that is shorter than its job's size, and writes it
    again, whatever `rw` says (fio filesetup.c, extend_file). Jobs that only create, stat or remove
    files do not.
    """
    needs = [need for need in needs_of(task, dict(files)) if not is_device(need.spec.path)]
    if task.layout:
        return [need.spec.path for need in needs]
    plain = [need for need in needs if kind_of(files.get(need.spec.path)) in ("", "file")]
    return [need.spec.path for need in plain if need.why != "holes" and not task.expects]


def foreign_files(touched: Iterable[str], findings: HostFindings) -> list[str]:
    """Return files with content that would be overwritten and were not created by a run of this
    user.
    """
    return [
        path for path in touched if path not in findings.ours and is_full(findings.files.get(path))
    ]


def is_full(info: FileInfo | None) -> bool:
    """Return whether there is a regular file with content."""
    return info is not None and info.kind == "file" and info.size > 0


def ours(
    files: Mapping[str, FileInfo | None], made: Files, now: Mapping[str, str]
) -> frozenset[str]:
    """Return the files that this user's runs created. `now`: their current identities.

    A file that has grown or was replaced since is foreign. Files of a run that was interrupted
    before it recorded their identities are matched by size only, so that it can be resumed.
    """
    there = (
        (path, info) for path, info in files.items() if info is not None and path in made.sizes
    )
    fitting = (path for path, info in there if info.size <= (made.sizes[path] or info.size))
    return frozenset(
        path for path in fitting if path not in made.known or made.known[path] == now.get(path)
    )


def to_identify(files: Mapping[str, FileInfo | None], made: Files) -> list[str]:
    """Return existing regular files whose identity a run of this user recorded when it created
    them.
    """
    return [
        path
        for path, info in files.items()
        if info is not None and info.kind == "file" and path in made.known
    ]


def is_named(path: str, named: Sequence[str]) -> bool:
    """Return whether the user confirmed this file, or a directory above it."""
    return path in named or any(directory in named for directory in parents(path))


def names_for(paths: Sequence[str]) -> list[str]:
    """Return the shortest names that cover these files: the only file, their common directory, or
    each directory.
    """
    directories = sorted({posixpath.dirname(path) for path in paths})
    if len(paths) < 2:
        return list(paths)
    common = posixpath.commonpath(directories)
    return [common] if common in directories or common.count("/") > 1 else directories


def not_confirmed(paths: Sequence[str]) -> Clause:
    """Return the error message for unconfirmed files that would be overwritten."""
    named = names_for(paths)
    return clause("files-overwritten", paths=paths[:NAMES_SHOWN], files=len(paths), names=named)
