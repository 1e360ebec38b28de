"""What mdtest, mpiexec and their libraries complain of, in plain words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from tui.model.event import Severity
from tui.workloads.base import LogLine

IN_PARTS = ("mpi-rank-died", "mpi-proxy-died")
KEPT = 50  # different lines that are told; the raw output keeps all
HARMLESS = re.compile(
    r"Read bytes is 0, thus, a read test|plm:rsh: Warning: setpgid|Press Ctrl-C again|Sending Ctrl-C"
    r"|BAD TERMINATION|YOU CAN IGNORE THE BELOW|This typically refers to a problem|Please see the FAQ page"
    r"|CLEANING UP REMAINING"
)
NOISE = re.compile(
    r"^(\[(mpiexec|proxy)(?!.*(unable to|execvp))|V-\d|=+ *$|=   EXIT CODE|-+$|\s*$|HYDRA_LAUNCH|BT-LAUNCH"
    r"|Path\b|FS\b|Continue stonewall)"
)
TABLE = re.compile(
    r"^(-- (started|finished)|mdtest-\S+ was|Command line|\d+ tasks, |SUMMARY|Nodemap|   |\t/|[a-z_]+(\(s\))? *:)"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A message that is understood; `code` names it in verdicts. `text` may use the pattern's named groups."""

    pattern: re.Pattern[str]
    text: str
    code: str
    severity: Severity = "error"


def _rule(pattern: str, text: str, code: str, severity: Severity = "error") -> Rule:
    return Rule(re.compile(pattern), text, code, severity)


RULES = (
    _rule(r"No space left on device", "no space or no inodes left on the file system under test: {line}", "no-space"),
    _rule(r"Disk quota exceeded", "the quota is used up: {line}", "no-space"),
    _rule(r"Read-only file system", "the file system under test is read-only: {line}", "dir-not-writable"),
    _rule(r"Permission denied", "no permission in the file system under test: {line}", "dir-not-writable"),
    _rule(r"File exists", "leftovers of an older run are in the way: {line}", "mdtest-leftovers"),
    _rule(
        r"^WARNING: (?P<what>.*)",
        "mdtest warns: {what}; operations that failed are counted in its rates, so they are void",
        "mdtest-warnings",
    ),
    _rule(r"PID (?P<pid>\d+) RUNNING AT (?P<at>\S+)", "rank process {pid} at {at} ended badly", "mpi-rank-died"),
    _rule(r"EXIT STRING: (?P<how>.+)", "a rank ended: {how}", "mpi-rank-died"),
    _rule(
        r"process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<node>\S+) exited on (?P<how>.+?)\.?$",
        "rank {rank} (process {pid} at {node}) ended: {how}",
        "mpi-rank-died",
    ),
    _rule(r"lost communication with a remote daemon", "MPI lost its proxy on a host", "mpi-proxy-died"),
    _rule(r"Remote daemon: \S+ on node (?P<node>\S+)", "the MPI proxy that was lost ran at {node}", "mpi-proxy-died"),
    _rule(
        r"unable to connect to server (?P<to>\S+) at port (?P<port>\d+)",
        "cannot reach mpiexec at {to} port {port}: a firewall, or an address that this host does not reach",
        "mpi-unreachable",
    ),
    _rule(r"execvp error on file (?P<file>\S+) \((?P<why>[^)]*)\)", "cannot start {file}: {why}", "mdtest-missing"),
    _rule(
        r"could not find the executable|was unable to launch|unable to find the specified executable",
        "the program cannot be started: {line}",
        "mdtest-missing",
    ),
    _rule(r"not enough slots", "MPI has fewer slots than ranks: {line}", "mpi-slots"),
    _rule(r"token slots not supported|unrecognized argument", "this mpiexec is of another family: {line}", "mpi-mixed"),
    _rule(r"UCX +ERROR (?P<what>.*)", "MPI's network layer: {what}", "mpi-network"),
    _rule(
        r"unable to (?:connect|reach)|Connection refused|No route to host|Network is unreachable|connect\(\).*failed",
        "hosts do not reach each other: {line}",
        "mpi-unreachable",
    ),
    _rule(r"error while loading shared libraries: (?P<what>.*)", "a library is missing: {what}", "mdtest-unusable"),
    _rule(r"MPI_Abort\(|Abort\(-?\d+\) on node \d+", "a rank gave up: {line}", "mdtest-abort"),
    _rule(r"FAILED in |\bERROR\b|unable to |assert", "mdtest: {line}", "mdtest-error"),
)


class Explainer:
    """Explains lines and tells lines that differ only in numbers once. `codes`: causes so far, with first texts."""

    def __init__(self) -> None:
        self.codes: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self._told: set[str] = set()

    def explain(self, line: str) -> LogLine | None:
        """Return what to tell of a line; None when it says nothing new."""
        if not line.strip() or NOISE.match(line) or HARMLESS.search(line):
            return None
        rule = next((rule for rule in RULES if rule.pattern.search(line)), None)
        if rule is None:
            return None if TABLE.match(line) else self._tell("info", line, line)
        match = rule.pattern.search(line)
        text = rule.text.format(line=line.strip(), **(match.groupdict() if match else {}))
        self._keep(rule.code, text)
        self.counts[rule.code] += 1
        return self._tell(rule.severity, text, line)

    def _keep(self, code: str, text: str) -> None:
        """Keep the first text of a cause; of one that MPI tells in several lines, all of them."""
        kept = self.codes.setdefault(code, text)
        if code in IN_PARTS and text not in kept and kept.count("; ") < 2:
            self.codes[code] = f"{kept}; {text}"

    def _tell(self, severity: Severity, text: str, line: str) -> LogLine | None:
        key = re.sub(r"\d+", "0", line)
        if key in self._told or len(self._told) >= KEPT:
            return None
        self._told.add(key)
        return severity, text
