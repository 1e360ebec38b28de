"""Files that several names lead to, by what hosts say of their inodes."""

from __future__ import annotations

from collections.abc import Mapping

from tui.model.hostfacts import Fact, TargetFile, rows


def same_files(hosts: Mapping[str, Mapping[str, Fact]]) -> list[list[tuple[str, str]]]:
    """Return the files that have several names: host and path of each, of all that are one file.

    Hosts that share a path of a shared file system are known by the fact `shares_files_with` already.
    """
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for host, facts in hosts.items():
        for row in rows(facts, TargetFile):
            found.setdefault((row.file_system, row.identity), []).append((host, row.path))
    return [names for names in found.values() if len(names) > 1 and not _is_told(names, hosts)]


def _is_told(names: list[tuple[str, str]], hosts: Mapping[str, Mapping[str, Fact]]) -> bool:
    """Tell whether it is one path on hosts that are known to share the files of such a path."""
    sharing = str(hosts[names[0][0]].get("shares_files_with") or "").split()
    return len({path for _, path in names}) == 1 and all(host in sharing for host, _ in names)
