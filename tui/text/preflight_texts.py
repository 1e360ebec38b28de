"""Texts of the checks before a launch, by code: programs, space, devices, files, MPI."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tui.metrics import units
from tui.model.distributions import install_command
from tui.model.plain import some
from tui.model.shared_files import other_names_text, sharing_text
from tui.text.form import Text

HINTS = {
    "": "",
    "copy": "; or copy a static one for the run: --with DIR",
    "static": "; dynamically linked: copy a static one",
}  # what else may help if a program is missing or unusable
PARTITION_TABLES = ("dos", "gpt", "PMBR", "mac", "sun", "sgi", "bsd", "atari")
UNSURE = {
    "claimed": (
        "cannot check whether the kernel would open it exclusively (requires perl or python3)"
    ),
    "open": "cannot check whether another user's process has it open (requires root)",
    "scan": "cannot check whether a process has it open (the host's find failed or took over 5 s)",
}
VOLUME_MANAGERS = (
    ("LVM-", "LVM"),
    ("mpath-", "multipath"),
    ("CRYPT-", "dm-crypt"),
    ("DMRAID-", "RAID"),
)


def _newer(program: str, minimum: Sequence[int]) -> str:
    return f"{program} {'.'.join(map(str, minimum))} or newer" if minimum else program


def _program_missing(
    program: str, minimum: Sequence[int], os: str, package: str, source: str, hint: str
) -> str:
    name = program.rpartition("/")[2]
    where = f"{program} not found" if "/" in program else f"{name} is not on PATH"
    how = "; ".join(filter(None, (install_command(os, package), source)))
    return f"{where}; install {_newer(name, minimum)}{how and f': {how}'}{HINTS[hint]}"


def _agree(options: str) -> str:
    """Return how to confirm the loss of data, on Review and on the command line."""
    return f"to confirm, type its name on Review or use {options} (--yes is not enough)"


def _files_overwritten(paths: Sequence[str], files: int, names: Sequence[str]) -> str:
    more = f" and {files - len(paths)} more" if files > len(paths) else ""
    what = "a file" if files == 1 else "files"
    options = " ".join(f"--destroy {shlex.quote(name)}" for name in names)
    return (
        f"{what} that your runs did not create would be overwritten: {', '.join(paths)}{more};"
        f" {_agree(options)}"
    )


def _use(member: str, kind: str, detail: str) -> str:
    """Return a use of a device as text: ``nvme0n1p1 is mounted at /data``."""
    match kind:
        case "mount":
            return f"{member} is mounted {'' if detail.startswith('in ') else 'at '}{detail}"
        case "swap":
            return f"{member} is swap"
        case "ceph":
            return f"{member} belongs to a Ceph OSD ({detail})"
        case "holder":
            return f"{member} is part of {_holder(detail)}"
        case "loop":
            return f"{member} is the backing store of {detail}"
        case "open":
            pid, _, command = detail.partition(" ")
            return f"{member} is open in process {pid}{f' ({command})' if command else ''}"
    return f"{member} is in use: the kernel refuses to open it exclusively"


def _holder(detail: str) -> str:
    """Return the holder of a device as text: ``dm-3 LVM-... vg-lv`` becomes "LVM vg-lv (dm-3)",
    ``md0`` becomes "RAID md0".
    """
    name, *words = detail.split()
    if name.startswith("md"):
        return f"RAID {name}"
    uuid, dm_name = (words[0], words[-1]) if len(words) > 1 else ("", words[0] if words else "")
    manager = next((text for start, text in VOLUME_MANAGERS if uuid.startswith(start)), "")
    return " ".join(part for part in (manager, dm_name, f"({name})" if dm_name else name) if part)


def _device_with_data(
    path: str, name: str, contents: Sequence[tuple[str, str]], members: Sequence[str]
) -> str:
    """Return the refusal of a device with data, with instructions in case the data is not needed.

    `members`: the innermost first.
    """
    tables = (
        (part, f"a partition table ({kind})" if kind in PARTITION_TABLES else kind)
        for part, kind in contents
    )
    what = ", ".join(f"{kind}{'' if part == name else f' on {part}'}" for part, kind in tables)
    nodes = " ".join(path if each == name else f"/dev/{each}" for each in members)
    return f"{path} contains {what}; if no longer needed, remove it first: wipefs --all {nodes}"


def _device(size_bytes: int | None, model: str, serial: str, number: str, by_id: str) -> str:
    """Return the identity of a device as text: size, model, serial, number, stable name."""
    parts = [
        units.size(size_bytes) if size_bytes is not None else "size unknown",
        model,
        f"serial {serial}" if serial else "",
        number,
        by_id,
    ]
    return ", ".join(part for part in parts if part)


def _installing(text: str, link: str, package: tuple[str, str]) -> str:
    """Return a text, with the command that installs a package; `package`: distribution, name."""
    command = install_command(*package)
    return f"{text}{link}{command}" if command else text


PREFLIGHT: dict[str, Text] = {
    # programs
    "program-missing": _program_missing,
    "program-fails": lambda path, exit_code, quote, hint: (
        f"{path} does not run on this host: {quote or f'exit code {exit_code}'}{HINTS[hint]}"
    ),
    "program-without-version": lambda path, quote, hint: (
        f"{path} prints no version ({quote!r}){HINTS[hint]}"
    ),
    "program-too-old": lambda path, program, version, minimum, hint: (
        f"{version} at {path} is too old; {_newer(program, minimum)} is required{HINTS[hint]}"
    ),
    "program-unfit": lambda path, version, feature, quote, source: (
        f"{version} at {path} does not support {feature}: {quote}"
        f"{f'; get it from: {source}' if source else ''}"
    ),
    "no-program": "no {program} for {machine} in the --with folder",
    "program-unread": "{path}: {quote}",
    "program-changed": "{path} has changed since the launch",
    "programs-left": (
        "{quote}; copied programs may be left in /tmp; to remove them: benchtui hosts sweep"
    ),
    # directories, files and their space
    "no-space": (
        "{need_bytes:size} required (including 5 % headroom), but only {free_bytes:size} free at"
        " {place}"
    ),
    "file-system-too-small": (
        "{need_bytes:size} required, but the file system of {place} has only {total_bytes:size};"
        " choose a smaller size"
    ),
    "file-system": "{path} ({fstype} on {source})",
    "shared-file-system": "{path} ({fstype} from {source})",
    "directory-missing": "{path} does not exist",
    "not-a-directory": "{path} is not a directory",
    "directory-not-writable": "directory {path} is not writable by {user}",
    "target-missing": "{path} does not exist",
    "target-is-device": "{path} is a {kind} device; this profile requires files",
    "target-not-a-file": "{path} is a {kind}, not a file",
    "block-size": "{path}: direct I/O of {size} bytes; its device requires multiples of {block}",
    "files-shared": sharing_text,
    "file-with-names": other_names_text,
    # what would be overwritten
    "image-overwritten": lambda image: (
        f"the image {image} will be overwritten; benchtui cannot tell whether it is in use;"
        f" {_agree(f'--destroy {image}')}"
    ),
    "objects-overwritten": lambda store: (
        f"objects in bucket {store} would be overwritten or deleted; their owner is unknown;"
        f" {_agree(f'--destroy {store}')}"
    ),
    "files-overwritten": _files_overwritten,
    "device-overwritten": lambda path, device: (
        f"{path} ({device}) will be overwritten; {_agree(f'--destroy {path}')}"
    ),
    # devices
    "device-identity": _device,
    "device-found": "{path}: {device}; {state:lines}",
    "linked-path": "{path} -> {real}",
    "device-use": _use,
    "content-on": "{kind} on {member}",
    "partitions": lambda count: units.plural(count, "partition"),
    "contents-unknown": "its contents are unknown",
    "not-in-use": "not in use, no file system on it",
    "cannot-check": lambda what: UNSURE.get(what, f"cannot check: {what}"),
    "device-absent": "{path}: does not exist",
    "device-gone": "{path} no longer exists; a regular file would be created in its place",
    "device-changed": (
        "{path} was {before}, and is now {now}: the name now belongs to another device; refusing to"
        " use it"
    ),
    "target-not-a-device": "{path} is a file or directory, not a device",
    "device-unknown": "{path}: not in /sys, so benchtui cannot tell whether it is in use",
    "device-in-use": "{path}: {uses:all}; benchtui never writes to a device in use",
    "device-with-data": _device_with_data,
    "device-unreadable": "{path}: cannot inspect {parts:all}, so benchtui does not write to it",
    "device-read-only": "{path} is read-only",
    "device-not-writable": "{path} is not writable by the login user",
    # MPI
    "mpi-program-missing": "{program} not found by {user}",
    "not-executable": "{program} is not executable by {user}",
    "libraries-missing": "{program} cannot load libraries: {quote}",
    "mpi-mixed": lambda program, built, mpi: (
        f"{program} was built with {built or 'a different MPI'}, but the run uses {mpi}"
    ),
    "no-inodes": "{need} inodes are required, but only {free} are free in {directory}",
    "no-space-in": "{need_bytes:size} required, but only {free_bytes:size} free in {directory}",
    "mpiexec-missing": lambda mpi, others, os, package: _installing(
        "; found: ".join((f"{mpi}: mpiexec not found", *filter(None, [", ".join(others)]))),
        "; install it: ",
        (os, package),
    ),
    "proxy-missing": lambda proxy, mpi, head, os, package: _installing(
        f"{proxy} not found; install {mpi} as on {head}", ": ", (os, package)
    ),
    "starts-proxies": "{mpi} starts its proxies itself: set launcher: plain in the profile",
    "starts-daemons": "{mpi} starts its daemons itself: set launcher: plain",
    "mpi-version": "{mpi} {own} here, {version} on {head}: install the same version",
    "program-elsewhere": "{tool} is {path} here, {other} on {head}: use the same path on all hosts",
    "program-differs": "{path} differs from the build on {head}: install the same build everywhere",
    "hostname-not-unique": lambda hostname, hosts: (
        f"has the same hostname {hostname} as {some(hosts)}: MPI would count them as one host"
    ),
    "same-address": lambda address, hosts: f"has the same address {address} as {some(hosts)}",
    "no-address": lambda wanted, addresses: (
        f"no address for MPI ({wanted}); the host's addresses:"
        f" {', '.join(addresses) or 'none known'}"
    ),
    "skip-missing": "to skip the steps that need it, use run --skip-missing, or Enter on Review",
    "ranks-share-cpus": "{ranks} ranks share {cpus} CPUs; waiting ranks spin",
    "already-running": lambda program, processes: (
        f"already running: {program}, {processes} process{'' if processes == 1 else 'es'}"
    ),
    "left-by-earlier": "left by earlier runs in {directory}: {names:all}",
    "left-to-trial": (
        "a run's trial launch determines the version, and whether ranks can connect (TCP, any port)"
    ),
}
