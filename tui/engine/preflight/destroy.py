"""What a run would overwrite: devices in use or with data, files that no run of this user made,
files to lay out.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from tui.engine.preflight.made_files import Files
from tui.metrics import units
from tui.model.plain import some
from tui.model.plan import HARMLESS, FileSpec, HostTask, Plan, is_device, written_devices
from tui.remote.answers import DirFacts, FileInfo, HostProbe
from tui.remote.devices import DeviceFacts

Problem = tuple[str, str]  # code and message


class HostFindings(Struct):
    """What was found on one host.

    `files` are those of the plan by path, None for those that are not there.
    """

    probe: HostProbe
    files: dict[str, FileInfo | None] = field(default_factory=dict)
    devices: dict[str, DeviceFacts] = field(default_factory=dict)
    # by directory, which need not be there yet
    room: dict[str, DirFacts] = field(default_factory=dict)
    ours: frozenset[str] = frozenset()  # files that runs of ours made
    # what commands said that failed at what they are for
    trials: dict[str, str] = field(default_factory=dict)
    # targets past the host's files that do not answer
    unreached: list[Problem] = field(default_factory=list)

    def room_of(self, path: str) -> DirFacts | None:
        """Return the file system that a file lies on, or will; None when it was not looked at."""
        for directory in parents(path):
            facts = self.room.get(directory) or self.probe.dirs.get(directory)
            if facts is not None:
                return facts
        return None


def parents(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first."""
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        yield path


def tasks_of(plan: Plan, host: str) -> list[HostTask]:
    """Return what a host does in all steps."""
    return [task for step in plan.steps for task in step.tasks if task.host == host]


def sizes_of(plan: Plan, host: str) -> dict[str, int]:
    """Return the largest size that the plan gives each file of a host."""
    sizes: dict[str, int] = {}
    for task in tasks_of(plan, host):
        for spec in task.files:
            sizes[spec.path] = max(spec.size_bytes, sizes.get(spec.path, 0))
    return sizes


class FileNeed(Struct, frozen=True):
    """A file that must be written before it can be measured, and why."""

    spec: FileSpec
    why: str  # missing, short, holes


def file_need(spec: FileSpec, info: FileInfo | None) -> FileNeed | None:
    """Return why a file must be laid out, or None when it is there whole.

    A file of the right size is not enough: an interrupted layout, or a truncate, leaves holes that
    read as zeros without touching storage. Fewer allocated bytes than the size has means holes.
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


PARTITION_TABLES = ("dos", "gpt", "PMBR", "mac", "sun", "sgi", "bsd", "atari")
NAMES_SHOWN = 3
REFUSED = "a device in use is never written to"


def devices_of(tasks: Iterable[HostTask], files: Mapping[str, FileInfo | None]) -> list[str]:
    """Return the paths that are devices, by their name or by what they are on the host."""
    paths = dict.fromkeys(spec.path for task in tasks for spec in task.files)
    return [
        path for path in paths if is_device(path) or kind_of(files.get(path)) in ("block", "char")
    ]


def unnamed_devices(plan: Plan) -> list[str]:
    """Return the devices that the plan writes to and that are not confirmed by name."""
    return [path for path in written_devices(plan) if path not in plan.destroy]


def kind_of(info: FileInfo | None) -> str:
    """Return what is at a path; empty when nothing is."""
    return info.kind if info is not None else ""


def judge_targets(plan: Plan, host: str, findings: HostFindings) -> Iterator[Problem]:
    """Yield why this host's devices and files are not written to."""
    touched = overwritten(tasks_of(plan, host), findings.files)
    for path, facts in findings.devices.items():
        if plan.allow_device and path in touched:
            yield from judge_device(facts, plan.destroy)
    for image in dict.fromkeys(image for task in tasks_of(plan, host) for image in task.images):
        if image not in plan.destroy:
            what = f"the image {image} is overwritten, and no host can tell whether it is in use"
            yield "destroy-not-confirmed", f"{what}; {agree(f'--destroy {image}')}"
    for store in dict.fromkeys(
        store for task in tasks_of(plan, host) for store in task.stores_changed
    ):
        if store not in plan.destroy:
            what = (
                f"objects in bucket {store} would be overwritten or deleted; their owner is unknown"
            )
            yield "destroy-not-confirmed", f"{what}; {agree(f'--destroy {store}')}"
    foreign = foreign_files(touched, findings)
    unnamed = [path for path in foreign if not is_named(path, plan.destroy)]
    if unnamed:
        yield "destroy-not-confirmed", not_confirmed(unnamed)


def judge_again(
    before: DeviceFacts | None, now: DeviceFacts, *, written: bool
) -> Iterator[Problem]:
    """Yield why a device is not used any more, that was found fit before: it is gone, another one,
    or in use.

    What it holds is not judged again: it may be what our own steps have written.
    """
    if not now.kind:
        yield (
            "device-missing",
            f"{now.path} is not there any more; a plain file would be made in its place",
        )
    elif now.kind == "other":
        yield from refusals(now)
    elif before is not None and is_another(before, now):
        what = f"{now.path} was {identity(before)} and is {identity(now)}"
        yield "device-changed", f"{what}: another device has its name now, and it is not used"
    elif written and now.uses:
        yield from refusals(now)


def is_another(before: DeviceFacts, now: DeviceFacts) -> bool:
    """Tell whether a path leads to another device: by number, and by serial and size if known."""
    known = [(before.serial, now.serial), (before.size_bytes, now.size_bytes)]
    return before.number != now.number or any(was and is_ and was != is_ for was, is_ in known)


def judge_device(facts: DeviceFacts, named: Sequence[str]) -> Iterator[Problem]:
    """Yield why a device is not written to.

    A missing confirmation is reported only if nothing else is wrong.
    """
    if not facts.kind or facts.real in HARMLESS:
        return
    problems = list(refusals(facts))
    if not problems and facts.path not in named:
        what = f"{facts.path} ({identity(facts)}) loses what is on it"
        problems = [("destroy-not-confirmed", f"{what}; {agree(f'--destroy {facts.path}')}")]
    yield from problems


def refusals(facts: DeviceFacts) -> Iterator[Problem]:
    """Yield what no option overrides."""
    if facts.kind == "other":
        yield (
            "target-not-a-device",
            f"{facts.path} is not a device but a file or directory",
        )
    elif not facts.name:
        yield "device-unknown", f"{facts.path}: not in /sys, so it is unknown whether it is in use"
    elif facts.uses:
        code = (
            "device-mounted" if any(use.kind == "mount" for use in facts.uses) else "device-in-use"
        )
        yield code, f"{facts.path}: {', '.join(use.text for use in facts.uses)}; {REFUSED}"
    elif facts.signatures:
        yield "device-has-filesystem", holds(facts)
    elif facts.unread:
        parts = ", ".join(part.path for part in facts.unread)
        yield (
            "device-unreadable",
            f"{facts.path}: what is on {parts} cannot be looked at; it is not written to blindly",
        )
    elif facts.read_only:
        yield "device-read-only", f"{facts.path} is read-only"
    elif not facts.writable:
        yield "device-not-writable", f"{facts.path} is not writable for the user we log in as"


def holds(facts: DeviceFacts) -> str:
    """Return the refusal of a device with content, and what to do if the content is not needed."""
    found = dict.fromkeys((each.member, each.type) for each in facts.signatures)
    members = {facts.name: facts.path}
    what = ", ".join(
        f"{content(kind)}{'' if member == facts.name else f' on {member}'}"
        for member, kind in found
    )
    inner_first = sorted({member for member, _ in found}, reverse=True)
    nodes = " ".join(members.get(member, f"/dev/{member}") for member in inner_first)
    return (
        f"{facts.path} holds {what}; if it is no longer needed, remove it first: wipefs --all"
        f" {nodes}"
    )


def content(kind: str) -> str:
    """Return a signature's type for people."""
    return f"a partition table ({kind})" if kind in PARTITION_TABLES else kind


def identity(facts: DeviceFacts) -> str:
    """Return what a device is: size, model, serial, number, stable name."""
    parts = [
        units.size(facts.size_bytes) if facts.size_bytes is not None else "size unknown",
        facts.model,
        f"serial {facts.serial}" if facts.serial else "",
        facts.number,
        facts.by_id.split(" ")[0],
    ]
    return ", ".join(part for part in parts if part)


def device_line(facts: DeviceFacts) -> str:
    """Return everything that was found of a device in one line."""
    if not facts.kind:
        return f"{facts.path}: not there"
    real = f" -> {facts.real}" if facts.real not in ("", facts.path) else ""
    uses = [use.text for use in facts.uses]
    held = [f"{each.type} on {each.member}" for each in facts.signatures]
    parts = [f"{len(facts.partitions)} partitions"] if facts.partitions else []
    blind = "what is on it cannot be seen" if facts.unread or not facts.name else ""
    state = "; ".join(uses + held + parts) or blind or "not in use, no file system on it"
    state = "; ".join([state, *facts.unsure])
    return f"{facts.path}{real}: {identity(facts)}; {state}"


def overwritten(tasks: Iterable[HostTask], files: Mapping[str, FileInfo | None]) -> list[str]:
    """Return the files and devices that a host's measurements write to, and those that are written
    before them.
    """
    touched: dict[str, None] = {}
    for task in tasks:
        touched.update(dict.fromkeys(spec.path for spec in task.written))
        touched.update(dict.fromkeys(laid_out(task, files)))
    return list(touched)


def laid_out(task: HostTask, files: Mapping[str, FileInfo | None]) -> list[str]:
    """Return the files that are written before a task is measured: by our layout, or by fio itself.

    fio unlinks or truncates a plain file that is shorter than its job's size, and writes it anew,
    whatever `rw` says (fio filesetup.c, extend_file). Jobs that only create, stat or remove files
    leave them as they are.
    """
    needs = [need for need in needs_of(task, dict(files)) if not is_device(need.spec.path)]
    if task.layout:
        return [need.spec.path for need in needs]
    plain = [need for need in needs if kind_of(files.get(need.spec.path)) in ("", "file")]
    return [need.spec.path for need in plain if need.why != "holes" and not task.expects]


def foreign_files(touched: Iterable[str], findings: HostFindings) -> list[str]:
    """Return those of the overwritten files that have something in them and that no run of ours has
    made.
    """
    return [
        path for path in touched if path not in findings.ours and is_full(findings.files.get(path))
    ]


def is_full(info: FileInfo | None) -> bool:
    """Return whether there is a plain file with something in it."""
    return info is not None and info.kind == "file" and info.size > 0


def ours(
    files: Mapping[str, FileInfo | None], made: Files, now: Mapping[str, str]
) -> frozenset[str]:
    """Return the files that runs of ours have made. `now`: what those are that stand there.

    A file that has grown since then, or that is another one, belongs to others. A run that was cut
    off could not tell what its files are: these go by their size alone, so that it can be resumed.
    """
    there = (
        (path, info) for path, info in files.items() if info is not None and path in made.sizes
    )
    fitting = (path for path, info in there if info.size <= (made.sizes[path] or info.size))
    return frozenset(
        path for path in fitting if path not in made.known or made.known[path] == now.get(path)
    )


def to_identify(files: Mapping[str, FileInfo | None], made: Files) -> list[str]:
    """Return the plain files that are there and that a run of ours has made and identified."""
    return [
        path
        for path, info in files.items()
        if info is not None and info.kind == "file" and path in made.known
    ]


def is_named(path: str, named: Sequence[str]) -> bool:
    """Return whether a file, or a directory above it, was named."""
    return path in named or any(directory in named for directory in parents(path))


def names_for(paths: Sequence[str]) -> list[str]:
    """Return names that cover these files: the one file, or the directory above them all, or each
    directory.
    """
    directories = sorted({posixpath.dirname(path) for path in paths})
    if len(paths) < 2:
        return list(paths)
    common = posixpath.commonpath(directories)
    return [common] if common in directories or common.count("/") > 1 else directories


def not_confirmed(paths: Sequence[str]) -> str:
    """Return the problem of files that would be overwritten."""
    shown = some(paths, NAMES_SHOWN)
    files = (
        "a file that no run of yours has made"
        if len(paths) == 1
        else "files that no run of yours has made"
    )
    options = " ".join(f"--destroy {name}" for name in names_for(paths))
    return f"{files} would be overwritten: {shown}; {agree(options)}"


def agree(options: str) -> str:
    """Return how to confirm that data may be lost: in Review, and on the command line."""
    return f"name it to agree: Review asks at Enter, run takes {options} (--yes is not enough)"
