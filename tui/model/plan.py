"""A plan: everything a run will do, computed before anything is done.

The review screen shows it, ``--dry-run`` prints it, the engine executes exactly it, the record keeps it.
Sizes are bytes, times are seconds, paths are paths on the host they belong to.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

PLAN_SCHEMA = "benchtui.plan/1"


class HostAddress(Struct, frozen=True, omit_defaults=True):
    """How to reach one host. None means: as ~/.ssh/config or SSH's defaults say."""

    name: str
    transport: Literal["ssh", "local"] = "ssh"
    address: str | None = None
    port: int | None = None
    user: str | None = None
    identity: str | None = None
    ssh_config: str | None = None
    groups: tuple[str, ...] = ()


class FileSpec(Struct, frozen=True):
    """One test file on a host: absolute path and full size in bytes."""

    path: str
    size_bytes: int


class Headline(Struct, frozen=True, omit_defaults=True):
    """The one figure a profile is about."""

    metric: Literal["iops", "bandwidth", "latency"]
    direction: Literal["read", "write", "mixed"]
    percentile: float | None = None


class HostTask(Struct, omit_defaults=True):
    """What one host does in one step: its job file, its command, the files it uses."""

    host: str
    randseed: int
    job_file: str
    argv: list[str]
    directories: list[str] = field(default_factory=list)
    files: list[FileSpec] = field(default_factory=list)
    layout: bool = False
    writes_bytes: int | None = None  # most bytes the measurement can overwrite or create; None: no bound
    required_dir: str | None = None  # must exist and be writable before anything starts


class Step(Struct, omit_defaults=True):
    """One measurement on all hosts at once."""

    index: int
    name: str
    tool: str
    params: dict[str, str | int | float | bool]
    tasks: list[HostTask]
    runtime_s: float | None
    ramp_s: float = 0.0
    startdelay_s: float = 0.0
    directions: list[str] = field(default_factory=list)
    in_flight: int | None = None  # numjobs x iodepth over all hosts
    repetition: int = 1

    @property
    def expected_s(self) -> float | None:
        """Seconds from GO to the end of the measurement, when the tool is bounded by time."""
        return None if self.runtime_s is None else self.startdelay_s + self.ramp_s + self.runtime_s


class ProfileRef(Struct, omit_defaults=True):
    """Which profile a plan was made from, whole, so that the record is self-contained."""

    tag: str
    version: int
    title: str
    text: str  # the YAML as it was read
    sha256: str
    source: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)  # parameters that differ from the profile's defaults
    preset: bool = True


class Plan(Struct, omit_defaults=True):
    """The whole run."""

    profile: ProfileRef
    params: dict[str, str | int | float | bool]
    hosts: list[HostAddress]
    steps: list[Step]
    headline: Headline
    latency_kind: Literal["clat", "lat"] = "clat"
    target: str | None = None
    cleanup: bool = False
    allow_device: bool = False
    lease_s: float = 60.0
    on_host_loss: Literal["continue", "stop"] = "continue"
    take_locks: bool = False  # run on hosts that another run has locked
    drop_caches: Literal["no", "try", "require"] = "no"
    note: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    schema: str = PLAN_SCHEMA

    @property
    def expected_s(self) -> float | None:
        """Seconds of load in all steps, layout not counted; None when a step is bounded by size."""
        spans = [step.expected_s for step in self.steps]
        return None if any(span is None for span in spans) else sum(span or 0.0 for span in spans)
