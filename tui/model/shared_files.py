"""Files used by several hosts, found by path in the plan and by the inodes that hosts report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.model.host_tables import TargetFile, rows
from tui.model.hostfacts import Fact
from tui.model.plain import some
from tui.model.plan import Plan, Step, at_once, is_device


def same_files(hosts: Mapping[str, Mapping[str, Fact]]) -> list[list[tuple[str, str]]]:
    """Return files that have several names, as lists of (host, path).

    Omits equal paths on a shared file system, which the fact `shares_files_with` already covers.
    """
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for host, facts in hosts.items():
        for row in rows(facts, TargetFile):
            found.setdefault((row.file_system, row.identity), []).append((host, row.path))
    return [names for names in found.values() if len(names) > 1 and not _is_known(names, hosts)]


def _is_known(names: list[tuple[str, str]], hosts: Mapping[str, Mapping[str, Fact]]) -> bool:
    """Return whether all names are one path on hosts already known to share files by path."""
    sharing = str(hosts[names[0][0]].get("shares_files_with") or "").split()
    return len({path for _, path in names}) == 1 and all(host in sharing for host, _ in names)


NAMED = 3
OWN_FILES = "put {host} into the path to give each host its own file"


def common_paths(plan: Plan) -> dict[str, list[str]]:
    """Return paths that several hosts use, with these hosts in plan order."""
    return _common_paths(plan.steps)


def paths_used_at_once(plan: Plan) -> dict[str, list[str]]:
    """Return paths that several hosts use at the same time, with these hosts.

    Excludes files that one host writes and another reads later, which is common.
    """
    found: dict[str, dict[str, None]] = {}
    for steps in at_once(plan.steps):
        for path, hosts in _common_paths(steps).items():
            found.setdefault(path, {}).update(dict.fromkeys(hosts))
    return {path: list(hosts) for path, hosts in found.items()}


def _common_paths(steps: Sequence[Step]) -> dict[str, list[str]]:
    users: dict[str, dict[str, None]] = {}
    for step in steps:
        for task in step.tasks:
            for spec in task.files:
                users.setdefault(spec.path, {})[task.host] = None
    return {
        path: list(hosts) for path, hosts in users.items() if len(hosts) > 1 and not is_device(path)
    }


def verb_of(plan: Plan, path: str) -> str:
    """Return "write" if any host writes this path while others use it, else "read"."""
    groups = (steps for steps in at_once(plan.steps) if path in _common_paths(steps))
    tasks = (task for steps in groups for step in steps for task in step.tasks)
    return "write" if any(spec.path == path for task in tasks for spec in task.written) else "read"


def sharing_note(plan: Plan) -> str:
    """Return a note on paths that several hosts use, from the plan alone; empty if none."""
    if not (common := paths_used_at_once(plan)):
        return ""
    path, hosts = next(iter(common.items()))
    verb = verb_of(plan, path)
    alike = f"{some(hosts, NAMED)} {verb} {path}{more(len(common))}"
    return (
        f"{alike}: on a shared file system this is one file that all {verb} at the same time; "
        f"{OWN_FILES}"
    )


def sharing_text(verb: str, path: str, files: int, hosts: Sequence[str], where: str) -> str:
    """Return the message that several hosts use the same files. `where`: their file system."""
    what = f"{some(hosts, NAMED)} {verb} the same file {path}{more(files)} on {where}"
    return f"{what}: they contend for locks and read each other's cached data; {OWN_FILES}"


def other_names_text(names: Sequence[tuple[str, str]]) -> str:
    """Return the message that a file has several names."""
    shown = some([f"{path} on {host}" for host, path in names], NAMED)
    return f"{shown} are the same file (bind mounts or links); jobs that use them contend for locks"


def more(count: int) -> str:
    """Return the number of files in addition to the one named, as text; empty if there are none."""
    return f" (and {count - 1} more file{'s' * (count > 2)})" if count > 1 else ""
