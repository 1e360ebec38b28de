"""The jobs of a measurement with their options, as fio's JSON names them: complete, with fio's defaults."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui.model.exporter import file_name
from tui.model.problem import UsageError
from tui.model.quantities import parse_duration
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.workloads.fio.jobimport_ini import Section, read_sections
from tui.workloads.fio.options import ALIASES

Options = dict[str, str]
DEFAULTS = {"rw": "read", "bs": "4k", "iodepth": "1", "numjobs": "1"}
MIX = "rwmixread"


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement: its jobs by name with what all hosts have in common, and those of each host.

    `derived`: the record has no job file, so the options are what the figures tell.
    """

    step: StepRecord
    jobs: dict[str, Options]
    of_hosts: dict[str, dict[str, Options]]
    derived: bool = False

    @property
    def main(self) -> Options:
        """The options of the first job."""
        return next(iter(self.jobs.values()))

    @property
    def rw(self) -> str:
        """What the first job does, without a number behind a colon: ``rw=randread:8``."""
        return self.main["rw"].partition(":")[0]

    @property
    def stem(self) -> str:
        """The name that fio-plot expects of a file: ``randread-16-4``."""
        return "-".join(file_name(part) for part in (self.rw, self.main["iodepth"], self.main["numjobs"]))

    @property
    def shared(self) -> Options:
        """What all jobs have in common."""
        first, *others = self.jobs.values()
        return {name: value for name, value in first.items() if all(job.get(name) == value for job in others)}


def measured(record: RunRecord) -> list[Measured]:
    """Return the measurements of a run that fio made. Raises UsageError when there is none."""
    steps = [step for step in record.steps if not step.warmup and step.results.aggregate and step.metadata is None]
    if not steps:
        tools = ", ".join(sorted({step.tool or "" for step in record.steps if step.metadata})) or "nothing"
        raise UsageError(f"{record.run_id}: fio's formats hold I/O that fio measured; this run measured {tools}")
    return [_measured(record, step) for step in steps]


def _measured(record: RunRecord, step: StepRecord) -> Measured:
    texts = {each.host: each.text for each in record.profile.job_files if each.step == step.index and each.text}
    of_hosts = {host: jobs for host, text in texts.items() if (jobs := _jobs(text, step))}
    if not of_hosts:
        return Measured(step, {step.name: _completed(_derived(step), step)}, {}, derived=True)
    return Measured(step, _in_common(list(of_hosts.values())), of_hosts)


def _jobs(text: str, step: StepRecord) -> dict[str, Options]:
    """Return the jobs of a job file; none when it is no job file of fio."""
    try:
        sections = read_sections(text, "job file")
    except UsageError:
        return {}
    shared: Options = {}
    jobs: dict[str, Options] = {}
    for section in sections:
        if section.shared:
            shared |= _options(section)
        else:
            jobs[section.name] = _completed(shared | _options(section), step)
    return jobs


def _options(section: Section) -> Options:
    given = {option.name: "1" if option.value is None else option.value for option in section.options}
    names = {other: name for name, other in ALIASES.items()}
    return {names.get(name, name): value for name, value in given.items()}


def _completed(given: Options, step: StepRecord) -> Options:
    """Return options with those that readers count on, and the runtime in seconds."""
    options = DEFAULTS | given
    runtime_s = _seconds(given.get("runtime"))
    runtime_s = step.runtime_s or step.measured_s if runtime_s is None else runtime_s
    if runtime_s is not None:
        options["runtime"] = f"{runtime_s:.0f}"
    if options["rw"].partition(":")[0] in ("rw", "readwrite", "randrw"):
        read = options.setdefault(MIX, _reads(options))
        options["rwmixwrite"] = str(100 - int(read)) if read.isdecimal() else "50"
    stem = Measured(step, {"": options}, {}).stem
    return options | {"write_iops_log": options.get("write_iops_log", stem)}


def _reads(options: Options) -> str:
    writes = options.get("rwmixwrite", "")
    return str(100 - int(writes)) if writes.isdecimal() else "50"


def _seconds(text: str | None) -> float | None:
    try:
        return parse_duration(text) if text else None
    except ValueError:
        return None


def _in_common(hosts: Sequence[dict[str, Options]]) -> dict[str, Options]:
    """Return each job with the options that have one value on all hosts, and those that make it what it is."""
    first, *others = hosts

    def same(job: str, key: str, value: str) -> bool:
        return key in DEFAULTS or all(each.get(job, {}).get(key) == value for each in others)

    return {name: {key: value for key, value in job.items() if same(name, key, value)} for name, job in first.items()}


def _derived(step: StepRecord) -> Options:
    """Return what the figures tell of a job that nobody kept."""
    dirs = step.results.aggregate
    both = {"read", "write"} <= dirs.keys()
    name = next((name for name in ("read", "write", "trim") if name in dirs), "read")
    part = dirs.get(name)
    found = {"rw": "rw" if both else name}
    if part is not None and part.ios and part.bytes and part.bytes % part.ios == 0:
        found["bs"] = str(part.bytes // part.ios)
    hosts = len(step.results.per_host)
    if step.in_flight and hosts:
        found["iodepth"] = str(step.in_flight // hosts)
    return found


def placed(found: Sequence[Measured]) -> Iterator[tuple[str, Measured]]:
    """Yield each measurement with the folder that its files go to; none while their names differ without.

    A folder holds what one picture shows: points that differ in queue depth and jobs alone.
    """
    axes = [axis for axis in _axes(found) if not _told_by_name(found, axis)]
    repeats = any(each.step.repetition > 1 for each in found)
    suite = len({each.step.profile for each in found}) > 1
    taken = set()
    for each in found:
        parts = [file_name(each.step.profile or "")] if suite else []
        point = {axis: each.step.point[axis] for axis in axes if axis in each.step.point}  # full load has no rate
        parts += ["_".join(file_name(f"{axis}-{value}") for axis, value in point.items())] if point else []
        parts += [f"rep-{each.step.repetition}"] if repeats else []
        if (posixpath.join("", *parts), each.stem) in taken:  # a search may measure a point twice
            parts.append(f"step-{each.step.index}")
        taken.add((posixpath.join("", *parts), each.stem))
        yield posixpath.join("", *parts), each


def _axes(found: Sequence[Measured]) -> list[str]:
    return list(dict.fromkeys(axis for each in found for axis in each.step.point))


def _told_by_name(found: Sequence[Measured], axis: str) -> bool:
    """Tell whether files of different values of a swept parameter have different names."""
    pairs = {(each.stem, each.step.point.get(axis)) for each in found}
    return len(pairs) == len({stem for stem, _ in pairs})
