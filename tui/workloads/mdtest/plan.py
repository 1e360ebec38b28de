"""Plan the step that runs mdtest over all hosts. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from tui.metrics import units
from tui.model.address import HostAddress
from tui.model.plan import HostTask, MpiLaunch, Step
from tui.model.problem import Problem, UsageError
from tui.model.profile import ParamValue, Profile, expand, scalar_text
from tui.workloads.mdtest.body import Mdtest
from tui.workloads.mdtest.output import arguments, bytes_per_file, inodes_needed, item_phases
from tui.workloads.mdtest.program import NEXT_CLIENT, Placement, shift_of, shift_warning, stride_for
from tui.workloads.mpi_plan import (
    COUNTS,
    OWN_DIRECTORY,
    launch_of,
    launch_problems,
    launcher_text,
    step_of,
)

KINDS = (("up to 3.2", "3.2"), ("3.3 and newer", "3.3"))


def build_steps(
    profile: Profile,
    params: Mapping[str, ParamValue],
    hosts: Sequence[HostAddress],
    seeds: Mapping[str, int],
) -> list[Step]:
    """Return the step of an mdtest profile on these hosts. Raises UsageError."""
    if not isinstance(profile.body, Mdtest):
        raise UsageError(f"{profile.profile} has no mdtest: section")
    launch = resolve(profile.profile, profile.body, params)
    text = launch_text(launch, len(hosts))
    tasks = [_task(launch, host.name, seeds[host.name], text) for host in hosts]
    return [step_of(profile, params, launch, tasks, item_phases(launch.options))]


def resolve(tag: str, spec: Mdtest, params: Mapping[str, ParamValue]) -> MpiLaunch:
    """Return the launch with all parameters resolved.

    Raises UsageError with all problems at once.
    """
    values = {name: scalar_text(value) for name, value in params.items()}
    texts = {
        name: expand(getattr(spec, name), values).strip()
        for name in (
            "directory",
            "ranks_per_host",
            "items",
            "iterations",
            "stride",
            "program",
            "addresses",
        )
    }
    options = tuple(expand(option, values) for option in spec.options)
    if found := [*_problems(tag, texts)]:
        raise UsageError(found)
    return launch_of(
        spec,
        texts,
        values,
        items=int(texts["items"]),
        iterations=int(texts["iterations"]),
        stride=texts["stride"],
        options=options,
    )


def _problems(tag: str, texts: Mapping[str, str]) -> list[Problem]:
    found = list(launch_problems(tag, "mdtest", texts, COUNTS | {"items": 10**9}))
    if texts["stride"] != NEXT_CLIENT and not re.fullmatch(r"\d{1,9}", texts["stride"]):
        found.append(
            Problem(
                f"{tag}: mdtest.stride: '{texts['stride']}' is neither '{NEXT_CLIENT}' nor a whole"
                " number (-N)"
            )
        )
    return found


def _task(launch: MpiLaunch, host: str, seed: int, text: str) -> HostTask:
    stride = launch.stride if launch.stride != NEXT_CLIENT else "NEXT-CLIENT"
    own = posixpath.join(launch.directory, OWN_DIRECTORY)
    return HostTask(
        host=host,
        randseed=seed,
        job_file=text,
        argv=[launch.program, *arguments(launch, stride, own)],
        writes_bytes=launch.ranks_per_host * launch.items * bytes_per_file(launch.options),
        required_dir=launch.directory,
    )


def launch_text(launch: MpiLaunch, hosts: int) -> str:
    """Return the launch as lines of name=value, in place of fio's job file."""
    ranks = launch.ranks(hosts)
    lines = [
        "[mdtest]",
        f"ranks={units.plural(hosts, 'host')} x {launch.ranks_per_host} = {ranks}",
        (
            f"files={ranks} ranks x {launch.items} = {ranks * launch.items} in each of"
            f" {launch.iterations} iterations"
        ),
        f"inodes={inodes_needed(launch, hosts)} at once",
        f"phases={', '.join(item_phases(launch.options))}",
        f"launcher={launcher_text(launch, 'mdtest')}",
        f"addresses={launch.addresses}",
        "[rank shift]",
        *shift_lines(launch, hosts),
    ]
    return "\n".join(lines) + "\n"


def shift_lines(launch: MpiLaunch, hosts: int) -> list[str]:
    """Return the effect of -N by version; the preflight finds the version on the hosts."""
    placement = Placement(hosts, launch.ranks_per_host)
    lines = []
    for label, version in KINDS:
        shift = shift_of(stride_for(launch.stride, version, placement), version, placement)
        lines.append(f"mdtest {label}=-N {shift.stride}: {shift.text()}")
        if warning := shift_warning(shift):
            lines.append(f"; {warning}")
    return lines
