"""What a row of the corpus is: a run, what is done to it, and what must be said of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.lab.faults import marked
from tests.lab.sshd import SshdLab
from tests.long.lies.classes import Kind, kind_of

Noise = Literal["calm", "loud", "alone"]
"""How a run takes its neighbours: calm ones mostly wait, loud ones are named whatever goes on
beside them.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one run takes place: the directory of its files, and a folder for whatever the sabotage
    needs.
    """

    target: Path
    folder: Path
    undone: list[str] = field(default_factory=list)  # why the sabotage did not take effect

    @property
    def home(self) -> Path:
        """Home of benchtui in this run."""
        return self.folder / "home"

    def loads(self, host: str) -> list[int]:
        """Return the pids of all that this run has started on a host by now."""
        runs = self.home / "runs"
        return [
            pid
            for run in (runs.iterdir() if runs.exists() else ())
            for pid in marked(run.name, host)
        ]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a sabotage has prepared in place of the usual: hosts, the file, more options of the
    load.
    """

    hosts: tuple[str | Path, ...] = ()  # arguments of `benchtui run`
    filename: str = ""
    options: str = ""


Sabotage = Callable[[Place], AbstractContextManager[Setting | None]]


def nothing(_: Place) -> AbstractContextManager[None]:
    """Leave the run alone."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Lie:
    """One row. `finding` is the check that must name it, `bottleneck` what must be told as the limit;
    without a finding and with `clean` nothing may weaken it.

    `options` are those of the load, `others` checks that may speak up as well. `hosts` of the lab,
    0: this machine. `accepted` are checks that name it as well as `finding` does, `second` one that
    must speak up beside it. With `company` other programs keep every CPU busy.
    """

    name: str
    options: str
    finding: str = ""
    bottleneck: str = ""
    clean: bool = False
    noise: Noise = "calm"
    runtime_s: int = 8
    sabotage: Sabotage = nothing
    hosts: int = 0
    layout: bool = True
    shared: bool = False  # hosts use one file
    memory: bool = False  # the target is a file system in memory
    root: bool = False  # what it takes needs root
    others: tuple[str, ...] = ()
    head: str = ""  # more lines of the profile
    jobs: str = "load: {numjobs: 1}"
    generated: bool = False  # drawn from a seed
    accepted: tuple[str, ...] = ()
    second: str = ""
    company: bool = False
    beside: str = ""  # the load of another role, on all hosts but the first one
    beside_s: int = 0  # how long that one runs

    @property
    def kind(self) -> Kind:
        """The class that it is one of."""
        return kind_of(self.finding)


def hosts_of(lab: SshdLab, *names: str) -> tuple[str | Path, ...]:
    """Return the arguments of a run on hosts of a lab: these, or all."""
    return ("--hosts", ",".join(names or lab.names), "--ssh-config", lab.ssh_config)
