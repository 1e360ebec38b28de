"""What mdtest complains of, in plain words, beside what MPI does."""

from __future__ import annotations

from tui.workloads.messages import Explainer, rule, silent
from tui.workloads.mpi_messages import HARMLESS, IN_PARTS, MPI, MUTTERED, SSH, unknown

_HARMLESS = silent(r"Read bytes is 0, thus, a read test|^(Invalid options|V-\d|Path\b|FS\b|Continue stonewall)")
_TABLE = silent(
    r"^(-- (started|finished)|mdtest-\S+ was|Command line|\d+ tasks, |SUMMARY|Nodemap|   |[a-z_]+(\(s\))? *:)",
    r"^(Synopsis|Flags|Optional arguments|Module \w+|  -\w| +--?[\w.-]+[ =])",  # the help that follows a wrong option
)
_BAD_OPTION = rule(
    r"(Error invalid argument:|invalid option --) (?P<what>.*)",
    "error",
    "mdtest does not take {what}: see options: in the profile, and what this version of mdtest knows",
    "mdtest-bad-option",
)
_FILE_SYSTEM = (
    rule(
        r"No space left on device",
        "error",
        "no space or no inodes left on the file system under test: {line}",
        "no-space",
    ),
    rule(r"Disk quota exceeded", "error", "the quota is used up: {line}", "no-space"),
    rule(r"Read-only file system", "error", "the file system under test is read-only: {line}", "dir-not-writable"),
    rule(r"Permission denied", "error", "no permission in the file system under test: {line}", "dir-not-writable"),
    rule(r"File exists", "error", "leftovers of an older run are in the way: {line}", "mdtest-leftovers"),
)
STDOUT = (
    _HARMLESS,
    HARMLESS,
    _BAD_OPTION,
    *_FILE_SYSTEM,
    rule(
        r"^(ior )?WARNING: (?P<what>.*(use realpath|gpfs_fcntl|BeeGFS|Lustre|statfs|stonewall status file).*)",
        "warning",
        "mdtest warns: {what}",
    ),
    rule(
        r"^(ior )?WARNING: (?P<what>.*)",
        "error",
        "mdtest warns: {what}; operations that failed are counted in its rates, so they are void",
        "mdtest-warnings",
    ),
    *MPI,
    rule(r"FAILED in |\bERROR\b|unable to |assert", "error", "mdtest: {line}", "mdtest-error"),
    _TABLE,
)
STDERR = (
    _HARMLESS,
    HARMLESS,
    *SSH,
    _BAD_OPTION,
    *_FILE_SYSTEM,
    *MPI,
    rule(r"FAILED in |\bERROR\b|assert|mdtest", "error", "{line}", "mdtest-error"),
    MUTTERED,
)


def stdout_explainer() -> Explainer:
    """Return an explainer of what the ranks print, among it mdtest's own words."""
    return Explainer(STDOUT, unknown, IN_PARTS)


def stderr_explainer() -> Explainer:
    """Return an explainer of what MPI and its libraries say: it counts for nothing beside a good end."""
    return Explainer(STDERR, unknown, IN_PARTS)
