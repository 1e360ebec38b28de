"""What mpiexec, its proxies and the libraries of MPI complain of, in plain words."""

from __future__ import annotations

from collections.abc import Mapping

from tui.workloads.messages import Explainer, rule, silent
from tui.workloads.reading import LogLine

IN_PARTS = ("mpi-rank-died", "mpi-proxy-died")
UNREACHABLE = ("mpi-ssh", "mpi-unreachable")  # causes for which MPI waits for ever

HARMLESS = silent(
    r"plm:rsh: Warning: setpgid|Press Ctrl-C again|Sending Ctrl-C|BAD TERMINATION|YOU CAN IGNORE THE BELOW",
    r"This typically refers to a problem|Please see the FAQ page|CLEANING UP REMAINING|\(ignored\)",
    r"^(\[(mpiexec|proxy)(?!.*(unable to|execvp))|=+ *$|=   EXIT CODE|-+$|HYDRA_LAUNCH|BT-LAUNCH)",
)
SSH = (
    rule(
        r"(?P<what>Host key verification failed|Permission denied \(\w[\w,-]*\)"
        r"|ssh: (connect to host|Could not resolve hostname) .*)",
        "error",
        "the first host's own SSH cannot log in to the others (launcher: plain): {what}",
        "mpi-ssh",
    ),
)
MPI = (
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
        "mpi-program-missing",
    ),
    rule(
        r"could not find the executable|was unable to launch|unable to find the specified executable",
        "error",
        "the program cannot be started: {line}",
        "mpi-program-missing",
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
        "mpi-library-missing",
    ),
    rule(r"MPI_Abort\(|Abort\(-?\d+\) on node \d+", "error", "a rank gave up: {line}", "mpi-abort"),
)
MUTTERED = rule(r"WARNING|\bERROR\b|unable to |assert", "warning", "MPI: {line}")


def mpi_explainer() -> Explainer:
    """Return an explainer for one part of MPI itself."""
    return Explainer((HARMLESS, *SSH, *MPI, MUTTERED), unknown, IN_PARTS)


def unknown(line: str) -> LogLine:
    """Return a line that nobody knows, as it stands."""
    return "info", line.strip()


def unreachable(codes: Mapping[str, str]) -> str:
    """Return the text of the first cause for which MPI would wait for ever; empty when there is none."""
    return next((codes[code] for code in UNREACHABLE if code in codes), "")
