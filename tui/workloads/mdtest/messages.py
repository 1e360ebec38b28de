"""What mdtest, mpiexec and their libraries complain of, in plain words."""

from __future__ import annotations

from tui.workloads.base import LogLine
from tui.workloads.messages import Explainer, rule, silent

IN_PARTS = ("mpi-rank-died", "mpi-proxy-died")
UNREACHABLE = ("mpi-ssh", "mpi-unreachable")  # causes for which MPI waits for ever

_HARMLESS = silent(
    r"Read bytes is 0, thus, a read test|plm:rsh: Warning: setpgid|Press Ctrl-C again|Sending Ctrl-C",
    r"BAD TERMINATION|YOU CAN IGNORE THE BELOW|This typically refers to a problem|Please see the FAQ page",
    r"CLEANING UP REMAINING|\(ignored\)|^Invalid options",
    r"^(\[(mpiexec|proxy)(?!.*(unable to|execvp))|V-\d|=+ *$|=   EXIT CODE|-+$|HYDRA_LAUNCH|BT-LAUNCH)",
    r"^(Path\b|FS\b|Continue stonewall)",
)
_TABLE = silent(
    r"^(-- (started|finished)|mdtest-\S+ was|Command line|\d+ tasks, |SUMMARY|Nodemap|   |[a-z_]+(\(s\))? *:)",
    r"^(Synopsis|Flags|Optional arguments|Module \w+|  -\w| +--?[\w.-]+[ =])",  # the help that follows a wrong option
)
_SSH = (
    rule(
        r"(?P<what>Host key verification failed|Permission denied \(\w[\w,-]*\)"
        r"|ssh: (connect to host|Could not resolve hostname) .*)",
        "error",
        "the first host's own SSH cannot log in to the others (launcher: plain): {what}",
        "mpi-ssh",
    ),
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
_MPI = (
    rule(
        r"PID (?P<pid>\d+) RUNNING AT (?P<at>\S+)", "error", "rank process {pid} at {at} ended badly", "mpi-rank-died"
    ),
    rule(r"EXIT STRING: (?P<how>.+)", "error", "a rank ended: {how}", "mpi-rank-died"),
    rule(
        r"process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<node>\S+) exited on (?P<how>.+?)\.?$",
        "error",
        "rank {rank} (process {pid} at {node}) ended: {how}",
        "mpi-rank-died",
    ),
    rule(r"lost communication with a remote daemon", "error", "MPI lost its proxy on a host", "mpi-proxy-died"),
    rule(
        r"Remote daemon: \S+ on node (?P<node>\S+)",
        "error",
        "the MPI proxy that was lost ran at {node}",
        "mpi-proxy-died",
    ),
    rule(
        r"unable to connect to server (?P<to>\S+) at port (?P<port>\d+)",
        "error",
        "cannot reach mpiexec at {to} port {port}: a firewall, or an address that this host does not reach",
        "mpi-unreachable",
    ),
    rule(
        r"execvp error on file (?P<file>\S+) \((?P<why>[^)]*)\)",
        "error",
        "cannot start {file}: {why}",
        "mdtest-missing",
    ),
    rule(
        r"could not find the executable|was unable to launch|unable to find the specified executable",
        "error",
        "the program cannot be started: {line}",
        "mdtest-missing",
    ),
    rule(r"not enough slots", "error", "MPI has fewer slots than ranks: {line}", "mpi-slots"),
    rule(
        r"token slots not supported|unrecognized argument",
        "error",
        "this mpiexec is of another family: {line}",
        "mpi-mixed",
    ),
    rule(r"UCX +ERROR (?P<what>.*)", "error", "MPI's network layer: {what}", "mpi-network"),
    rule(
        r"unable to (?:connect|reach)|Connection refused|No route to host|Network is unreachable|connect\(\).*failed",
        "error",
        "hosts do not reach each other: {line}",
        "mpi-unreachable",
    ),
    rule(
        r"error while loading shared libraries: (?P<what>.*)",
        "error",
        "a library is missing: {what}",
        "mdtest-unusable",
    ),
    rule(r"MPI_Abort\(|Abort\(-?\d+\) on node \d+", "error", "a rank gave up: {line}", "mdtest-abort"),
)
STDOUT = (
    _HARMLESS,
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
    *_MPI,
    rule(r"FAILED in |\bERROR\b|unable to |assert", "error", "mdtest: {line}", "mdtest-error"),
    _TABLE,
)
STDERR = (
    _HARMLESS,
    *_SSH,
    _BAD_OPTION,
    *_FILE_SYSTEM,
    *_MPI,
    rule(r"FAILED in |\bERROR\b|assert|mdtest", "error", "{line}", "mdtest-error"),
    rule(r"WARNING|unable to ", "warning", "MPI: {line}"),
)


def stdout_explainer() -> Explainer:
    """Return an explainer of what the ranks print, among it mdtest's own words."""
    return Explainer(STDOUT, _unknown, IN_PARTS)


def stderr_explainer() -> Explainer:
    """Return an explainer of what MPI and its libraries say: it counts for nothing beside a good end."""
    return Explainer(STDERR, _unknown, IN_PARTS)


def _unknown(line: str) -> LogLine:
    return "info", line.strip()
