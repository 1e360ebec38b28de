"""Contract of `tui/workloads/base.py` as rules, checked on values from load generators of other
packages.

Types come from the annotations of the interface; rules on samples and results are defined here.
Built-in load generators are not checked at run time: tests replay their output through
`tui.testing`.
"""

from __future__ import annotations

import functools
from operator import lt
from typing import TYPE_CHECKING, Any

from tui.model.event import (
    Buckets,
    DirectionResult,
    DirectionSample,
    HostResult,
    LatencyResult,
    Sample,
)
from tui.model.operands import Clause
from tui.model.plugin import Contract, Plugin, PluginError, guarded_model
from tui.model.typed import Rule, Types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tui.model.address import HostAddress
    from tui.model.plan import Provider, Step
    from tui.workloads.base import Workload

REQUIRED = ("name", "body", "build_steps", "reader")


# -- what holds beyond types


def _buckets(each: Buckets) -> str:
    if len(each.idx) != len(each.n):
        return f".idx: found {len(each.idx)} entries; expected {len(each.n)}, as in n"
    if not all(map(lt, each.idx, each.idx[1:])):
        return ".idx: the indices must be ascending, each only once"
    return ".n: counts must be 1 or more; omit empty buckets" if 0 in each.n else ""


def _direction_sample(each: DirectionSample) -> str:
    return _printed(each.printed_ns, ".printed_ns")


def _printed(values: Mapping[str, int], place: str) -> str:
    """Return an error for the first percentile below 0; empty if there is none."""
    for name, value in values.items():
        if value < 0:
            return f"{place}['{name}']: found {value}, allowed: 0 ns or more"
    return ""


def _sample(each: Sample) -> str:
    if each.interval_s <= 0:
        return f".interval_s: found {each.interval_s:g}, allowed: more than 0"
    return (
        f".host_time_ms: found {each.host_time_ms}, allowed: 0 or more"
        if each.host_time_ms < 0
        else ""
    )


def _latency_result(each: LatencyResult) -> str:
    if each.n < 0 or each.min_ns < 0:
        return f": found n={each.n}, min_ns={each.min_ns}, allowed: 0 or more"
    if each.n and not each.min_ns <= each.mean_ns <= each.max_ns:
        return (
            f": found min_ns={each.min_ns}, mean_ns={each.mean_ns:g}, max_ns={each.max_ns};"
            " expected min <= mean <= max"
        )
    if each.buckets is not None and sum(each.buckets.n) != each.n:
        return f".buckets: found {sum(each.buckets.n)} counts in all, expected n={each.n}"
    return _printed(each.percentiles_ns, ".percentiles_ns")


def _direction_result(each: DirectionResult) -> str:
    negative = [name for name in each.__struct_fields__[:7] if getattr(each, name) < 0]
    return (
        f".{negative[0]}: found {getattr(each, negative[0])}, allowed: 0 or more"
        if negative
        else ""
    )


FURTHER: Mapping[type, Any] = {
    Buckets: _buckets,
    DirectionSample: _direction_sample,
    Sample: _sample,
    LatencyResult: _latency_result,
    DirectionResult: _direction_result,
}


# -- the contract


@functools.cache
def types() -> Types:
    """Return the type rules of the whole interface."""
    from tui.model import address, event, plan, problem, profile, search, tool, yaml_text
    from tui.workloads import base, mpi, reading, terms

    modules = (
        yaml_text,
        problem,
        search,
        address,
        event,
        plan,
        profile,
        tool,
        mpi,
        base,
        reading,
        terms,
    )
    names: dict[str, Any] = {}
    for module in modules:
        names |= vars(module)
    from pydantic import BaseModel

    # in `reading`, LogLine is a string
    names |= {"BaseModel": BaseModel, "LogLine": tuple[event.Severity, Clause | str]}
    names["Latencies"] = Buckets  # dense ones are for journals only
    return Types(names, FURTHER)


@functools.cache
def reader_contract() -> Contract:
    """Return the contract of readers, including those of MPI programs."""
    from tui.workloads.mpi import ProgramReader
    from tui.workloads.reading import Reader

    return Contract(types().methods_of(Reader, ProgramReader), types().attributes_of(ProgramReader))


@functools.cache
def workload_contract() -> Contract:
    """Return the contract of load generators."""
    from tui.model.tool import InProfile
    from tui.workloads import base
    from tui.workloads.mpi import MpiProgram

    pieces = (
        InProfile,
        base.Planning,
        base.OnHost,
        base.Reading,
        base.Showing,
        base.Format,
        base.Importing,
        base.Workload,
    )
    attributes: dict[str, Rule] = {}
    for piece in pieces:
        attributes |= types().attributes_of(piece)
    read = {"reader": lambda made, who: Plugin(made, who, reader_contract())}
    program = Contract(types().methods_of(MpiProgram), types().attributes_of(MpiProgram), made=read)
    terms = Contract(types().methods_of(base.FromTerms))
    made: dict[str, Callable[[Any, str], Any]] = {
        "program": lambda made, who: Plugin(made, who, program),
        "simplest": lambda made, who: Plugin(made, who, program),
        "from_terms": lambda made, who: Plugin(made, who, terms),
        "body": guarded_model,
    }
    return Contract(types().methods_of(*pieces), attributes, made)


class PluggedIn(Plugin):
    """A load generator of another package.

    Its steps are checked and marked with the package, and samples and results of its readers are
    checked for the right host and step.
    """

    def __init__(self, inner: Any, who: str, provider: Provider):
        super().__init__(inner, who, workload_contract())
        self.__dict__["_provider"] = provider

    def _caller(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        call, who = super()._caller(name, function), self._who
        if name == "build_steps":
            return lambda profile, params, hosts, seeds: self._steps(
                name, call(profile, params, hosts, seeds), hosts
            )
        if name == "pace":
            return lambda *args: self._paced(call(*args), args[2])
        if name == "reader":
            return lambda host, step, phase, kind: checked_reader(
                call(host, step, phase, kind), who, host, step, phase
            )
        return call

    def _steps(
        self, name: str, steps: Sequence[Step], hosts: Sequence[HostAddress]
    ) -> Sequence[Step]:
        error = (
            f": found {len(steps)} steps, expected 1"
            if len(steps) != 1
            else self._step_error(steps[0], hosts)
        )
        if error:
            raise PluginError(f"{self._who}: {name}{error}")
        steps[0].provider = self._provider
        return steps

    def _step_error(self, step: Step, hosts: Sequence[HostAddress]) -> str:
        """Return an error in a step's tool or hosts; empty if there is none."""
        if step.tool != self.name:
            return f"[0].tool: found {step.tool!r}, allowed: {self.name!r}"
        wanted = [host.name for host in hosts]
        if step.hosts == wanted:
            return ""
        return f"[0].tasks: found hosts {step.hosts}, expected {wanted}"

    def _paced(self, made: Any, hosts: Sequence[HostAddress]) -> Any:
        self._steps("pace", [made.step], hosts)
        return made


def checked_reader(reader: Any, who: str, host: str, step: Step, phase: str) -> Any:
    """Wrap a plug-in's reader so that what it returns is checked: types, host and step of samples
    and results, phase of samples.
    """

    def accept(name: str, value: Any) -> str:
        if name in ("feed", "flush"):
            errors = (mismatch(each) for each in value if isinstance(each, Sample))
            return next(filter(None, errors), "")
        return mismatch(value) if name == "result" and isinstance(value, HostResult) else ""

    def mismatch(each: Sample | HostResult) -> str:
        if (each.host, each.step) != (host, step.index):
            return (
                f": found host {each.host!r}, step {each.step}; expected {host!r}, step"
                f" {step.index}"
            )
        if isinstance(each, Sample) and each.phase != phase:
            return f": found phase {each.phase!r}, expected {phase!r}"
        return ""

    return Plugin(reader, who, reader_contract(), accept)


def plugged_in(inner: Any, who: str, provider: Provider) -> Workload:
    """Wrap a load generator of another package so that it is checked against the contract.

    Raises PluginError if a member is missing, or an attribute has the wrong type.
    """
    found = PluggedIn(inner, who, provider)
    for name in (*REQUIRED, *found._contract.attributes):
        getattr(found, name)
    return found
