"""Files that several hosts of a run use by the same path: where they share a file system, that is one file."""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.plain import some
from tui.model.plan import Plan, is_device

NETWORK_FILE_SYSTEMS = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "fuse",
    "wekafs",
    "lustre",
    "gpfs",
    "beegfs",
    "glusterfs",
)
NAMED = 3
OWN_FILES = "put {host} into the path to give each host its own"


def file_system_name(fstype: str, source: str, mount: str, machine: str) -> str:
    """Return a name that hosts on the same file system share: its network source, or the machine and its mount."""
    network = fstype.startswith(NETWORK_FILE_SYSTEMS) or ":" in source
    return f"{fstype} {source}" if network else f"{machine} {mount or source}"


def common_paths(plan: Plan) -> dict[str, list[str]]:
    """Return files that several hosts use by the same path, with these hosts in the order of the plan."""
    users: dict[str, dict[str, None]] = {}
    for step in plan.steps:
        for task in step.tasks:
            for spec in task.files:
                users.setdefault(spec.path, {})[task.host] = None
    return {path: list(hosts) for path, hosts in users.items() if len(hosts) > 1 and not is_device(path)}


def verb_of(plan: Plan, path: str) -> str:
    """Return what the run does with a file."""
    tasks = (task for step in plan.steps for task in step.tasks)
    return "write" if any(spec.path == path for task in tasks for spec in task.written) else "read"


def sharing_note(plan: Plan) -> str:
    """Return what is to be known of paths that hosts have in common before anything is known of the hosts."""
    common = common_paths(plan)
    if not common:
        return ""
    path, hosts = next(iter(common.items()))
    verb = verb_of(plan, path)
    alike = f"{some(hosts, NAMED)} {verb} {path}{more(len(common))}"
    return f"{alike}: on a shared file system that is one file, which all {verb} at the same time; {OWN_FILES}"


def sharing_text(plan: Plan, paths: Sequence[str], hosts: Sequence[str], where: str) -> str:
    """Return that hosts use the same files. `where`: the file system they are on."""
    verb = verb_of(plan, paths[0])
    what = f"{some(hosts, NAMED)} {verb} one and the same file {paths[0]}{more(len(paths))} on {where}"
    return f"{what}: they hold each other up, and meet what the others have in a cache; {OWN_FILES}"


def more(count: int) -> str:
    """Return how many files there are beside the one that is named."""
    return f" (and {count - 1} more files)" if count > 1 else ""
