"""Plan the step that runs mdtest over all hosts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tui.model.plan import MpiLaunch
from tui.model.profile import expand
from tui.workloads.mdtest.body import Mdtest
from tui.workloads.mdtest.output import arguments, bytes_per_file, inodes_needed, item_phases
from tui.workloads.mdtest.program import NEXT_CLIENT, Placement, shift_of, shift_warning, stride_for
from tui.workloads.mpi_plan import COUNTS, MpiPlan, launch_of, launch_problems, refuse, texts_of

KINDS = (("up to 3.2", "3.2"), ("3.3 and newer", "3.3"))


def resolve(tag: str, spec: Mdtest, values: Mapping[str, str]) -> MpiLaunch:
    """Return the launch with all parameters resolved.

    Raises UsageError with all problems at once.
    """
    texts = texts_of(spec, ("items", "iterations", "stride"), values)
    refuse(tag, "mdtest", _problems(texts))
    options = tuple(expand(option, values) for option in spec.options)
    stride, items = texts["stride"], int(texts["items"])
    return launch_of(spec, texts, values, items=items, stride=stride, options=options)


def _problems(texts: Mapping[str, str]) -> Iterator[str]:
    yield from launch_problems("mdtest", texts, COUNTS | {"items": 10**9})
    if texts["stride"] != NEXT_CLIENT and not re.fullmatch(r"\d{1,9}", texts["stride"]):
        yield f"stride: '{texts['stride']}' is neither '{NEXT_CLIENT}' nor a whole number (-N)"


def _arguments(launch: MpiLaunch, directory: str) -> list[str]:
    stride = launch.stride if launch.stride != NEXT_CLIENT else "NEXT-CLIENT"
    return arguments(launch, stride, directory)


def _work(launch: MpiLaunch, hosts: int) -> Iterator[str]:
    ranks = launch.ranks(hosts)
    yield (
        f"files={ranks} ranks x {launch.items} = {ranks * launch.items} in each of"
        f" {launch.iterations} iterations"
    )
    yield f"inodes={inodes_needed(launch, hosts)} at once"


def _notes(launch: MpiLaunch, hosts: int) -> Iterator[str]:
    """Yield the effect of -N by version; the preflight finds the version on the hosts."""
    placement = Placement(hosts, launch.ranks_per_host)
    yield "[rank shift]"
    for label, version in KINDS:
        shift = shift_of(stride_for(launch.stride, version, placement), version, placement)
        yield f"mdtest {label}=-N {shift.stride}: {shift.text()}"
        if warning := shift_warning(shift):
            yield f"; {warning}"


PLAN = MpiPlan(
    resolve=resolve,
    phases=lambda launch: item_phases(launch.options),
    arguments=_arguments,
    bytes_per_rank=lambda launch: launch.items * bytes_per_file(launch.options),
    work=_work,
    notes=_notes,
)
