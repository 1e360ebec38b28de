"""What benchtui asks of ddsync: its part of a profile, its step, what hosts need, how to read its
output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, Field

from tui.model.address import HostAddress
from tui.model.event import PhaseName
from tui.model.plan import FileSpec, HostTask, Step
from tui.model.problem import Problem, UsageError
from tui.model.profile import (
    ParamValue,
    Profile,
    expand,
    host_params,
    placeholders,
    safe_host,
    value_text,
)
from tui.model.quantities import parse_duration, parse_size
from tui.model.yaml_text import YamlDocument
from tui.workloads.base import LatencyKind, Requirement, Workload

from .reader import DdReader

SCRIPT = """\
LC_ALL=C; export LC_ALL
echo "version $(dd --version | sed 1q)"
now=$(date +%s); end=$((now + {seconds})); n=0
echo "at $now"
while [ "$now" -lt "$end" ]; do
  dd if=/dev/zero of='{file}' bs={bs} count=1 seek="$n" conv=notrunc,fsync 2>&1 || exit 1
  n=$(((n + 1) % {blocks})); now=$(date +%s)
  echo "at $now"
done
echo end
"""


class Writes(BaseModel):
    """The part of a profile under ``ddsync:``; every value may name a parameter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    directory: str = Field(description="Where each host has its file")
    bs: str | int = Field("4k", description="Size of a write")
    blocks: str | int = Field(1, description="How many places of the file are written in turn")
    runtime: str = Field(description="How long")


class DdSync(Workload):
    """One dd after the other, each a write and an fsync."""

    name = "ddsync"
    minimum_version = (8, 0)
    job_file = "writes.sh"
    stand_in = MappingProxyType({"directory": "/", "runtime": "1s"})

    # -- profiles

    def body(self) -> type[BaseModel]:
        """Return the model of the part under ``ddsync:``."""
        return Writes

    def problems(
        self, profile: Profile, document: YamlDocument, texts: Mapping[str, str]
    ) -> Iterable[Problem]:
        """Yield values that dd would not take."""
        bs = expand(profile.body.bs, texts)
        if placeholders(bs):
            return  # of a parameter that is not there, or is wrong itself: told already
        try:
            if parse_size(bs) % 512:
                yield document.problem(
                    ("ddsync", "bs"), f"bs: {bs} is no multiple of 512, which devices need"
                )
        except ValueError:
            yield document.problem(("ddsync", "bs"), f"bs: '{bs}' is no size; allowed: such as 4k")

    # -- planning

    def build_steps(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: list[HostAddress],
        seeds: Mapping[str, int],
    ) -> list[Step]:
        """Return the one step. Raises UsageError."""
        tasks = [
            _task(profile, params, host.name, i, len(hosts), seeds)
            for i, host in enumerate(hosts, start=1)
        ]
        return [
            Step(
                index=0,
                name=profile.profile,
                tool=self.name,
                params=dict(params),
                tasks=tasks,
                runtime_s=_values(profile, params, "host", 1, 1)[2],
                directions=["write"],
                in_flight=len(hosts),
            )
        ]

    # -- hosts

    def requirements(self, steps: Sequence[Step]) -> Sequence[Requirement]:
        """Return dd, which is everywhere; a very old one says no times."""
        return [Requirement("dd", self.minimum_version)]

    # -- reading

    def reader(
        self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind
    ) -> DdReader:
        """Return a reader of what the script prints."""
        return DdReader(host, step.index, phase)

    # -- showing

    def outline(
        self, profile: Profile, params: Mapping[str, ParamValue]
    ) -> Sequence[tuple[str, str]]:
        """Return what is written, in one line."""
        bs, blocks, seconds, _ = _values(profile, params, "host", 1, 1)
        return [("dd", f"bs={bs} blocks={blocks} fsync after each, {seconds:g}s")]


def _values(
    profile: Profile, params: Mapping[str, ParamValue], host: str, index: int, hosts: int
) -> tuple[int, int, float, str]:
    """Return block size, blocks, seconds and directory as they hold for one host.

    Raises UsageError.
    """
    own = host_params(profile, params, index, hosts)
    texts = {name: value_text(profile.params[name].kind, value) for name, value in own.items()}
    texts |= {"host": safe_host(host), "host_index": str(index)}
    body = profile.body
    try:
        bs, blocks = parse_size(expand(body.bs, texts)), int(expand(body.blocks, texts))
        return (
            bs,
            blocks,
            parse_duration(expand(body.runtime, texts)),
            expand(body.directory, texts),
        )
    except ValueError as error:
        raise UsageError(f"{profile.profile}: ddsync: {error}") from error


def _task(
    profile: Profile,
    params: Mapping[str, ParamValue],
    host: str,
    index: int,
    hosts: int,
    seeds: Mapping[str, int],
) -> HostTask:
    bs, blocks, seconds, directory = _values(profile, params, host, index, hosts)
    file = f"{directory}/ddsync.{safe_host(host)}"
    if "'" in file:
        raise UsageError(
            f"{profile.profile}: ddsync.directory: no quotes are allowed in {directory}"
        )
    return HostTask(
        host=host,
        randseed=seeds[host],
        job_file=SCRIPT.format(file=file, bs=bs, blocks=blocks, seconds=round(seconds)),
        argv=["sh", DdSync.job_file],
        files=[FileSpec(file, bs * blocks)],
        writes_bytes=bs * blocks,
        required_dir=directory,
    )
