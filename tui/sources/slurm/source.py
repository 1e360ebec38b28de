"""`slurm:JOBID`, `slurm:` inside a job, `slurm:@PARTITION,nodes=N`: nodes of a Slurm job.

An allocation made for a run is always released when the run ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import subprocess
import time
from collections.abc import Iterable, Mapping
from math import ceil
from pathlib import Path
from typing import NamedTuple

from tui.model.address import HostAddress
from tui.model.bounded import MOST_SMALL_BYTES, read_text
from tui.model.distributions import not_installed
from tui.model.hostspec import MOST_KNOWN, expand
from tui.model.plain import printable
from tui.model.problem import UsageError, did_you_mean, suggestion
from tui.model.quantities import parse_duration, seconds_of
from tui.sources.base import FoundHosts, HostSource, SourceContext, wrong
from tui.sources.keeper import Keeper
from tui.sources.run_command import output_of, output_or_error, program

ALLOCATES = "only run, capacity, ab and hosts check allocate nodes"
TOOLS = ("squeue", "scontrol")


VIA = {"srun": "slurm", "ssh": "ssh"}  # values of via=, with their transports
FORM = (
    "slurm:@PARTITION[,nodes=N][,time=30m][,wait=1h]"
    "[,account=A][,qos=Q][,constraint=C][,reservation=R]"
)
PASSED_ON = ("account", "qos", "constraint", "reservation")
KEYS = ("nodes", "time", "wait", "via", *PASSED_ON)
MOST_NODES = 4096
# Pending reasons that waiting cannot resolve: the request exceeds the partition, the account or
# the QOS.
HOPELESS = re.compile(
    r"PartitionConfig|PartitionNodeLimit|PartitionTimeLimit|BadConstraints|InvalidAccount|InvalidQOS"
    r"|\w*(?:PerJobLimit|MaxWallDurationPerJob\w*|AccountNotAllowed|QOSNotAllowed)"
)
FIRST_REPORT_S, NEXT_REPORT_S = 2.0, 15.0  # between messages while salloc waits
POLL_S = 0.25
NAME_RULE = "only letters, digits and any of _ . -, up to 100 characters"
_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
_VALUE = re.compile(r"[\w.&|*()\[\]:+-]{1,200}", re.ASCII)
_PARTITION = re.compile(r"^\s*PartitionName\s*=\s*([\w.-]+)", re.IGNORECASE | re.MULTILINE)
# where Slurm's commands look, and where slurmd keeps what it was sent
CONFIGURATIONS = (
    "/etc/slurm/slurm.conf",
    "/etc/slurm-llnl/slurm.conf",
    "/run/slurm/conf/slurm.conf",
)
JOB_ID = re.compile(r"\d{1,10}([_+]\d{1,7})?", re.ASCII)
FIELDS = "%i|%T|%N|%L|%P|%r"


class SlurmSource(HostSource):
    """A source of the nodes of Slurm jobs."""

    form = f"slurm:JOBID[,via=ssh], slurm: inside a job, or {FORM}"
    title = "nodes of a running Slurm job, or of an allocation for the run"

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return the nodes of the job that the text names, or of a job that is allocated now.

        Raises UsageError.
        """
        text, transport = split_via(text)
        found = self._nodes(text, context)
        job = found.how.rpartition(" ")[2] if transport == "slurm" else None
        hosts = (HostAddress(host.name, transport, job) for host in found.hosts)
        return found._replace(hosts=tuple(hosts))

    def _nodes(self, text: str, context: SourceContext) -> FoundHosts:
        if not text:
            return self._of_environment(context)
        if text.startswith("@"):
            return self._allocated(text[1:], context)
        job, *options = text.split(",")
        if not JOB_ID.fullmatch(job):
            partition = suggestion([f"slurm:@{text[:60]}"]) if job.isidentifier() else ""
            raise wrong(self.form, f"'{job[:60]}' is not a job id{partition}")
        for option in options:
            key = option.partition("=")[0]
            if key in KEYS:
                raise wrong(self.form, f"'{key}' is an option for slurm:@PARTITION, not for a job")
            hint = did_you_mean(key, ["via"])
            raise UsageError(f"unknown option '{key[:60]}'{hint}; allowed: via=ssh")
        return self._of_job(job, context)

    def allocates(self, text: str) -> bool:
        """Return whether the text names a partition, not a job."""
        return text.startswith("@")

    def complete(self, text: str, context: SourceContext) -> Iterable[str]:
        """Return the id of the job that this shell runs in, the partitions in slurm.conf, or
        options.
        """
        before, comma, _ = text.rpartition(",")
        if comma:
            given = {option.partition("=")[0] for option in before.split(",")[1:]}
            keys = KEYS if text.startswith("@") else ("via",)
            return [f"{before},{key}=" for key in keys if key not in given]
        job = context.environ.get("SLURM_JOB_ID", "")
        named = [f"@{name}" for name in configured_partitions(context)]
        return [*([job] if JOB_ID.fullmatch(job) else []), *named]

    def state(self, context: SourceContext) -> str:
        """Return the path of squeue, or a note that a command is not installed."""
        missing = [name for name in TOOLS if program(name, context) is None]
        return not_installed(missing[0]) if missing else str(program(TOOLS[0], context))

    def _of_environment(self, context: SourceContext) -> FoundHosts:
        job, nodes = (
            context.environ.get(name, "") for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST")
        )
        if not JOB_ID.fullmatch(job) or not nodes:
            raise UsageError(
                "not inside a Slurm job (it sets SLURM_JOB_ID and SLURM_JOB_NODELIST);"
                f" allowed: {self.form}"
            )
        known = job_of(job, context)
        return self._found(job, nodes, context, known.left_s if known else None)

    def _of_job(self, job_id: str, context: SourceContext) -> FoundHosts:
        job = job_of(job_id, context)
        if job is None:
            running = own_jobs(context)
            there = f"; your running jobs: {', '.join(running[:20]) or 'none'}"
            raise UsageError(f"Slurm has no job {job_id}{did_you_mean(job_id, running)}{there}")
        if job.state != "RUNNING":
            why = f" ({job.reason})" if job.reason not in ("", "None") else ""
            raise UsageError(f"job {job_id} is {job.state.lower()}{why}; expected a running job")
        return self._found(job_id, job.nodes, context, job.left_s)

    def _allocated(self, text: str, context: SourceContext) -> FoundHosts:
        wanted = parse_wanted(text)
        if context.pretends:
            return wanted.pretended()
        if not context.may_allocate:
            raise UsageError(f"{ALLOCATES}; name a running job instead: slurm:JOBID")
        job = allocate(wanted, context)
        return self._found(job.job_id, job.nodes, context, job.left_s)

    def _found(
        self, job_id: str, nodelist: str, context: SourceContext, left_s: float | None
    ) -> FoundHosts:
        hosts = tuple(HostAddress(name) for name in node_names(nodelist, context))
        return FoundHosts(hosts=hosts, how=f"Slurm job {job_id}", left_s=left_s)


def split_via(text: str) -> tuple[str, str]:
    """Split a text into the part without ``via=`` and the transport that ``via=`` names, by default
    slurm.

    Raises UsageError.
    """
    parts = text.split(",")
    named = [part.removeprefix("via=") for part in parts if part.startswith("via=")]
    for via in named:
        if not via:
            raise UsageError("no value after 'via='; allowed: srun, ssh")
        if via not in VIA:
            hint = did_you_mean(via, VIA)
            raise UsageError(f"via: '{via[:40]}' is not allowed{hint}; expected srun or ssh")
    rest = ",".join(part for part in parts if not part.startswith("via="))
    return rest, VIA[named[-1]] if named else "slurm"


class Wanted(NamedTuple):
    """A requested allocation. Times are in seconds.

    `time_s` None: the partition's default. `wait_s` None: wait without limit.
    """

    partition: str
    nodes: int = 1
    time_s: float | None = None
    wait_s: float | None = None
    passed_on: tuple[str, ...] = ()  # options of salloc

    @property
    def minutes(self) -> int | None:
        """Requested time in minutes, as salloc expects, rounded up; None if not requested."""
        return None if self.time_s is None else ceil(self.time_s / 60)

    def pretended(self) -> FoundHosts:
        """Return made-up hosts, as many as this request would allocate, and the requested time."""
        hosts = tuple(HostAddress(f"{self.partition}.{n}") for n in range(1, self.nodes + 1))
        left_s = None if self.minutes is None else self.minutes * 60.0
        return FoundHosts(hosts=hosts, how="the requested allocation", left_s=left_s)

    def argv(self, salloc: str, name: str) -> list[str]:
        """Return the salloc command line; `name` is the name of the job."""
        limit = [f"--time={self.minutes}"] if self.minutes else []
        wanted = [f"--partition={self.partition}", f"--nodes={self.nodes}", *limit, *self.passed_on]
        return [salloc, "--no-shell", f"--job-name={name}", *wanted]


def parse_wanted(text: str) -> Wanted:
    """Parse the text after ``slurm:@``. Raises UsageError."""
    partition, *options = text.split(",")
    if not _NAME.fullmatch(partition):
        raise wrong(
            FORM,
            (
                "no partition given"
                if not partition
                else f"partition '{partition[:60]}': {NAME_RULE}"
            ),
        )
    found: dict[str, str] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if key not in KEYS:
            raise UsageError(
                f"unknown option '{key}'{did_you_mean(key, KEYS)}; allowed: {', '.join(KEYS)}"
            )
        if key in found:
            raise UsageError(f"{key} is given twice")
        if not value:
            raise UsageError(f"no value after '{key}{equals}'; allowed: {FORM}")
        if not _VALUE.fullmatch(value):
            raise UsageError(f"{key}: '{value[:60]}' is not allowed; expected {FORM}")
        found[key] = value
    passed_on = tuple(f"--{key}={found[key]}" for key in PASSED_ON if key in found)
    return Wanted(
        partition, _nodes(found), _seconds(found, "time"), _seconds(found, "wait"), passed_on
    )


def _nodes(found: Mapping[str, str]) -> int:
    text = found.get("nodes", "1")
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) <= MOST_NODES):
        raise UsageError(f"nodes: '{text}' is not a number from 1 to {MOST_NODES}")
    return int(text)


def _seconds(found: Mapping[str, str], key: str) -> float | None:
    if key not in found:
        return None
    try:
        seconds = parse_duration(found[key])
    except ValueError as error:
        raise UsageError(f"{key}: '{found[key]}' is not a time such as 30m or 2h") from error
    if seconds <= 0:
        raise UsageError(f"{key}: must be above 0")
    return seconds


def allocate(wanted: Wanted, context: SourceContext) -> SlurmJob:
    """Allocate nodes; the job ends with the last benchtui process that uses it.

    Raises UsageError if Slurm refuses, the request waits too long, or the job ends at once.
    """
    salloc, scancel = slurm_program("salloc", context), slurm_program("scancel", context)
    known = partitions(context)
    if wanted.partition not in known:
        hint = did_you_mean(wanted.partition, known)
        raise UsageError(f"no partition '{wanted.partition}'{hint}; partitions: {', '.join(known)}")
    name = f"benchtui-{secrets.token_hex(6)}"  # finds the job before its id is known
    keeper = Keeper([scancel, f"--user={os.getuid()}", f"--name={name}"], context)
    try:
        _wait(wanted.argv(salloc, name), name, wanted, context)
        job = job_in(_queue(name, context))
        if job is None or job.state != "RUNNING":
            raise UsageError("the allocation ended right after it started")
        context.tell(f"Slurm job {job.job_id}: {job.nodes}")
        return job
    except BaseException:
        keeper.release()
        raise


def _wait(argv: list[str], name: str, wanted: Wanted, context: SourceContext) -> None:
    """Run salloc until it has allocated, and report what it is waiting for. Raises UsageError."""
    began = time.monotonic()
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=dict(context.environ),
        start_new_session=True,
    ) as salloc:
        try:
            next_report = began + FIRST_REPORT_S
            while salloc.poll() is None:
                now = time.monotonic()
                if wanted.wait_s is not None and now - began > wanted.wait_s:
                    raise UsageError(
                        f"no allocation within {wanted.wait_s:g} s: {_reason(name, context)}"
                    )
                if now >= next_report:
                    next_report = now + NEXT_REPORT_S
                    reason = _reason(name, context)
                    if HOPELESS.fullmatch(reason):
                        raise UsageError(f"Slurm cannot satisfy the request: {reason}")
                    context.tell(_waiting(wanted, now - began, reason))
                time.sleep(POLL_S)
        finally:
            if salloc.poll() is None:
                salloc.kill()
        assert salloc.stderr is not None
        printed = salloc.stderr.read(1 << 16).decode("utf-8", "replace")
    if salloc.returncode != 0:
        raise UsageError(f"salloc: {_error_in(printed)}")


def _waiting(wanted: Wanted, seconds: float, reason: str) -> str:
    nodes = f"{wanted.nodes} node{'s' * (wanted.nodes > 1)}"
    return f"waiting for {nodes} in partition {wanted.partition} ({seconds:.0f} s so far): {reason}"


def _reason(name: str, context: SourceContext) -> str:
    with contextlib.suppress(UsageError):
        job = job_in(_queue(name, context))
        if job is not None and job.reason not in ("", "None"):
            return printable(job.reason)
    return "no reason given"


def _queue(name: str, context: SourceContext) -> str:
    argv = [slurm_program("squeue", context), "--noheader", f"--name={name}", f"--format={FIELDS}"]
    return output_or_error(argv, context)


def _error_in(printed: str) -> str:
    """Return why salloc failed: the first line of its output with an error, else the first line."""
    lines = [line.removeprefix("salloc: ").strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error:")]
    return printable((errors or lines or ["no error message"])[0].removeprefix("error: ")[:200])


class SlurmJob(NamedTuple):
    """A job as squeue lists it.

    `left_s`: seconds until its time limit; None without a limit, or if unknown.
    """

    job_id: str
    state: str
    nodes: str  # in Slurm's notation: n[1-4]
    left_s: float | None
    partition: str
    reason: str


def slurm_program(name: str, context: SourceContext) -> str:
    """Return the path of a Slurm command. Raises UsageError if it is not installed."""
    found = program(name, context)
    if found is None:
        raise UsageError(not_installed(name))
    return found


def job_of(job_id: str, context: SourceContext) -> SlurmJob | None:
    """Return a job; None if Slurm no longer knows it.

    Raises UsageError if Slurm does not answer.
    """
    argv = [
        slurm_program("squeue", context),
        "--noheader",
        f"--jobs={job_id}",
        f"--format={FIELDS}",
    ]
    done = output_of(argv, context)
    if done.code != 0 and "Invalid job id" not in done.stderr:
        raise UsageError(f"squeue: {done.last_words or f'exit code {done.code}'}")
    return job_in(done.stdout)


def job_in(printed: str) -> SlurmJob | None:
    """Return the first job that squeue printed; None if it printed none."""
    lines = [line.split("|") for line in printed.splitlines()]
    found = next((line for line in lines if len(line) == FIELDS.count("|") + 1), None)
    if found is None:
        return None
    job_id, state, nodes, left, partition, reason = found
    return SlurmJob(job_id, state, nodes, seconds_of(left), partition, reason)


def own_jobs(context: SourceContext) -> list[str]:
    """Return the ids of this user's running jobs. Raises UsageError."""
    argv = [
        slurm_program("squeue", context),
        "--me",
        "--noheader",
        "--states=RUNNING",
        "--format=%i",
    ]
    return [
        line.strip()
        for line in output_or_error(argv, context).splitlines()
        if JOB_ID.fullmatch(line.strip())
    ]


def partitions(context: SourceContext) -> list[str]:
    """Return the names of all partitions. Raises UsageError."""
    printed = output_or_error(
        [slurm_program("sinfo", context), "--noheader", "--format=%R"], context
    )
    return list(dict.fromkeys(line.strip() for line in printed.splitlines() if line.strip()))


def configured_partitions(context: SourceContext) -> list[str]:
    """Return the partitions named in slurm.conf, for completion; runs no command."""
    own = context.environ.get("SLURM_CONF")
    for path in [own] if own else CONFIGURATIONS:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            names = _PARTITION.findall(read_text(Path(path), MOST_SMALL_BYTES))
            return [name for name in dict.fromkeys(names) if name.upper() != "DEFAULT"]
    return []


def node_names(nodelist: str, context: SourceContext) -> list[str]:
    """Return the nodes of a list such as ``n[1-4],m7``, expanded by scontrol. Raises UsageError."""
    printed = output_or_error(
        [slurm_program("scontrol", context), "show", "hostnames", nodelist], context
    )
    names = [name for line in printed.split() for name in expand(line)]
    if len(names) > MOST_KNOWN:
        raise UsageError(f"{nodelist[:60]}: more than {MOST_KNOWN} nodes, the limit of a source")
    return names
