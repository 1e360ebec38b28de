"""What benchtui asks of rwping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, Field

from tui.model.address import HostAddress
from tui.model.event import PhaseName
from tui.model.plan import FileSpec, HostTask, Step
from tui.model.profile import ParamValue, Profile, expand, safe_host, value_text
from tui.model.quantities import parse_duration
from tui.workloads.base import LatencyKind, Requirement, Workload

from .reader import RwReader

SCRIPT = Path(__file__).parent / "rwping.py"
FILE_BYTES = 4096 * 16


class Body(BaseModel):
    """The part of a profile under ``rwping:``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    directory: str = Field(description="Where each host has its file")
    runtime: str = Field(description="How long")


class RwPing(Workload):
    """Reads and writes in turns."""

    name = "rwping"
    job_file = "rwping.py"
    stand_in = MappingProxyType({"directory": "/", "runtime": "1s"})

    def body(self) -> type[BaseModel]:
        """Return the model of the part under ``rwping:``."""
        return Body

    def build_steps(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: list[HostAddress],
        seeds: Mapping[str, int],
    ) -> list[Step]:
        """Return the one step."""
        texts = {
            name: value_text(profile.params[name].kind, value) for name, value in params.items()
        }
        seconds = parse_duration(expand(profile.body.runtime, texts))
        directory = expand(profile.body.directory, texts)
        tasks = [_task(host.name, directory, seconds, seeds) for host in hosts]
        return [
            Step(
                0,
                profile.profile,
                self.name,
                dict(params),
                tasks,
                seconds,
                directions=["read", "write"],
            )
        ]

    def requirements(self, steps: Sequence[Step]) -> Sequence[Requirement]:
        """Return Python."""
        return [Requirement("python3", (3, 8))]

    def reader(
        self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind
    ) -> RwReader:
        """Return a reader of what it prints."""
        return RwReader(host, step.index, phase)


def _task(host: str, directory: str, seconds: float, seeds: Mapping[str, int]) -> HostTask:
    file = f"{directory}/rwping.{safe_host(host)}"
    return HostTask(
        host=host,
        randseed=seeds[host],
        job_file=SCRIPT.read_text(encoding="utf-8"),
        argv=["python3", RwPing.job_file, file, f"{seconds:g}"],
        files=[FileSpec(file, FILE_BYTES)],
        writes_bytes=FILE_BYTES,
        required_dir=directory,
    )
