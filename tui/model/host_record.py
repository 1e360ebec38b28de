"""Hosts in the record: clock, place, facts, problems, files left behind."""

from __future__ import annotations

from pydantic import Field

from tui.model.figure_record import CodedText, RecordPart
from tui.model.hostfacts import Fact
from tui.model.step_record import Scalar


class ClockRecord(RecordPart):
    """A host's clock compared with the jump host's."""

    offset_s: float | None = Field(
        None, description="host clock minus jump host clock; positive: the host is ahead"
    )
    uncertainty_s: float | None = Field(
        None, description="uncertainty of offset_s; null if unknown"
    )
    rtt_s: float | None = Field(None, description="round-trip time of the fastest exchange")
    method: str = Field(
        description=(
            "exchange: measured over the connection; samples: from the sample with the"
            " shortest delay"
        )
    )


class PlaceRecord(RecordPart):
    """A directory in which the run created something."""

    real: str = Field(description="path with symbolic links resolved")
    mark: str = Field(description="file system, inode, birth time (b:), or - if unknown")


class FilesLeft(RecordPart):
    """Files that the run created on a host and did not remove."""

    paths: list[str] = Field(default_factory=list, description="files and directories")
    bytes: int | None = Field(None, description="total size")
    identities: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "by path: inode, and birth time (b:) or change time (c:); for numbered files, a"
            " checksum of all. benchtui clean removes only files that still match"
        ),
    )
    directories: dict[str, PlaceRecord] = Field(
        default_factory=dict, description="parent directories by path"
    )


class ObjectsLeft(RecordPart):
    """Objects that the run put into a store and did not delete.

    benchtui never removes them later.
    """

    store: str = Field(description="endpoint and bucket")
    names: str = Field(description="object keys; * stands for numbers")
    count: int = Field(description="maximum number of objects")
    bytes: int = Field(description="maximum total size")


class FilesRemovedRecord(RecordPart):
    """Files that the run created on a host, removed by the run or by a later command."""

    utc: str | None = Field(None, description="time of removal")
    paths: list[str] = Field(
        default_factory=list, description="files and directories that are gone"
    )
    bytes: int = Field(0, description="size when removed; 0: empty or unknown")


class HostProblemRecord(RecordPart):
    """A problem on one host."""

    phase: str = Field(description="phase in which it occurred")
    code: str = Field(description="stable name: fio-missing, no-space, host-key-unknown, ...")
    message: CodedText | str = Field(description="message for the user")
    fatal: bool = Field(True, description="true: the host could not continue")
    t_s: float | None = Field(None, description="time of the problem, in seconds since created_utc")


class FactGroupRecord(RecordPart):
    """Hosts with the same value of a fact."""

    value: Scalar = Field(description="the value; null if unknown for these hosts")
    hosts: list[str] = Field(description="hosts with this value")


class FactDifferenceRecord(RecordPart):
    """A fact that differs between hosts."""

    name: str = Field(description="FACT, MAP.KEY or TABLE.COLUMN: nics.mtu, sysctls.vm.dirty_ratio")
    title: str = Field("", description="display name")
    matters: bool = Field(False, description="whether a difference may affect the figures")
    groups: list[FactGroupRecord] = Field(
        default_factory=list,
        description="hosts by value, the largest group first, unknown last",
    )


class FactsRecord(RecordPart):
    """Comparison of all hosts' facts.

    Facts that are unique to each host, such as its name, are omitted.
    """

    hosts: list[str] = Field(default_factory=list, description="hosts with any known fact")
    common: dict[str, Scalar] = Field(
        default_factory=dict, description="facts with the same value on all hosts"
    )
    differing: list[FactDifferenceRecord] = Field(
        default_factory=list, description="facts that differ between hosts"
    )


class HostRecord(RecordPart):
    """One host of the run."""

    name: str = Field(description="name in the inventory or the SSH configuration")
    role: str = Field("client", description="client: generates load; server: a storage node")
    transport: str | None = Field(
        None, description="ssh, local, exec, slurm, or one from another package"
    )
    facts: dict[str, Fact] = Field(
        default_factory=dict,
        description="facts: kernel, cpus, fio_version, ...; docs/facts.md lists all",
    )
    clock: ClockRecord | None = Field(None, description="host clock offset; null if unknown")
    randseed: int | None = Field(None, description="random seed in the first step")
    state: str | None = Field(None, description="last state: done, failed, lost, ...")
    detail: CodedText | str = Field("", description="reason for this state")
    problems: list[HostProblemRecord] = Field(
        default_factory=list, description="problems on the host"
    )
    files_left: FilesLeft | None = Field(
        None, description="files that the run left on the host; null if none recorded"
    )
    files_removed: list[FilesRemovedRecord] = Field(
        default_factory=list, description="files removed after the run, e.g. by benchtui clean"
    )
