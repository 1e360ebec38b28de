"""fio as a load generator: its interface to the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tui.workloads.base import (
    BesideLogs,
    FromTerms,
    Imported,
    ImportedOutput,
    KeptFile,
    KeptLog,
    LatencyKind,
    Paced,
    Requirement,
    TargetCheck,
    Workload,
)

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.model.event import PhaseName
    from tui.model.operands import Clause
    from tui.model.plan import FileSpec, HostTask, Step
    from tui.model.problem import Problem
    from tui.model.profile import ParamValue, Profile
    from tui.model.search import Change, Offer
    from tui.model.yaml_text import KeyPath, YamlDocument
    from tui.text.form import Text
    from tui.workloads.fio.body import Fio
    from tui.workloads.fio.reader import FioReader


class FioImports(Workload):
    """Files that fio wrote, or is to run, outside benchtui."""

    def import_job(
        self, text: str, file: str, tag: str | None, environ: Mapping[str, str]
    ) -> Imported:
        """Return the profiles of a fio job file, one per step."""
        from tui.workloads.fio.jobimport import import_job

        return import_job(text, file, tag, environ)

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the fio outputs in a text: JSON, JSON+, terse or human-readable."""
        from tui.workloads.fio.outputs import import_output

        return import_output(text, file)

    def import_logs(self, files: Sequence[KeptFile]) -> Sequence[KeptLog]:
        """Return the results computed from fio's logs."""
        from tui.workloads.fio.logs import kept_logs

        return kept_logs(files)

    def beside_logs(self, file: KeptFile, logs: Sequence[KeptFile]) -> BesideLogs:
        """Return the result of comparing fio's JSON with its logs."""
        from tui.workloads.fio.outputs import beside_logs

        return beside_logs(file, logs)


MINIMUM_VERSION = (3, 18)
DIRECTORY = re.compile(r"^directory=/[^:\n]*[^:/\s\\]$", re.MULTILINE)  # not a list
ADVICE = {"files-there": "fio-metadata/delete", "files-missing": "fio-metadata/create"}
OUTLINE = ("rw", "bs", "ioengine", "iodepth", "numjobs")


class FioOnHosts(FioImports):
    """What fio needs on hosts, and how it lays out files."""

    advice_by_code = ADVICE
    job_file = "job.fio"
    expected = True
    keeps_command = True
    end_codes = frozenset(
        (
            "fio-stopped-by-signal",
            "fio-killed",
            "fio-exit-unknown",
            "fio-exit-code",
            "fio-output-cut",
        )
    )

    def changing_words(self, words: Sequence[str]) -> list[str]:
        """Return which words, added to fio's command line, change the load."""
        from tui.workloads.fio.load_options import changing_words

        return changing_words(words)

    def sent_job(self, job_file: str) -> str:
        """Add a slash to each directory, because fio refuses symbolic links otherwise (lstat)."""
        return DIRECTORY.sub(r"\g<0>/", job_file)

    def opens_files(self, task: HostTask) -> bool:
        """Return whether all jobs of a task have their test files open from start to end."""
        from tui.workloads.fio.opened import opens_files

        return opens_files(task.job_file)

    def requirements(self, steps: Sequence[Step]) -> list[Requirement]:
        """Return fio and the I/O engines that these steps use."""
        from tui.workloads.fio.engine_kinds import engines_of, requirement

        jobs = (task.job_file for step in steps for task in step.tasks)
        return [
            Requirement("fio", MINIMUM_VERSION, package="fio"),
            *map(requirement, engines_of(jobs)),
        ]

    def extras(self) -> list[Requirement]:
        """Return the I/O engine of the S3 profiles, which many fio packages do not include."""
        from tui.workloads.fio.engine_kinds import requirement

        return [requirement("http")]

    def direct_sizes(self, task: HostTask) -> dict[str, tuple[int, ...]]:
        """Return the sizes of direct I/O by the target of each job."""
        from tui.workloads.fio.blocks import direct_sizes

        return direct_sizes(task.job_file)

    def target_checks(self, steps: Sequence[Step]) -> list[TargetCheck]:
        """Return a HEAD request for each S3 bucket."""
        from tui.workloads.fio.bucket import bucket_checks

        return bucket_checks([task for step in steps for task in step.tasks])

    def target_problem(self, check: TargetCheck, said: str) -> tuple[str, Clause] | None:
        """Return why a bucket cannot be used; None if it may be usable."""
        from tui.workloads.fio.bucket import bucket_problem

        return bucket_problem(check, said)

    def layout_job(self, files: list[FileSpec]) -> str:
        """Return the job file that writes these files once, sequentially."""
        from tui.workloads.fio.layout import layout_job

        return layout_job(files)

    def layout_argv(self) -> list[str]:
        """Return the command that runs a layout job file."""
        from tui.workloads.fio.plan import argv

        return argv([])


class FioWorkload(FioOnHosts):
    """fio, one process on each host."""

    name = "fio"
    searched = True
    job_files = (".fio", ".job", ".ini")
    stand_in = MappingProxyType({"jobs": {"a": {"ioengine": "null"}}})

    def body(self) -> type[Fio]:
        """Return the model of the profile's fio section."""
        from tui.workloads.fio.body import Fio

        return Fio

    def name_problems(self, document: YamlDocument) -> Iterator[Problem]:
        """Yield problems with job and option names."""
        from tui.workloads.fio.body import name_problems

        return name_problems(document)

    def problems(
        self, profile: Profile, document: YamlDocument, texts: Mapping[str, str]
    ) -> Iterator[Problem]:
        """Yield problems with options, individually and combined."""
        from tui.workloads.fio.body import problems

        return problems(profile, document, texts)

    def unreached(self, profile: Profile) -> Mapping[KeyPath, str]:
        """Return the options of [global] that every job overrides."""
        from tui.workloads.fio.body import unreached

        return unreached(profile)

    def hints(self, profile: Profile, texts: Mapping[str, str]) -> Iterator[tuple[KeyPath, str]]:
        """Yield hints on queue depths that have no effect with an engine."""
        from tui.workloads.fio.body import hints

        return hints(profile, texts)

    def describe(self, kinds: dict[str, Any]) -> None:
        """Add fio's options to the JSON Schema."""
        from tui.workloads.fio.schema import name_options

        name_options(kinds)

    def build_steps(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: list[HostAddress],
        seeds: Mapping[str, int],
    ) -> list[Step]:
        """Return the step of a fio profile. Raises UsageError."""
        from tui.workloads.fio.plan import build_steps

        return build_steps(profile, params, hosts, seeds)

    def warm(self, profile: Profile, seconds: float) -> Profile:
        """Return a profile that runs the same jobs for this long."""
        from tui.workloads.fio.body import warm

        return warm(profile, seconds)

    def fill(self, steps: Sequence[Step], times: int, block_bytes: int) -> list[HostTask]:
        """Return one task per host that fills all files, devices, images and objects of these
        steps.

        Raises UsageError.
        """
        from tui.workloads.fio.plan import fill

        return fill(steps, times, block_bytes)

    def vary(self, profile: Profile, params: Mapping[str, ParamValue], change: Change) -> Profile:
        """Return a profile with one change and otherwise the same jobs."""
        from tui.workloads.fio.variants import vary

        return vary(profile, params, change)

    def pace(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: Sequence[HostAddress],
        seeds: Mapping[str, int],
        offer: Offer,
    ) -> Paced:
        """Return the step that offers this load over all hosts. Raises UsageError."""
        from tui.workloads.fio.variants import pace

        return pace(profile, params, hosts, seeds, offer)

    def set_by_search(self, profile: Profile, params: Mapping[str, ParamValue]) -> list[Clause]:
        """Return notes on rates and durations that a search overrides."""
        from tui.workloads.fio.variants import set_by_search

        return list(set_by_search(profile, params))

    def lengths(self, profile: Profile) -> list[str]:
        """Return the parameters that only set the duration of its jobs."""
        from tui.workloads.fio.variants import lengths

        return lengths(profile)

    def reader(
        self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind
    ) -> FioReader:
        """Return a reader for the output of one fio command."""
        from tui.workloads.fio.reader import FioReader

        return FioReader(host, step, phase, latency_kind)

    def texts(self) -> Mapping[str, Text]:
        """Return the texts of caveats on plans, of problems and messages by code."""
        from tui.workloads.fio.reader import PROBLEMS
        from tui.workloads.fio.texts import CAVEATS

        return {**CAVEATS, **PROBLEMS}

    def contradiction_texts(self) -> Mapping[str, str]:
        """Return the texts of contradictions by code."""
        from tui.workloads.fio.texts import TEXTS

        return TEXTS

    def outline(self, profile: Profile, params: Mapping[str, ParamValue]) -> list[tuple[str, str]]:
        """Return access pattern, block size and concurrency of each job."""
        from tui.workloads.fio.body import resolve_options

        shared, jobs = resolve_options(profile, params, "host", 1)
        merged = {name: {**shared, **own} for name, own in jobs.items()}
        return [
            (name, " ".join(f"{key}={job[key]}" for key in OUTLINE if key in job))
            for name, job in merged.items()
        ]

    def job_text(self, profile: Profile, params: Mapping[str, ParamValue]) -> str:
        """Return the job file in stock fio's syntax."""
        from tui.workloads.fio.jobfile import render

        return render(profile, params, "local", 1, None)

    def is_job(self, text: str) -> bool:
        """Return whether a text has sections like those of a fio job file."""
        return any(line.lstrip().startswith("[") for line in text.splitlines())

    def from_terms(self) -> FromTerms:
        """Return the builder of jobs from fio options."""
        from tui.workloads.fio.terms import FioTerms

        return FioTerms()
