"""What elbencho complains of, in plain words."""

from __future__ import annotations

from tui.workloads.messages import Explainer, rule, silent
from tui.workloads.reading import LogLine

AT = r"^\d\d:\d\d:\d\d\.\d+ "
_PATH = r"(?:Path: (?P<path>.*?); )?"
_TABLE = silent(
    r"^(OPERATION |=+ |[A-Z0-9]* +[A-Za-z][\w/% ]*: )",
    r"^(---|COMMAND LINE:|ISO DATE)",
)
RULES = (
    _TABLE,
    rule(
        r"Terminating due to interrupt signal",
        "warning",
        "elbencho was ended by a signal",
        "elbencho-stopped-by-signal",
    ),
    silent(r"Terminating due to phase time limit"),
    rule(
        r"No space left on device|errno: 28\b",
        "error",
        "no space left on the target",
        "no-space",
    ),
    rule(r"Disk quota exceeded|errno: 122\b", "error", "the quota is used up", "no-space"),
    rule(
        r"Unable to open (?P<what>[\w ]+?)(?: path)?: (?P<path>.*); SysErr: (?P<why>.*)",
        "error",
        "{path} cannot be opened: {why}",
        "elbencho-no-target",
    ),
    rule(
        AT + r"ERROR: (?P<what>.*?)\. Path: (?P<path>.*?); SysErr: (?P<why>.*)",
        "error",
        "{what}: {path}: {why}",
        "elbencho-io-error",
    ),
    rule(
        r"Error for option name: (?P<what>.*)|(?P<other>unrecognised option .*)",
        "error",
        lambda match: f"elbencho does not take this: {match['what'] or match['other']}",
        "elbencho-bad-option",
    ),
    rule(
        r"IO failed: .*errno: (?P<number>\d+)",
        "error",
        "an I/O failed with error number {number}",
        "elbencho-io-error",
    ),
    rule(AT + r"ERROR: (?P<what>.*)", "error", "{what}", "elbencho-error"),
    rule(AT + r"(NOTE|WARNING|Warning): (?P<what>.*)", "warning", "{what}"),
)


def explainer() -> Explainer:
    """Return an explainer of what elbencho prints beside its figures."""
    return Explainer(RULES, _unknown)


def _unknown(line: str) -> LogLine:
    return "info", line.strip()
