"""What reads the output of a load generator: bytes become samples, lines for the log, a result and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from tui.model.event import HostResult, MetadataIteration, MetadataPhase, Sample, Severity

LogLine: TypeAlias = "tuple[Severity, str]"
Item: TypeAlias = "Sample | MetadataPhase | MetadataIteration | LogLine"


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

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of everything that makes this host's result doubtful or failed; empty is clean."""
