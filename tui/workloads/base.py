"""What every load generator offers; the engine knows no tool by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from tui.model.event import HostResult, MetadataIteration, MetadataPhase, PhaseName, Sample, Severity
from tui.model.plan import FileSpec, HostAddress, Step

if TYPE_CHECKING:
    from tui.model.profile import ParamValue, Profile  # pydantic: only those who plan need it

LogLine = tuple[Severity, str]
Item = Sample | MetadataPhase | MetadataIteration | LogLine
LatencyKind = Literal["clat", "lat"]


class Reader(Protocol):
    """Turns one command's output on one host into samples and, at the end, a result.

    `feed` takes stdout bytes in any pieces. Events are returned with ``t=0``; the engine stamps them.
    """

    def feed(self, data: bytes) -> Sequence[Item]:
        """Return the samples and log lines that these bytes complete."""

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return explained lines of stderr."""

    def flush(self) -> Sequence[Item]:
        """Return what the end of both streams completes; call it once, after the last bytes, before `result`."""

    def result(self, exit_code: int | None) -> HostResult | None:
        """Return the result of the last complete object, or None when the tool printed none."""

    def verdict(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of everything that makes this host's result doubtful or failed; empty is clean."""


class Workload(Protocol):
    """A load generator."""

    name: str
    minimum_version: tuple[int, int]

    def build_steps(
        self, profile: Profile, params: Mapping[str, ParamValue], hosts: list[HostAddress], seeds: Mapping[str, int]
    ) -> list[Step]:
        """Return the steps of a profile on these hosts. Raises UsageError. Pure."""

    def layout_job(self, files: list[FileSpec]) -> str:
        """Return the job file that writes these files whole, once, in sequence."""

    def layout_argv(self) -> list[str]:
        """Return the command that runs a layout job file."""

    def reader(self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind) -> Reader:
        """Return a reader for one command's output."""
