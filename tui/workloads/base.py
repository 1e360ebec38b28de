"""Interface of load generators. Outside a load generator's own folder, no code refers to it by
name.

One interface per use: profiles, planning, hosts, reading, display, import. `Workload` combines
them, with defaults for optional parts: derive from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct
from msgspec.structs import force_setattr

from tui.model.operands import Clause, Operands
from tui.model.plain import TAG_PATTERN, printable
from tui.model.problem import Problem, UsageError
from tui.model.quantities import shown
from tui.model.tool import InProfile
from tui.workloads.reading import Item, LogLine, Reader
from tui.workloads.terms import GivenTerms, JobTerm, TermJob, TermParam

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.model.event import (
        Contradiction,
        HostResult,
        MetadataResult,
        PhaseName,
        Sample,
    )
    from tui.model.plan import FileSpec, HostTask, JobLoad, Step
    from tui.model.profile import Param, ParamValue, Profile
    from tui.model.search import Change, Offer
    from tui.text.form import Text
    from tui.workloads.mpi import MpiProgram

LatencyKind = Literal["clat", "lat"]
ExecutorName = Literal["per-host", "mpi"]
# a load generator takes all from here
__all__ = [
    "FromTerms",
    "Item",
    "JobTerm",
    "LogLine",
    "Reader",
    "Requirement",
    "TargetCheck",
    "TermJob",
    "TermParam",
    "Workload",
]


class Requirement(Struct, frozen=True):
    """A command that a host must have before the run starts, by name on PATH or by absolute path.

    Run with `trial_args`, which touch no target, it must exit with 0, or print `trial_fine`.
    `trial_of` names what the trial tests, such as "ioengine rbd". For hosts without the command:
    `package` is its distribution package, `source` another place to get it.
    """

    command: str
    minimum: tuple[int, int] | None = None
    version_args: tuple[str, ...] = ("--version",)
    trial_args: tuple[str, ...] = ()
    trial_of: str = ""
    trial_fine: str = ""
    source: str = ""
    package: str = ""


class TargetCheck(Struct, frozen=True):
    """A command that tests from a host whether a target outside the host's file systems exists.

    It changes nothing. It runs before the run starts, with the run's secrets in its environment, if
    the host has the command `needs`. `target` names the target in messages.
    """

    target: str
    words: tuple[str, ...]
    needs: str


class Paced(Struct, frozen=True):
    """A step that offers a rate; `caveats` say how it does so, as codes of `Workload.texts`.

    `unpaced`: why its jobs cannot offer a rate; empty if they can. `own_ramp`: the ramp comes from
    the profile, or there is none.
    """

    step: Step
    caveats: tuple[Clause, ...] = ()
    unpaced: str = ""
    own_ramp: bool = False


class Planning(Protocol):
    """Planning interface of a load generator. Pure."""

    searched: bool = False  # it has `pace`, which capacity searches need

    def build_steps(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: list[HostAddress],
        seeds: Mapping[str, int],
    ) -> list[Step]:
        """Return the steps of a profile on these hosts: exactly one. Raises UsageError."""

    def warm(self, profile: Profile, seconds: float) -> Profile:
        """Return a profile that runs the same load for this long, bounded by time only.

        Raises UsageError if the load cannot run for a set time.
        """
        raise UsageError(f"{profile.profile}: {profile.tool} has no warm-up")

    def fill(self, steps: Sequence[Step], times: int, block_bytes: int) -> list[HostTask]:
        """Return one task per host that writes all files or objects of these steps sequentially,
        `times` times.

        Raises UsageError if the steps have no files or objects, or if these are unknown.
        """
        raise UsageError(f"{steps[0].tool} has no files to fill")

    def vary(self, profile: Profile, params: Mapping[str, ParamValue], change: Change) -> Profile:
        """Return a profile with one change and otherwise the same load on the same files.

        Raises UsageError if the change is not possible.
        """
        raise UsageError(f"{profile.profile}: {profile.tool} has no counter-experiment")

    def pace(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: Sequence[HostAddress],
        seeds: Mapping[str, int],
        offer: Offer,
    ) -> Paced:
        """Return the step that offers a load.

        `offer` gives the rate over all hosts and directions (`rate_iops`; None: full load), the
        length (`seconds`), and the share of each job if there are several (`shares`). Raises
        UsageError for a load that cannot be paced.
        """
        raise UsageError(f"{profile.profile}: {profile.tool} cannot limit its rate")

    def set_by_search(self, profile: Profile, params: Mapping[str, ParamValue]) -> list[Clause]:
        """Return notes on settings of a profile that a search overrides, as codes of `texts`."""
        return []

    def lengths(self, profile: Profile) -> list[str]:
        """Return the parameters that only set the duration of the jobs; searches ignore them."""
        return []


class OnHost(Protocol):
    """Interface of a load generator on hosts, before and while its commands run."""

    job_file: str = "job"  # name of a task's `job_file` in the directory of its command
    # one command on each host, released together; or one MPI program over all
    executor: ExecutorName = "per-host"
    # its processes keep the planned command line, except for the path of the program
    keeps_command: bool = False
    # codes of problems that only say that it was stopped; the engine knows by whom
    end_codes: frozenset[str] = frozenset()

    # checks of hosts without a plan require it
    expected: bool = False
    # what to do about a problem that the engine found, by its code
    advice_by_code: Mapping[str, str] = {}

    def changing_words(self, words: Sequence[str]) -> Sequence[str]:
        """Return which words, added to a planned command line, change the load."""
        return ()

    def sent_job(self, job_file: str) -> str:
        """Return a planned job file as the program needs it on the host."""
        return job_file

    def opens_files(self, task: HostTask) -> bool:
        """Return whether each process that does I/O has test files open by their names, from its
        start to its end, and no other files but those it only writes to (logs).
        """
        return False

    def requirements(self, steps: Sequence[Step]) -> Sequence[Requirement]:
        """Return the commands that each host of these steps must have.

        Without steps: those that every run needs.
        """
        return ()

    def extras(self) -> Sequence[Requirement]:
        """Return requirements that only some profiles have; `hosts check` tests and lists them."""
        return ()

    def direct_sizes(self, task: HostTask) -> dict[str, tuple[int, ...]]:
        """Return the sizes of a task's direct I/O in bytes, by file, device or directory.

        A size may be left out if it is a multiple of another.
        """
        return {}

    def target_checks(self, steps: Sequence[Step]) -> Sequence[TargetCheck]:
        """Return the commands that check whether the targets of these steps exist."""
        return ()

    def target_problem(self, check: TargetCheck, said: str) -> tuple[str, Clause | str] | None:
        """Return (code, message) for a failed check, from what its command printed (`said`); None
        if the run may continue.
        """
        return f"{check.needs}-no-target", f"{check.target}: {said}"

    def program(self, step: Step) -> MpiProgram:
        """Return the program that a step with the MPI executor launches.

        Raises UsageError if this load generator is not an MPI program.
        """
        raise UsageError(f"{step.tool} is not an MPI program")

    def simplest(self) -> MpiProgram | None:
        """Return the smallest MPI program of this load generator, for checking hosts without a
        plan; None if it has none.
        """
        return None

    def layout_job(self, files: list[FileSpec]) -> str:
        """Return the job file that writes these files once, sequentially.

        Raises UsageError if this load generator creates its own files.
        """
        raise UsageError("this load generator creates its own files; nothing to lay out")

    def layout_argv(self) -> list[str]:
        """Return the command that runs a layout job file; raises as `layout_job` does."""
        raise UsageError("this load generator creates its own files; nothing to lay out")

    def advice(self, code: str) -> str:
        """Return advice on a problem that the engine found, by its code; empty if there is none."""
        return self.advice_by_code.get(code, "")


class Reading(Protocol):
    """Interface for reading a command's output."""

    def reader(self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind) -> Reader:
        """Return a reader for the output of one command."""


class OperationFinding(Struct, frozen=True):
    """A finding about an imperfect result; `phases` are the phases it affects.

    `code` names the text in `Workload.texts`; `operands` are the values in it.
    """

    code: str
    operands: Operands
    phases: tuple[str, ...]
    measured: float
    threshold: float


class Showing(Protocol):
    """Interface for screens, records and headless verbs."""

    # samples of each host, or phases of one program over all hosts
    reports: Literal["samples", "operations"] = "samples"
    # whose clock times its iterations
    iterations_of: Literal["rank 0", "all ranks"] = "all ranks"
    latency_meaning: str = ""  # what the latency of its operations is, where it prints one

    def meaning(self, version: str, *, from_iterations: bool) -> str:
        """Return the meaning of max and min of operations, in a summary or, with `from_iterations`,
        over completed iterations; empty if it has neither.
        """
        return ""

    def spread(self, result: MetadataResult) -> Clause | None:
        """Return how operations were spread over hosts, as a code of `texts` with operands; None
        if not worth mentioning.
        """
        return None

    def operation_findings(self, result: MetadataResult) -> Sequence[OperationFinding]:
        """Return findings about the operations of a result."""
        return ()

    def texts(self) -> Mapping[str, Text]:
        """Return the texts of its findings, of its notes on plans and of `spread`, by code."""
        return {}

    def contradiction_texts(self) -> Mapping[str, str]:
        """Return the texts of the contradictions that its readers find in output, by code."""
        return {}

    def outline(
        self, profile: Profile, params: Mapping[str, ParamValue]
    ) -> Sequence[tuple[str, str]]:
        """Return (name, main options) of each job. Raises UsageError."""
        return ()

    def job_text(self, profile: Profile, params: Mapping[str, ParamValue]) -> str:
        """Return the job file for one host in the tool's own syntax; empty if it has none.

        Raises UsageError.
        """
        return ""


class Imported(Struct, frozen=True):
    """Profiles from a job file as (tag, YAML); the one to run comes first.

    `messages`: what the import changed.
    """

    profiles: list[tuple[str, str]]
    messages: list[Problem]


class FormatMark(Struct, frozen=True):
    """What identifies a measurement that a tool writes in several formats at once.

    `rank`: the format with the lowest rank has the most figures. `moment`: when it began, with its
    command; empty if the format has neither. `amounts` and `rates` are whole numbers by name.
    """

    format: str
    rank: int
    phase: str
    moment: str
    amounts: dict[str, int]
    rates: dict[str, int]


class LoadOptions(Struct, frozen=True):
    """Options of an imported load that affect its figures, by the load generator's names for them.

    `complete`: options that are not among `values` have their defaults; otherwise they are unknown.
    """

    values: dict[str, str]
    complete: bool = True


class ImportedOutput(Struct, frozen=True):
    """One imported output: the result of one host in one measurement.

    `place` is the number of the measurement in its file, from 0. `host` is empty if the output has
    no host name. `loads` is empty and `runtime_s` None if neither the output nor a command line
    above it contains them.
    """

    place: int
    name: str
    result: HostResult
    host: str = ""
    loads: Sequence[JobLoad] = ()
    runtime_s: float | None = None
    command: str = ""
    stamp_error_s: float = 0.001
    metadata: MetadataResult | None = None
    samples: Sequence[Sample] = ()
    problems: Sequence[tuple[str, Clause | str]] = ()
    tool: str = ""  # the load generator that wrote it; empty: the one that read it
    mark: FormatMark | None = None  # of a measurement that may be saved in several formats
    options: LoadOptions | None = None  # None: neither in the output nor in a command line


class KeptFile(Struct, frozen=True):
    """One file of saved output. `name` is its path relative to the imported directory, `place` its
    name in messages.

    Both are made printable, because names in archives are arbitrary; `text` is unchanged.
    """

    name: str
    place: str
    text: str

    def __post_init__(self) -> None:
        """Replace unprintable characters in the names."""
        force_setattr(self, "name", printable(self.name))
        force_setattr(self, "place", printable(self.place))


class KeptLog(Struct, frozen=True):
    """The logs of one load, with the result computed from them in `output`.

    `stem` is the file name, without suffix, that its result file would have. Sample times are times
    of day, or relative to the start of the load.
    """

    stem: str
    output: ImportedOutput
    files: Sequence[KeptFile]


class BesideLogs(Struct, frozen=True):
    """An output compared with the logs of its run.

    `whole`: the logs cover all its jobs, with one log per worker, so that they add up to its
    result.
    """

    contradictions: Sequence[Contradiction] = ()
    whole: bool = True


class KeptRun(Struct, frozen=True):
    """Related outputs in a directory: one mapping from host to output per measurement.

    `files` are their sources; `caveats` say what was left out, and why: as
    codes of `tui/text/run_texts.py`, or as texts.
    """

    name: str
    measurements: Sequence[Mapping[str, ImportedOutput]]
    files: Sequence[KeptFile]
    caveats: Sequence[Clause | str] = ()


class Format(Protocol):
    """Reader for saved output in one format, or from one load generator."""

    name: str

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return every output of this format in a text; empty if there is none.

        Raises UsageError with the line that cannot be read.
        """
        return ()

    def import_tree(self, files: Sequence[KeptFile]) -> Sequence[KeptRun]:
        """Return the runs in a directory that has this format's layout; empty if it has another.

        Raises UsageError.
        """
        return ()

    def import_logs(self, files: Sequence[KeptFile]) -> Sequence[KeptLog]:
        """Return the results computed from log files in one directory. Raises UsageError."""
        return ()

    def beside_logs(self, file: KeptFile, logs: Sequence[KeptFile]) -> BesideLogs:
        """Compare an output with the logs of its run."""
        return BesideLogs()


class Importing(Format, Protocol):
    """Interface for importing job files and saved output."""

    job_files: tuple[str, ...] = ()  # suffixes of job files that can be imported

    def is_job(self, text: str) -> bool:
        """Return whether a text is a job file of this load generator. Called only if several load
        generators use the file's suffix.
        """
        return False

    def import_job(
        self, text: str, file: str, tag: str | None, environ: Mapping[str, str]
    ) -> Imported:
        """Return the profiles of a job file. Raises UsageError with all problems."""
        raise UsageError(f"{file}: job files of this load generator cannot be imported")


class FromTerms(Protocol):
    """Interface for jobs without a profile: ``benchtui run TOOL key=value ...`` and the Job
    form.
    """

    def job_terms(self) -> Sequence[JobTerm]:
        """Return the common keys in form order; empty if this load generator runs profiles only."""
        return ()

    def term_names(self) -> Sequence[str]:
        """Return all accepted keys, including those of `job_terms`, for completion."""
        return [term.name for term in self.job_terms()]

    def job_of_terms(self, given: GivenTerms) -> TermJob:
        """Return the job of these terms, with defaults for missing ones. Raises UsageError."""
        raise UsageError("this load generator requires a profile: see benchtui profiles list")

    def part_of(self, words: str) -> str:
        """Return the normal form of words that have a meaning together with others, such as
        ``random`` with ``read``; empty for other words.
        """
        return ""

    def terms_of_parts(self, parts: Sequence[str]) -> Mapping[str, str]:
        """Return the terms that normal forms mean together; empty if they contradict each other."""
        return {}

    def words_of_parts(self, terms: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """Return words for these terms that `part_of` accepts, each with the keys that it covers;
        empty if there are none.
        """
        return {}


class ProfilesOnly(FromTerms):
    """Implementation of `FromTerms` for a load generator that runs profiles only."""


class Workload(InProfile, Planning, OnHost, Reading, Showing, Importing, Protocol):
    """Complete interface of a load generator."""

    name: str

    def from_terms(self) -> FromTerms:
        """Return the builder of jobs from ``key=value`` terms."""
        return ProfilesOnly()


def param_text(param: Param) -> str:
    """Return a parameter of an imported profile as YAML in one line."""
    import json

    from tui.model.yaml_text import number_or_scalar, scalar

    text = str(param.default)
    # within braces, a comma would end the value
    default = json.dumps(text, ensure_ascii=False) if "," in text else number_or_scalar(text)
    return f"{{default: {default}, kind: {param.kind}, help: {scalar(param.help)}}}"


def default_tag(file: str) -> str:
    """Return ``my/name`` for a path, in the characters allowed in tags."""
    name = re.sub(r"[^a-z0-9._-]+", "-", PurePath(file).stem.lower()).strip("-._")
    return f"my/{name or 'imported'}"


def checked_tag(tag: str | None, file: str) -> str:
    """Return a tag, by default one named after the file. Raises UsageError if it is invalid."""
    tag = tag or default_tag(file)
    if not re.fullmatch(TAG_PATTERN, tag):
        raise UsageError(
            f"profile name {shown(tag)}: expected family/name in lower case, such as my/read"
        )
    return tag
