"""Why something that a run made stays on a host, for people."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from tui.metrics import units
from tui.model.plain import printable
from tui.remote.made import ABSENT, AS_MADE, REMOVED, UNKNOWN

REASONS: Mapping[str, str] = {
    UNKNOWN: "not identified in the record (made by an older version, or the run was cut off); remove it by hand",
    "no-directory": "{directory} cannot be entered: is its file system mounted?",
    "leads-to": "{directory} leads to {detail} now: it was replaced or moved",
    "no-stat": "stat on the host cannot identify files; remove it by hand",
    "other-directory": "{directory} is another directory now",
    "other-file-system": "{directory} is on another file system now",
    "kind": "it is a {detail} now",
    "mounted": "something is mounted on it",
    "mounted-below": "something is mounted below it; unmount that first",
    "other": "replaced since the run made it",
    "links": "it has {detail} hard links now",
    "size": "it changed to {detail} just now",
}


def why_kept(path: str, said: str) -> str:
    """Return why a path stays, by the agent's word of it; empty when it goes, went, or is not there."""
    what, _, detail = said.partition(" ")
    if what in (AS_MADE, REMOVED, ABSENT):
        return ""
    if what == "leads-to":
        detail = printable(_decoded(detail))
    if what == "size" and detail.isdigit():
        detail = units.size(int(detail))
    return REASONS.get(what, "it could not be removed").format(directory=posixpath.dirname(path), detail=detail)


def _decoded(hexadecimal: str) -> str:
    try:
        return bytes.fromhex(hexadecimal).decode(errors="replace").removesuffix("\n")
    except ValueError:
        return "somewhere else"
