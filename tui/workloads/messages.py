"""Explain messages of load generators, mpiexec and MPI libraries."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tui.model.event import Severity
from tui.model.operands import Told, clause, several
from tui.text.form import Text
from tui.workloads.reading import LogLine

MOST_KINDS = 500  # distinct lines that are counted; the raw output keeps all
MOST_QUOTED = 4096  # characters of a line
LINE, ERR_LINE, MPI_LINE = "line", "err-line", "mpi-line"  # codes of lines, by set of rules
MOST_PARTS = 3  # texts of one cause that are joined
REPEAT_AT = frozenset({10, 100, 1_000, 10_000, 100_000})
_VARYING = re.compile(r"\d+")
HINTS = {
    301: "the bucket is in another region",
    307: "the bucket is in another region",
    400: "the store rejected the request; often the region is wrong",
    401: "the store rejected the keys",
    403: "wrong keys, no permission for the bucket, or the host's clock is off",
    404: "the bucket does not exist",
    409: "the bucket is not empty, or belongs to another account",
    429: "the store throttles requests",
    503: "the store is overloaded or throttles requests",
}
BUSY = (429, 503)
TO_CHECK = "check endpoint, https and the network of the host"  # if a store does not answer


@dataclass(frozen=True, slots=True)
class Rule:
    """A known message; `code` identifies its cause.

    `text` may refer to the pattern's named groups and to `line` in braces, or is a function of the
    match; empty if the message is not worth reporting.
    """

    pattern: re.Pattern[str]
    severity: Severity
    text: str | Callable[[re.Match[str]], str]
    code: str | None = None

    def words(self, match: re.Match[str]) -> str:
        """Return the explanation of a line that matches."""
        if isinstance(self.text, str):
            return self.text.format(line=match.string.strip(), **match.groupdict())
        return self.text(match)


def rule(
    pattern: str,
    severity: Severity,
    text: str | Callable[[re.Match[str]], str],
    code: str | None = None,
) -> Rule:
    """Build a rule from its table entry."""
    return Rule(re.compile(pattern), severity, text, code)


def silent(*patterns: str) -> Rule:
    """Return a rule for lines that are not worth reporting."""
    return rule("|".join(patterns), "info", "")


Explained = tuple[Severity, str, Told, str | None]  # text, text as a code, code of the cause


def texts_of(rules: Sequence[Rule], kind: str = LINE) -> dict[str, Text]:
    """Return the texts, by code, for what an explainer with these rules returns."""
    return {
        kind: partial(_explained, rules),
        "seen-times": "{quote} (seen {times} times)",
        "several": "{texts:lines}",
    }


@functools.lru_cache(MOST_KINDS)
def _explained(rules: Sequence[Rule], quote: str) -> str:
    found = ((each, each.pattern.search(quote)) for each in rules)
    return next((each.words(match) for each, match in found if match), quote)


class Explainer:
    """Explains lines by the first matching rule: once each, and again when seen 10, 100, ... times.

    Lines that differ only in numbers (process ids, offsets) count as the same. `codes` has the
    first explanation of each cause, or the first few for codes in `in_parts`; `counts` is the
    number of times each cause was seen; `errors` are the explanations of severity error. `unknown`
    explains lines that match no rule. A line that matches a rule is returned as a code, `kind`,
    with the line as printed: `texts_of` explains it again where it is shown.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        unknown: Callable[[str], tuple[Severity, str]],
        in_parts: Collection[str] = (),
        kind: str = LINE,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.errors: list[Told] = []
        self._parts: dict[str, dict[str, Told]] = {}  # by cause, and by text
        self._rules, self._unknown, self._in_parts, self._kind = rules, unknown, in_parts, kind
        self._seen: Counter[str] = Counter()
        self._known: dict[str, Explained] = {}

    @property
    def codes(self) -> dict[str, Told]:
        """The explanations of each cause, by code."""
        return {code: several(*parts.values()) for code, parts in self._parts.items()}

    def explain(self, line: str) -> LogLine | None:
        """Return the report for a line; None if it is not worth reporting, or a repeat."""
        severity, text, told, code = self._remembered(line)
        if not text:
            return None
        if code:
            self.counts[code] += 1
            self._keep(code, text, told)
        times = self._times(line)
        if times == 1:
            self.errors += [told] if severity == "error" else []
            return severity, told
        again = times in REPEAT_AT
        return (severity, clause("seen-times", quote=told, times=times)) if again else None

    def explain_all(self, lines: Sequence[str]) -> list[LogLine]:
        """Return the reports for several lines, without repeats."""
        return [each for line in lines if (each := self.explain(line)) is not None]

    def _remembered(self, line: str) -> Explained:
        """Return the explanation of a line, cached because rules are slow and floods repeat
        lines.
        """
        if (known := self._known.get(line)) is None:
            known = self._explained(line)
            if len(self._known) < MOST_KINDS:
                self._known[line] = known
        return known

    def _explained(self, line: str) -> Explained:
        for each in self._rules:
            if match := each.pattern.search(line):
                text = each.words(match)
                quotes = text in line  # and needs no explanation
                told = text if quotes else clause(self._kind, quote=line[:MOST_QUOTED])
                return each.severity, text, told, each.code
        severity, text = self._unknown(line)
        return severity, text, text, None

    def _keep(self, code: str, text: str, told: Told) -> None:
        kept = self._parts.setdefault(code, {})
        if not kept or (code in self._in_parts and len(kept) < MOST_PARTS):
            kept.setdefault(text, told)

    def _times(self, line: str) -> int:
        """Return the number of times a line was seen; 0 once there are too many distinct lines."""
        key = _VARYING.sub("0", line)
        if key not in self._seen and len(self._seen) >= MOST_KINDS:
            return 0
        self._seen[key] += 1
        return self._seen[key]


IN_PARTS = ("mpi-rank-died", "mpi-proxy-died")
UNREACHABLE = ("mpi-ssh", "mpi-unreachable")  # causes that make MPI wait forever

HARMLESS = silent(
    r"plm:rsh: Warning: setpgid|Press Ctrl-C again|Sending Ctrl-C|BAD TERMINATION|YOU CAN IGNORE"
    r" THE BELOW",
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
        r"PID (?P<pid>\d+) RUNNING AT (?P<at>\S+)",
        "error",
        "rank process {pid} on {at} failed",
        "mpi-rank-died",
    ),
    rule(r"EXIT STRING: (?P<how>.+)", "error", "a rank exited: {how}", "mpi-rank-died"),
    rule(
        r"process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<node>\S+) exited on"
        r" (?P<how>.+?)\.?$",
        "error",
        "rank {rank} (process {pid} on {node}) exited: {how}",
        "mpi-rank-died",
    ),
    rule(
        r"lost communication with a remote daemon",
        "error",
        "mpiexec lost contact with its proxy on a host",
        "mpi-proxy-died",
    ),
    rule(
        r"Remote daemon: \S+ on node (?P<node>\S+)",
        "error",
        "the lost MPI proxy ran on {node}",
        "mpi-proxy-died",
    ),
    rule(
        r"unable to connect to server (?P<to>\S+) at port (?P<port>\d+)",
        "error",
        "cannot reach mpiexec at {to} port {port}: check the firewall and the address",
        "mpi-unreachable",
    ),
    rule(
        r"execvp error on file (?P<file>\S+) \((?P<why>[^)]*)\)",
        "error",
        "cannot start {file}: {why}",
        "mpi-program-missing",
    ),
    rule(
        r"could not find the executable|was unable to launch|unable to find the specified"
        r" executable",
        "error",
        "cannot start the program: {line}",
        "mpi-program-missing",
    ),
    rule(r"not enough slots", "error", "MPI has fewer slots than ranks: {line}", "mpi-slots"),
    rule(
        r"token slots not supported|unrecognized argument",
        "error",
        "mpiexec belongs to another MPI family: {line}",
        "mpi-mixed",
    ),
    rule(r"UCX +ERROR (?P<what>.*)", "error", "MPI's network layer: {what}", "mpi-network"),
    rule(
        r"unable to (?:connect|reach)|Connection refused|No route to host|Network is"
        r" unreachable|connect\(\).*failed",
        "error",
        "hosts cannot connect to each other: {line}",
        "mpi-unreachable",
    ),
    rule(
        r"error while loading shared libraries: (?P<what>.*)",
        "error",
        "missing library: {what}",
        "mpi-library-missing",
    ),
    rule(r"MPI_Abort\(|Abort\(-?\d+\) on node \d+", "error", "a rank aborted: {line}", "mpi-abort"),
)
FILE_SYSTEM = (
    rule(
        r"No space left on device",
        "error",
        "no space or no inodes left on the file system under test: {line}",
        "no-space",
    ),
    rule(r"Disk quota exceeded", "error", "disk quota exceeded: {line}", "no-space"),
    rule(
        r"Read-only file system",
        "error",
        "the file system under test is read-only: {line}",
        "dir-not-writable",
    ),
    rule(
        r"Permission denied",
        "error",
        "permission denied in the file system under test: {line}",
        "dir-not-writable",
    ),
)
MUTTERED = rule(r"WARNING|\bERROR\b|unable to |assert", "warning", "MPI: {line}")


# lines of the help that IOR and mdtest print after a wrong option
HELP = r"^(Synopsis|Flags|Optional arguments|Module \w+|  -\w|Invalid options| +--?[\w.-]+[ =])"


def rejected_option(title: str, code: str) -> Rule:
    """Return the rule for an option that a program rejects."""
    return rule(
        r"(Error invalid argument:|invalid option --) (?P<what>.*)",
        "error",
        f"{title} rejects {{what}}: check the profile's options against this version of {title}",
        code,
    )


def warnings(title: str, code: str, known: str, so: str) -> tuple[Rule, Rule]:
    """Return the rules for warnings of IOR and mdtest: the `known` ones (a pattern) are passed on,
    all others are errors with the consequence `so`.
    """
    return (
        rule(rf"^(\w+ )?WARNING: (?P<what>.*({known}).*)", "warning", f"{title} warns: {{what}}"),
        rule(r"^(\w+ )?WARNING: (?P<what>.*)", "error", f"{title} warns: {{what}}; {so}", code),
    )


def rules_of_program(
    own: Sequence[Rule],
    warned: Sequence[Rule] = (),
    on_stdout: Sequence[Rule] = (),
    on_stderr: Sequence[Rule] = (),
) -> tuple[Sequence[Rule], Sequence[Rule]]:
    """Return the rules of an MPI program's stdout and stderr.

    `own` are for its messages on either, `warned` for those on stdout only; `on_stdout` and
    `on_stderr` are for lines that no rule for MPI matches.
    """
    out = (HARMLESS, *FILE_SYSTEM, *own, *warned, *MPI, *on_stdout)
    return out, (HARMLESS, *SSH, *FILE_SYSTEM, *own, *MPI, *on_stderr, MUTTERED)


OF_MPI = (HARMLESS, *SSH, *MPI, MUTTERED)


def explainer(rules: Sequence[Rule], kind: str = LINE) -> Explainer:
    """Return an explainer of messages of an MPI program, or of MPI itself."""
    return Explainer(rules, unknown, IN_PARTS, kind)


def mpi_explainer() -> Explainer:
    """Return an explainer of messages from MPI itself."""
    return explainer(OF_MPI, MPI_LINE)


def unknown(line: str) -> tuple[Severity, str]:
    """Return an unknown line as a log line of severity info, without surrounding blanks."""
    return "info", line.strip()


def unreachable(codes: Mapping[str, Told]) -> Told:
    """Return the message about a cause that makes MPI wait forever; empty if there is none."""
    return next((codes[code] for code in UNREACHABLE if code in codes), "")


BUCKET: Mapping[str, Text] = {
    "bucket-missing": lambda target: f"{target}: {http_error_text('bucket HEAD', 404)}",
    "bucket-silent": f"{{target}}: no answer: {{quote}}; {TO_CHECK}",
}


def http_error_text(request: str, status: int, when_busy: str = "", when_missing: str = "") -> str:
    """Return the message for a request that failed with an HTTP status, with its likely cause.

    `when_busy`: what the load generator does if the store asks for fewer requests; `when_missing`:
    meaning of 404 if the bucket may exist.
    """
    hint = HINTS.get(status, "see the store's log")
    if status == 404 and when_missing:
        hint = when_missing
    more = f"; {when_busy}" if when_busy and status in BUSY else ""
    return f"{request} failed with HTTP {status}: {hint}{more}"
