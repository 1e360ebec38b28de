"""The interface of load generators. Nothing outside a generator's own folder knows it by name.

It is split by user: profiles, planning, the hosts, reading, showing, import. `Workload` is all of
them, with defaults for what a simple load generator does not need: derive from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct
from msgspec.structs import force_setattr

from tui.model.plain import printable
from tui.model.problem import Problem, UsageError
from tui.model.tool import InProfile
from tui.workloads.reading import Item, LogLine, Reader
from tui.workloads.terms import GivenTerms, JobTerm, TermJob, TermParam

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.model.event import HostResult, MetadataResult, PhaseName, Sample
    from tui.model.plan import FileSpec, HostTask, JobLoad, Step
    from tui.model.profile import ParamValue, Profile
    from tui.model.search import Change, Offer
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
    """A command that a host must have before anything starts: by name on PATH, or by absolute path.

    With the arguments `trial_args` it must end well: a look that touches no target. `trial_of` is
    what that shows, such as "ioengine rbd". `trial_fine` is what a command may say that ends badly
    and is well all the same. For hosts that have none: `package`, its name in
    distributions, and `source`, where else it comes from.
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
    """A command that shows from a host whether a target past its files is there.

    It changes nothing.

    It runs before anything starts, with the secrets of the run in its environment, if the host has
    the command `needs`. `target` is what messages call it.
    """

    target: str
    words: tuple[str, ...]
    needs: str


class Paced(Struct, frozen=True):
    """A step that offers a rate; `remarks` are what to know of how it does.

    `unpaced`: why no rate can be offered with its jobs; empty: one can. `own_ramp`: its ramp is the
    profile's own.
    """

    step: Step
    remarks: tuple[str, ...] = ()
    unpaced: str = ""
    own_ramp: bool = False


class Planning(Protocol):
    """The interface for planning. Pure."""

    searched: bool = False  # it has `pace`: what a system sustains can be searched for with it

    def build_steps(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: list[HostAddress],
        seeds: Mapping[str, int],
    ) -> list[Step]:
        """Return the step of a profile on these hosts. Raises UsageError."""

    def warm(self, profile: Profile, seconds: float) -> Profile:
        """Return a profile with the same load for this long, bounded by time only."""
        raise UsageError(f"{profile.profile}: {profile.tool} has no warm-up")

    def fill(self, steps: Sequence[Step], times: int, block_bytes: int) -> list[HostTask]:
        """Return what each host of these steps does to write all its files sequentially, so many
        times.

        Raises UsageError if there are none, or they are unknown.
        """
        raise UsageError(f"{steps[0].tool} has no files to fill")

    def vary(self, profile: Profile, params: Mapping[str, ParamValue], change: Change) -> Profile:
        """Return a profile with the same load on the same files, except for one change.

        Raises UsageError with the reason if the change is not possible.
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
        """Return the step that offers a load over all hosts and directions.

        `offer` gives the rate (`rate_iops`; None: full load), the length (`seconds`), and the share
        of each of several jobs (`shares`). Raises UsageError with the reason for a load that cannot
        be paced.
        """
        raise UsageError(f"{profile.profile}: {profile.tool} cannot be held to a rate")

    def set_by_search(self, profile: Profile, params: Mapping[str, ParamValue]) -> list[str]:
        """Return settings of a profile that a search decides itself, as text."""
        return []

    def lengths(self, profile: Profile) -> list[str]:
        """Return the parameters that set only the duration of its jobs: searches ignore them."""
        return []


class OnHost(Protocol):
    """The interface for the engine, before and while commands run on hosts."""

    job_file: str = "job"  # what a task's `job_file` is called in the directory its command runs in
    # one command on each host, released together; or one MPI program over all
    executor: ExecutorName = "per-host"
    # verdicts that only say that it was ended; the engine knows by whom
    end_codes: frozenset[str] = frozenset()

    # checks of hosts without a plan look for it, and report hosts without it as unfit
    expected: bool = False
    # what to do about a problem that the engine found, by its code
    advice_by_code: Mapping[str, str] = {}

    def requirements(self, steps: Sequence[Step]) -> Sequence[Requirement]:
        """Return what each host of these steps must have.

        Without steps: what every run of it needs.
        """
        return ()

    def extras(self) -> Sequence[Requirement]:
        """Return features that only some profiles need; `hosts check` tests and lists them."""
        return ()

    def target_checks(self, steps: Sequence[Step]) -> Sequence[TargetCheck]:
        """Return how a host of these steps checks that their targets exist."""
        return ()

    def target_problem(self, check: TargetCheck, said: str) -> tuple[str, str] | None:
        """Return (code, message) for a failed check; None to continue."""
        return f"{check.needs}-no-target", f"{check.target}: {said}"

    def program(self, step: Step) -> MpiProgram:
        """Return the program that a step of the MPI executor launches."""
        raise UsageError(f"{step.tool} is not an MPI program")

    def simplest(self) -> MpiProgram | None:
        """Return the smallest program of the MPI executor, to check hosts without a plan."""
        return None

    def layout_job(self, files: list[FileSpec]) -> str:
        """Return the job file that writes these files once, sequentially."""
        raise UsageError("this load generator creates its own files; nothing to lay out")

    def layout_argv(self) -> list[str]:
        """Return the command that runs a layout job file."""
        raise UsageError("this load generator creates its own files; nothing to lay out")

    def advice(self, code: str) -> str:
        """Return advice on a problem found by the engine; empty if there is none."""
        return self.advice_by_code.get(code, "")


class Reading(Protocol):
    """The interface for reading a command's output."""

    def reader(self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind) -> Reader:
        """Return a reader for one command's output."""


class Doubt(Struct, frozen=True):
    """A reason to doubt a result, as a finding: `phases` are the ones it applies to."""

    code: str
    message: str
    phases: tuple[str, ...]
    measured: float
    threshold: float


class Showing(Protocol):
    """The interface for screens, records and headless verbs."""

    # of each host; or phases of one program over all hosts
    reports: Literal["samples", "operations"] = "samples"
    # whose clock the rates of its iterations are by
    iterations_of: Literal["rank 0", "all ranks"] = "all ranks"
    latency_meaning: str = ""  # what the latency of its operations is, where it prints one

    def meaning(self, version: str, *, from_iterations: bool) -> str:
        """Return what max and min of its operations are: from its own summary, or from completed
        iterations.
        """
        return ""

    def spread_text(self, result: MetadataResult) -> str:
        """Return how operations were spread over the hosts; empty if there is nothing to say."""
        return ""

    def doubts(self, result: MetadataResult) -> Sequence[Doubt]:
        """Return what makes the operations of a result doubtful."""
        return ()

    def outline(
        self, profile: Profile, params: Mapping[str, ParamValue]
    ) -> Sequence[tuple[str, str]]:
        """Return each job's name and its characteristic options. Raises UsageError."""
        return ()

    def job_text(self, profile: Profile, params: Mapping[str, ParamValue]) -> str:
        """Return the job file as the tool reads it, for one host; empty if it has none.

        Raises UsageError.
        """
        return ""


class Imported(Struct, frozen=True):
    """Profiles from a job file, as (tag, YAML), the one to run first.

    Also what was changed.
    """

    profiles: list[tuple[str, str]]
    messages: list[Problem]


class ImportedOutput(Struct, frozen=True):
    """One imported output: the results of one host in one measurement.

    `place` is the number of the measurement in its file, from 0. `host` is the name in the output,
    empty if it has none. `loads` and `runtime_s` are empty and None if neither the output nor a
    command line above it gives them.
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
    problems: Sequence[tuple[str, str]] = ()
    tool: str = ""  # whose output it is; empty: of the load generator that read it


class KeptFile(Struct, frozen=True):
    """One file of saved output: `name` is its path within the given one, `place` its name in
    messages.

    Both are printable, whatever names an archive contains; `text` is unchanged.
    """

    name: str
    place: str
    text: str

    def __post_init__(self) -> None:
        """Make the names printable."""
        force_setattr(self, "name", printable(self.name))
        force_setattr(self, "place", printable(self.place))


class KeptLog(Struct, frozen=True):
    """The logs of one load: `output` is computed from them, `stem` is the name its result would
    have.

    Times of its samples are times of day, or relative to the begin of the load.
    """

    stem: str
    output: ImportedOutput
    files: Sequence[KeptFile]


class KeptRun(Struct, frozen=True):
    """Outputs of a directory that belong together: measurements, each by host.

    `files` are their sources, `remarks` what was left out and why.
    """

    name: str
    measurements: Sequence[Mapping[str, ImportedOutput]]
    files: Sequence[KeptFile]
    remarks: Sequence[str] = ()


class Format(Protocol):
    """A reader of saved output: of a format, or of a load generator."""

    name: str

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return every output of it in a text. Raises UsageError."""

    def import_tree(self, files: Sequence[KeptFile]) -> Sequence[KeptRun]:
        """Return the runs in a directory in this tool's layout. Raises UsageError."""
        return ()

    def import_logs(self, files: Sequence[KeptFile]) -> Sequence[KeptLog]:
        """Return the results of logs among the files of one directory. Raises UsageError."""
        return ()


class Importing(Protocol):
    """The interface for importing job files and saved output."""

    job_files: tuple[str, ...] = ()  # how the names of job files end that can be imported

    def is_job(self, text: str) -> bool:
        """Return whether a text is a job file of this load generator, if several use the same
        suffix, or none.
        """
        return False

    def import_job(
        self, text: str, file: str, tag: str | None, environ: Mapping[str, str]
    ) -> Imported:
        """Return the profiles of a job file. Raises UsageError with every problem."""
        raise UsageError(f"{file}: job files of this load generator cannot be imported")

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return every output of this load generator in a pasted text; empty if there is none.

        Raises UsageError with the line that cannot be read.
        """
        return ()

    def import_tree(self, files: Sequence[KeptFile]) -> Sequence[KeptRun]:
        """Return the runs in a directory in this tool's layout; else none.

        Raises UsageError.
        """
        return ()

    def import_logs(self, files: Sequence[KeptFile]) -> Sequence[KeptLog]:
        """Return the results of logs among the files of one directory. Raises UsageError."""
        return ()


class FromTerms(Protocol):
    """The interface for jobs without a profile: ``benchtui run TOOL key=value ...`` and the Job
    form.
    """

    def job_terms(self) -> Sequence[JobTerm]:
        """Return the common keys, in form order; empty: it runs profiles only."""
        return ()

    def term_names(self) -> Sequence[str]:
        """Return all accepted keys, including those of `job_terms`, for completion."""
        return [term.name for term in self.job_terms()]

    def job_of_terms(self, given: GivenTerms) -> TermJob:
        """Return the job of these terms, with defaults for the others. Raises UsageError."""
        raise UsageError("this load generator runs profiles only: see benchtui profiles list")


class ProfilesOnly(FromTerms):
    """A load generator that runs profiles only."""


class Workload(InProfile, Planning, OnHost, Reading, Showing, Importing, Protocol):
    """A load generator."""

    name: str

    def from_terms(self) -> FromTerms:
        """Return what makes jobs of ``key=value`` terms."""
        return ProfilesOnly()
