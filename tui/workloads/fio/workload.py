"""fio as a load generator: the face that the engine sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui.model.event import PhaseName
from tui.model.plan import FileSpec, HostAddress, Step
from tui.workloads.base import LatencyKind, Requirement, Workload

if TYPE_CHECKING:
    from tui.model.profile import ParamValue, Profile
    from tui.workloads.fio.reader import FioReader

MINIMUM_VERSION = (3, 18)


class FioWorkload(Workload):
    """fio on each host."""

    name = "fio"
    minimum_version = MINIMUM_VERSION  # json+ with lat_percentiles, slat_percentiles and N
    job_file = "job.fio"
    end_codes = frozenset(
        ("fio-stopped-by-signal", "fio-killed", "fio-exit-unknown", "fio-exit-code", "fio-output-cut")
    )

    def build_steps(
        self, profile: Profile, params: Mapping[str, ParamValue], hosts: list[HostAddress], seeds: Mapping[str, int]
    ) -> list[Step]:
        """Return the one step of a fio profile. Raises UsageError."""
        from tui.workloads.fio.plan import build_steps

        return build_steps(profile, params, hosts, seeds)

    def requirements(self, steps: Sequence[Step]) -> list[Requirement]:
        """Return fio itself, and that it can load the engines of these steps."""
        from tui.workloads.fio.engines import engines_of, trial_of

        jobs = (task.job_file for step in steps for task in step.tasks)
        engines = (
            Requirement("fio", trial_args=trial_of(name), trial_of=f"ioengine {name}") for name in engines_of(jobs)
        )
        return [Requirement("fio", MINIMUM_VERSION), *engines]

    def layout_job(self, files: list[FileSpec]) -> str:
        """Return the job file that writes these files whole, once, in sequence."""
        from tui.workloads.fio.layout_job import layout_job

        return layout_job(files)

    def layout_argv(self) -> list[str]:
        """Return the command that runs a layout job file."""
        from tui.workloads.fio.plan import argv

        return argv([])

    def reader(self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind) -> FioReader:
        """Return a reader for one fio command's output."""
        from tui.workloads.fio.reader import FioReader

        return FioReader(host, step, phase, latency_kind)
