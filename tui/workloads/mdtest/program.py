"""mdtest as an MPI program: plan, arguments, trial launch, rank shift (-N)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from tui.metrics import units
from tui.model.event import MetadataResult
from tui.model.operands import Clause, Told, clause
from tui.model.plan import MpiLaunch
from tui.model.profile import expand
from tui.text.form import Text, worded_from
from tui.workloads.base import OperationFinding
from tui.workloads.mdtest.body import Mdtest
from tui.workloads.mdtest.output import (
    HONEST_SUMMARY,
    MULTIPLIES_STRIDE,
    arguments,
    at_least,
    bytes_per_file,
    inodes_needed,
    item_phases,
    trial_options,
)
from tui.workloads.mdtest.reader import MdtestReader
from tui.workloads.mpi import StepProgram, Tried
from tui.workloads.mpi_plan import COUNTS, MpiPlan, launch_of, launch_problems, refuse, texts_of

NEXT_CLIENT = "next-client"
PHASES_BACK = {"stat": 1, "read": 2, "remove": 3}  # how many shifts after the creation


@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of ranks: `per_node` ranks on each of `nodes` machines, in blocks, or round-robin
    if `dealt`.
    """

    nodes: int
    per_node: int
    dealt: bool = False

    @property
    def ranks(self) -> int:
        """Total number of ranks."""
        return self.nodes * self.per_node


@dataclass(frozen=True, slots=True)
class Shift:
    """Effect of -N `stride`: each phase uses the files of the rank that is `ranks` higher, with
    this placement.
    """

    stride: int
    ranks: int
    placement: Placement

    def own_client(self) -> list[str]:
        """Return the phases in which a rank uses files that its own client created."""
        return [phase for phase, times in PHASES_BACK.items() if not self._all_leave(times)]

    def _all_leave(self, times: int) -> bool:
        if self.placement.dealt:
            return self.ranks * times % self.placement.nodes != 0
        by = self.ranks * times % self.placement.ranks
        each = self.placement.per_node
        return each <= by <= self.placement.ranks - each

    def told(self) -> Clause:
        """Return the shift as a code with operands."""
        at = self.placement
        return clause(
            "rank-shift", ranks=self.ranks, nodes=at.nodes, per_node=at.per_node, dealt=at.dealt
        )

    def text(self) -> str:
        """Return the shift as text, such as "136 ranks = 1 client in each phase"."""
        return worded_from(TEXTS, self.told())


def _shift_text(ranks: int, nodes: int, per_node: int, dealt: bool) -> str:
    if ranks == 0:
        return "0 ranks: every rank works on its own files in all phases"
    if dealt:
        by = f"{ranks % nodes} of {nodes} clients in each phase"
        return f"{ranks} ranks = {by} (ranks are placed round-robin)"
    whole = ranks % per_node == 0
    clients = f" = {units.plural(ranks // per_node, 'client')}" if whole else ""
    return f"{units.plural(ranks, 'rank')}{clients} in each phase"


def _own_client(shift: str, phases: Sequence[str], stride: int | None = None) -> str:
    what = "rank shift" if stride is None else f"-N {stride}"
    return (
        f"in {', '.join(phases)}, clients access files that they created themselves; their caches"
        f" may serve them ({what}: {shift})"
    )


TEXTS: Mapping[str, Text] = {
    "rank-shift": _shift_text,
    "own-client": _own_client,
    "one-client": (
        "all ranks are on one client: it stats, reads and removes files that it created itself"
    ),
    "shift-unexpected": "mdtest shifts ranks by {ranks}; expected {expected} for version {version}",
    "shift-by": "; -N {stride}: {shift}",
    "no-summary": "mdtest printed no summary; it reached iteration {iteration} of {iterations}",
    "summary-covers": "the summary covers {covered} iterations, expected {iterations}",
    "files-worked-on": "mdtest worked on {files} files, expected {expected}",
    "output-cut": "mdtest's output ends early: no line '-- finished at'",
    "no-kept-summary": "mdtest printed no summary; it reached iteration {iteration}",
    "same-names": (
        "{nodes} nodes, but all {tasks} ranks have the host name of rank 0: nodes have the same"
        " name, or ran no ranks"
    ),
}


def shift_of(stride: int, version: str, placement: Placement) -> Shift:
    """Return the effect of -N in a version of mdtest."""
    times = placement.per_node if multiplied(version, placement) else 1
    return Shift(stride, stride * times % placement.ranks, placement)


def multiplied(version: str, placement: Placement) -> bool:
    """Return whether this version multiplies -N by the number of ranks on the first node."""
    return placement.nodes > 1 and placement.per_node > 1 and at_least(version, MULTIPLIES_STRIDE)


def stride_for(wanted: str, version: str, placement: Placement) -> int:
    """Return the value for -N: the requested one, or one that selects the next client's files."""
    if wanted != NEXT_CLIENT:
        return int(wanted)
    return 1 if multiplied(version, placement) else placement.per_node


def shift_of_result(result: MetadataResult) -> Shift | None:
    """Return the rank shift of a result; None if unknown."""
    if result.shift < 0 or result.nodes < 1 or result.ranks_per_node < 1:
        return None
    return Shift(0, result.shift, Placement(result.nodes, result.ranks_per_node, result.dealt))


def rank_shift_finding(result: MetadataResult) -> OperationFinding | None:
    """Return a finding if phases use files of the same client, whose cache may have served them;
    else None.
    """
    shift = shift_of_result(result)
    if shift is None or not (own := shift.own_client()):
        return None
    told = _of_own_client(shift, own)
    return OperationFinding(
        told["code"], told["operands"], tuple(own), shift.ranks, shift.placement.per_node
    )


def same_names(result: MetadataResult) -> OperationFinding | None:
    """Return a finding if several nodes share a host name, so that placement is unknown; else
    None.
    """
    if result.nodes < 2 or len(result.nodemap) != result.tasks or "0" in result.nodemap:
        return None
    operands = {"nodes": result.nodes, "tasks": result.tasks}
    return OperationFinding("same-names", operands, tuple(result.operations), 1, result.nodes)


def _of_own_client(shift: Shift, phases: Sequence[str], **operands: int) -> Clause:
    if shift.placement.nodes < 2:
        return clause("one-client")
    return clause("own-client", shift=shift.told(), phases=list(phases), **operands)


def shift_warning(shift: Shift) -> Clause | None:
    """Return why a shift is doubtful; None if all phases except creation use other clients' files.

    With two clients it is unavoidable: the second shift returns to the creator.
    """
    own = shift.own_client()
    if shift.placement.nodes > 1 and not own:
        return None
    return _of_own_client(shift, own, stride=shift.stride)


class MdtestProgram(StepProgram):
    """mdtest as the engine launches it."""

    title = "mdtest"

    def trial(self) -> Self:
        """Return a launch with the profile's options, one rank per host, and one file per rank."""
        return self.as_trial(items=1, iterations=1, stride="1", options=trial_options(self.launch))

    def words(self, directory: str, hosts: int, tried: Tried) -> list[str]:
        """Return mdtest's arguments."""
        by_rank = at_least(tried.version, HONEST_SUMMARY)
        stride = str(self.shift(hosts, tried).stride)
        return arguments(self.launch, stride, directory, by_rank=by_rank)

    def kind(self) -> type[MdtestReader]:
        """Return the class that reads mdtest's output."""
        return MdtestReader

    def inodes(self, hosts: int) -> int:
        """Return the maximum number of inodes."""
        return inodes_needed(self.launch, hosts)

    def shift(self, hosts: int, tried: Tried) -> Shift:
        """Return the effect of -N with this version on these hosts, several of which may be one
        node.
        """
        nodes = tried.nodes or hosts
        placement = Placement(nodes, self.launch.ranks(hosts) // nodes)
        return shift_of(
            stride_for(self.launch.stride, tried.version, placement), tried.version, placement
        )

    def work(self, hosts: int, tried: Tried) -> Clause:
        """Return the effect of this version's rank shift."""
        shift = self.shift(hosts, tried)
        return clause("shift-by", stride=shift.stride, shift=shift.told())

    def warnings(self, hosts: int, tried: Tried) -> list[Clause]:
        """Return a warning if clients use their own files."""
        warning = shift_warning(self.shift(hosts, tried))
        return [warning] if warning else []

    def complete(self, result: MetadataResult, hosts: int, tried: Tried) -> list[tuple[str, Told]]:
        """Add the ranks per node and the rank shift to the result; the shift as printed by mdtest,
        or else as computed.

        Returns a problem if the two differ.
        """
        expected = self.shift(hosts, tried)
        result.ranks_per_node = expected.placement.per_node
        if result.shift < 0:
            result.shift = expected.ranks
            return []
        result.shift %= max(result.tasks, 1)
        if result.shift == expected.ranks:
            return []
        ranks, version = result.shift, result.version
        told = clause("shift-unexpected", ranks=ranks, expected=expected.ranks, version=version)
        return [("shift-unexpected", told)]


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
    times = f" in each of {launch.iterations} iterations" if launch.iterations > 1 else ""
    yield f"files={ranks} ranks x {launch.items} = {ranks * launch.items}{times}"
    yield f"inodes={inodes_needed(launch, hosts)} at once"


def _notes(launch: MpiLaunch, hosts: int) -> Iterator[str]:
    """Yield the effect of -N by version; the preflight finds the version on the hosts."""
    placement = Placement(hosts, launch.ranks_per_host)
    yield "[rank shift]"
    for label, version in KINDS:
        shift = shift_of(stride_for(launch.stride, version, placement), version, placement)
        yield f"mdtest {label}=-N {shift.stride}: {shift.text()}"
        if warning := shift_warning(shift):
            yield f"; {worded_from(TEXTS, warning)}"


PLAN = MpiPlan(
    resolve=resolve,
    phases=lambda launch: item_phases(launch.options),
    arguments=_arguments,
    bytes_per_rank=lambda launch: launch.items * bytes_per_file(launch.options),
    work=_work,
    notes=_notes,
)
