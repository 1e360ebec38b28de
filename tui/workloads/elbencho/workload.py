"""elbencho as a load generator: its interface to the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tui.workloads.base import (
    Imported,
    ImportedOutput,
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
    from tui.workloads.elbencho.body import Elbencho
    from tui.workloads.elbencho.reader import ElbenchoReader


SOURCE = (
    "install a static build from github.com/breuner/elbencho/releases (x86_64, ARM64);"
    " distributions do not package it"
)
S3 = Requirement(
    "elbencho",
    trial_args=("--s3fastget", "--version"),
    trial_of="S3",
    source="install a build with S3_SUPPORT=1, such as the static release builds",
)
ADVICE = {
    "files-there": "elbencho/files-rm",
    "files-missing": "elbencho/files-write, or prepare: {layout: true} for a read",
}

CAVEATS: Mapping[str, Text] = {
    "rate-set-by-search": "{option} is ignored: the search sets the offered load",
    "length-set-by-search": "{name} is ignored: the search sets each point's length",
    "highest-rate": (
        "at most {most_iops:iops} IOPS can be offered on each host: elbencho restarts its rate"
        " limit with each pass over the files, and a pass must take {pass_s} s or more"
    ),
    "bursts": (
        "elbencho issues each second's I/Os in one burst, then sleeps: latencies are those"
        " of bursts, not of evenly spaced I/Os"
    ),
}
"""Texts of caveats on plans, by code."""


class ElbenchoWorkload(Workload):
    """elbencho, one process on each host."""

    name = "elbencho"
    advice_by_code = ADVICE
    job_file = "elbencho.sh"
    searched = True
    job_files = (".elbencho", ".sh")
    end_codes = frozenset(
        ("elbencho-stopped-by-signal", "elbencho-killed", "elbencho-exit-unknown",
            "elbencho-exit-code",
         "elbencho-no-output")
    )  # fmt: skip

    stand_in = MappingProxyType({"phase": "read", "file": "/", "options": {"size": 1}})

    def body(self) -> type[Elbencho]:
        """Return the model of the profile's elbencho section."""
        from tui.workloads.elbencho.body import Elbencho

        return Elbencho

    def problems(
        self, profile: Profile, document: YamlDocument, texts: Mapping[str, str]
    ) -> Iterator[Problem]:
        """Yield problems with options, individually and combined."""
        from tui.workloads.elbencho.body import problems

        return problems(profile, document, texts)

    def hints(self, profile: Profile, texts: Mapping[str, str]) -> Iterator[tuple[KeyPath, str]]:
        """Yield a hint if a time limit without infloop only ends the phase early."""
        from tui.workloads.elbencho.body import hints

        return hints(profile, texts)

    def describe(self, kinds: dict[str, Any]) -> None:
        """Add elbencho's options to the JSON Schema."""
        from tui.workloads.elbencho.options import OPTIONS

        scalar = {"type": ["string", "number", "boolean"]}
        described = kinds["Elbencho"]["properties"]["options"]
        described |= {"properties": dict.fromkeys(OPTIONS, scalar), "additionalProperties": False}

    def build_steps(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: list[HostAddress],
        seeds: Mapping[str, int],
    ) -> list[Step]:
        """Return the step of a profile. Raises UsageError."""
        from tui.workloads.elbencho.plan import build_steps

        return build_steps(profile, params, hosts, seeds)

    def warm(self, profile: Profile, seconds: float) -> Profile:
        """Return a profile that runs the same load for this long."""
        from tui.workloads.elbencho.plan import timed

        return timed(profile, seconds)

    def vary(self, profile: Profile, params: Mapping[str, ParamValue], change: Change) -> Profile:
        """Return a profile with one change and otherwise the same load."""
        from tui.workloads.elbencho.plan import vary

        return vary(profile, params, change)

    def pace(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: Sequence[HostAddress],
        seeds: Mapping[str, int],
        offer: Offer,
    ) -> Paced:
        """Return the step that offers this load over all hosts: a rate in I/Os per second, or full
        load.

        Raises UsageError.
        """
        from tui.workloads.elbencho.plan import pace

        return pace(profile, params, hosts, seeds, offer)

    def set_by_search(self, profile: Profile, params: Mapping[str, ParamValue]) -> list[Clause]:
        """Return notes on rate limits and duration parameters that a search ignores, and on the
        highest rate that can be offered.
        """
        from tui.workloads.elbencho.plan import set_by_search

        return set_by_search(profile, params)

    def lengths(self, profile: Profile) -> list[str]:
        """Return the parameters that only set the duration."""
        from tui.workloads.elbencho.plan import lengths

        return lengths(profile)

    def requirements(self, steps: Sequence[Step]) -> list[Requirement]:
        """Return elbencho, with S3 support for objects; the shell that starts it is always
        available.
        """
        stores = any(task.objects for step in steps for task in step.tasks)
        return [Requirement("elbencho", source=SOURCE), *([S3] if stores else [])]

    def fill(self, steps: Sequence[Step], times: int, block_bytes: int) -> list[HostTask]:
        """Return one task per host that puts all objects of these steps. Raises UsageError."""
        from tui.workloads.elbencho.store import fill_tasks

        return fill_tasks([task for step in steps for task in step.tasks], times)

    def extras(self) -> list[Requirement]:
        """Return the S3 support requirement, because many elbencho builds come without it."""
        return [S3]

    def target_checks(self, steps: Sequence[Step]) -> list[TargetCheck]:
        """Return a HEAD request for each bucket that these steps do not create."""
        from tui.workloads.elbencho.store import bucket_checks

        return bucket_checks([task for step in steps for task in step.tasks])

    def target_problem(self, check: TargetCheck, said: str) -> tuple[str, Clause] | None:
        """Return why a bucket cannot be used; None if it may be usable."""
        from tui.workloads.elbencho.reader import bucket_problem

        return bucket_problem(check, said)

    def layout_job(self, files: list[FileSpec]) -> str:
        """Return the script that writes these files once, sequentially."""
        from tui.workloads.elbencho.plan import layout_script

        return layout_script(files)

    def layout_argv(self) -> list[str]:
        """Return the command that runs a layout script."""
        from tui.workloads.elbencho.plan import ARGV

        return list(ARGV)

    def reader(
        self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind
    ) -> ElbenchoReader:
        """Return a reader for the output of one elbencho process."""
        from tui.workloads.elbencho.reader import ElbenchoReader

        return ElbenchoReader(host, step, phase)

    def texts(self) -> Mapping[str, Text]:
        """Return the texts of caveats on plans, of problems and messages by code."""
        from tui.workloads.elbencho.reader import PROBLEMS

        return {**CAVEATS, **PROBLEMS}

    def contradiction_texts(self) -> Mapping[str, str]:
        """Return the texts of contradictions by code."""
        from tui.workloads.elbencho.contradictions import TEXTS

        return TEXTS

    def outline(self, profile: Profile, params: Mapping[str, ParamValue]) -> list[tuple[str, str]]:
        """Return the phase with its main options."""
        from tui.workloads.elbencho.body import resolve
        from tui.workloads.elbencho.plan import job_load

        load = resolve(profile, params, "host", 1, 1)
        return [
            (
                job_load(load).name,
                " ".join(f"{name}={text}" if text else name for name, text in load.texts.items()),
            )
        ]

    def job_text(self, profile: Profile, params: Mapping[str, ParamValue]) -> str:
        """Return the command as a user would type it."""
        from tui.workloads.elbencho.body import resolve
        from tui.workloads.elbencho.plan import plain_command

        return plain_command(resolve(profile, params, "local", 1, 1))

    def is_job(self, text: str) -> bool:
        """Return whether a text contains a line that runs elbencho."""
        from tui.workloads.elbencho.jobimport import is_job

        return is_job(text)

    def import_job(
        self, text: str, file: str, tag: str | None, environ: Mapping[str, str]
    ) -> Imported:
        """Return the profiles of elbencho command lines, one per phase."""
        from tui.workloads.elbencho.jobimport import import_job

        return import_job(text, file, tag)

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the elbencho outputs in a text: JSON, CSV or printed tables."""
        from tui.workloads.elbencho.kept import import_output

        return import_output(text, file)
