"""What one command on one host prints: masked, kept in raw files, read, journalled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from tui.engine.session.host_session import HostSession
from tui.journal.raw import RawFile
from tui.model.event import Artefact, PhaseName, Sample
from tui.model.plan import HostTask, Step
from tui.remote.stream import OutputBudget
from tui.workloads.base import Item, Reader

KINDS = ("out", "err")


class TaskLoad(Struct, frozen=True):
    """The task of one host in one phase of a step, and the reader of its output."""

    step: Step
    phase: PhaseName
    task: HostTask
    reader: Reader
    # set if it is not the host's only command of the phase, such as an MPI proxy beside mpiexec
    role: str = ""

    @property
    def id(self) -> str:
        """The name of the task on its host."""
        again = f".{self.step.attempt}" if self.step.attempt > 1 else ""
        return f"{self.step.index}.{self.role or self.phase}{again}"

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.step.tool} ({self.phase})"


def after_sample(samples: list[Sample], sampled_ms: int) -> list[Sample]:
    """Return the samples after the one of this host time.

    By place in the list if that sample is in it: the host's clock may have been set back.
    """
    places = [place for place, sample in enumerate(samples) if sample.host_time_ms == sampled_ms]
    return (
        samples[places[-1] + 1 :]
        if places
        else [each for each in samples if each.host_time_ms > sampled_ms]
    )


class TaskOutput:
    """The stdout and stderr of one command."""

    def __init__(
        self, session: HostSession, load: TaskLoad, run_dir: Path, *, resume: bool
    ) -> None:
        self.session = session
        self.reader = load.reader
        self.hear: Callable[[Sample], None] = lambda _: None  # called with each sample
        self.ended_by_us = False  # ended early by a search: no news
        self._heard = time.monotonic()
        self._budget = OutputBudget(session.name, load.name)
        self._masks = {kind: session.secrets.mask(load.task) for kind in KINDS}
        name = f"{load.id}.{session.name}"
        self._files = {
            kind: RawFile(
                run_dir, f"{name}.{kind}", session.name, keep=resume, journal=session.journal
            )
            for kind in KINDS
        }

    @property
    def offsets(self) -> tuple[int, int]:
        """How many bytes of stdout and stderr have arrived."""
        return self._files["out"].offset, self._files["err"].offset

    @property
    def silent_s(self) -> float:
        """Seconds since the tool last printed anything."""
        return time.monotonic() - self._heard

    def expect(self, seconds: float) -> None:
        """Allow for what the host has spooled in so many seconds: it is no flood."""
        self._budget.grant(seconds)

    def restore(self, sampled_ms: int) -> None:
        """Read again what an earlier engine had collected.

        The journal has the samples up to that of `sampled_ms` (host clock).
        """
        found: list[Sample] = []
        for kind, file in self._files.items():
            for piece in file.restore():
                found += [item for item in self._read(kind, piece) if isinstance(item, Sample)]
        self.journal(after_sample(found, sampled_ms))

    def rewind(self) -> None:
        """Discard what the masks hold back: the stream is opened again at `offsets`."""
        for mask in filter(None, self._masks.values()):
            mask.drop()

    def take(self, kind: str, data: bytes) -> None:
        """Read output that has arrived. Raises HostError for a flood."""
        self._heard = time.monotonic()
        mask = self._masks[kind]
        began = time.thread_time()
        self._keep(kind, mask.feed(data) if mask else data)
        self._budget.take(kind, len(data), time.thread_time() - began)

    def finish(self, *, complete: bool) -> None:
        """Read the rest; `complete`: everything has arrived, so the masks hold nothing back."""
        if complete:
            for kind, mask in self._masks.items():
                if mask:
                    self._keep(kind, mask.flush())
        self.journal(self.reader.flush())

    def journal(self, items: Iterable[Item]) -> None:
        """Journal samples, and show lines for the operator."""
        for item in items:
            if isinstance(item, tuple):
                if not (self.ended_by_us and item[0] == "info"):
                    self.session.say(*item)
            else:
                self.session.journal.append(item)
                if isinstance(item, Sample):
                    self.hear(item)

    def close(self) -> list[Artefact]:
        """Close the raw files and return them for the record."""
        return [self.session.journal.append(file.close()) for file in self._files.values()]

    def _keep(self, kind: str, data: bytes) -> None:
        self._files[kind].write(data)
        self.journal(self._read(kind, data))

    def _read(self, kind: str, data: bytes) -> Iterable[Item]:
        return self.reader.feed(data) if kind == "out" else self.reader.feed_stderr(data)
