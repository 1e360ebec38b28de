"""What the record keeps of each host: clock, place, facts, problems, files left behind."""

from __future__ import annotations

from pydantic import Field

from tui.model.figure_record import RecordPart
from tui.model.hostfacts import Fact
from tui.model.step_record import Scalar


class ClockRecord(RecordPart):
    """A host's clock against the jump host's."""

    offset_s: float | None = Field(
        None, description="host clock minus jump host clock; positive: the host is ahead"
    )
    uncertainty_s: float | None = Field(
        None, description="offset_s is true within this; null: unknown"
    )
    rtt_s: float | None = Field(None, description="round trip of the quickest exchange")
    method: str = Field(
        description=(
            "exchange: clocks compared over the connection; samples: from the least delayed sample"
        )
    )


class PlaceRecord(RecordPart):
    """A directory in which the run created something."""

    real: str = Field(description="its path without symbolic links")
    mark: str = Field(description="file system, inode, time of birth (b:)")


class FilesLeft(RecordPart):
    """Files that the run created on a host and did not remove."""

    paths: list[str] = Field(default_factory=list, description="files and directories")
    bytes: int | None = Field(None, description="their size together")
    identities: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "by path: inode, and time of birth (b:) or of change (c:); of numbered files a checksum"
            " of these. clean removes what is still that"
        ),
    )
    directories: dict[str, PlaceRecord] = Field(
        default_factory=dict, description="by path: what these lie in"
    )


class ObjectsLeft(RecordPart):
    """Objects of a store that the run put and did not delete; benchtui removes none afterwards."""

    store: str = Field(description="host and bucket")
    names: str = Field(description="their keys; * stands for numbers")
    count: int = Field(description="how many, at most")
    bytes: int = Field(description="their size together, at most")


class FilesRemovedRecord(RecordPart):
    """Files that the run had created on a host, and that were removed by it or afterwards."""

    utc: str | None = Field(None, description="when")
    paths: list[str] = Field(
        default_factory=list, description="files and directories that are not there any more"
    )
    bytes: int = Field(
        0, description="what they held when they were removed; 0: nothing, or not known"
    )


class HostProblemRecord(RecordPart):
    """Something wrong on one host."""

    phase: str = Field(description="phase it was seen in")
    code: str = Field(description="stable name: fio-missing, no-space, host-key-unknown, ...")
    message: str = Field(description="what happened, for people")
    fatal: bool = Field(True, description="whether the host could not go on")
    t_s: float | None = Field(None, description="when, seconds from created_utc")


class FactGroupRecord(RecordPart):
    """Hosts that have the same value of a fact."""

    value: Scalar = Field(description="the value; null: unknown of these hosts")
    hosts: list[str] = Field(description="hosts that have it")


class FactDifferenceRecord(RecordPart):
    """A fact that hosts differ in."""

    name: str = Field(description="FACT, MAP.KEY or TABLE.COLUMN: nics.mtu, sysctls.vm.dirty_ratio")
    title: str = Field("", description="what people call it")
    matters: bool = Field(False, description="whether figures may differ by it")
    groups: list[FactGroupRecord] = Field(
        default_factory=list,
        description="who has which value: the largest group first, what is unknown last",
    )


class FactsRecord(RecordPart):
    """The facts of all hosts beside each other.

    Those that each host has of its own are left out.
    """

    hosts: list[str] = Field(default_factory=list, description="hosts of which anything is known")
    common: dict[str, Scalar] = Field(
        default_factory=dict, description="what all of them have in common"
    )
    differing: list[FactDifferenceRecord] = Field(
        default_factory=list, description="what they differ in"
    )


class HostRecord(RecordPart):
    """One host of the run."""

    name: str = Field(description="name in the inventory or the SSH configuration")
    role: str = Field("client", description="client: generates load; server: a storage node")
    transport: str | None = Field(
        None, description="ssh, local, exec, slurm, or one of another package"
    )
    facts: dict[str, Fact] = Field(
        default_factory=dict,
        description="what was found: kernel, cpus, fio_version, ...; docs/facts.md has them all",
    )
    clock: ClockRecord | None = Field(None, description="its clock; null: no sample told")
    randseed: int | None = Field(None, description="random seed in the first step")
    state: str | None = Field(None, description="last state: done, failed, lost, ...")
    detail: str = Field("", description="why it is in this state")
    problems: list[HostProblemRecord] = Field(
        default_factory=list, description="what went wrong on it"
    )
    files_left: FilesLeft | None = Field(
        None, description="what stays behind on it; null: nothing recorded"
    )
    files_removed: list[FilesRemovedRecord] = Field(
        default_factory=list, description="what was removed one by one, as benchtui clean does"
    )
