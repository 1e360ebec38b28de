"""Load generators, one folder each: planning, requirements, reading their output."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import TYPE_CHECKING

from tui.model import tool
from tui.model.operands import of_tool
from tui.model.problem import UsageError
from tui.text.form import BY_GENERATOR, of_generator, worded_from
from tui.text.plan_texts import PLAN

if TYPE_CHECKING:
    from tui.model.operands import Clause, Told
    from tui.model.plan import Step
    from tui.workloads.base import ImportedOutput, KeptFile, Workload
    from tui.workloads.reading import Reader


def names() -> list[str]:
    """Return the names of installed load generators without importing them."""
    return list(tool.installed())


def find(name: str) -> Workload | None:
    """Return a load generator by name; None if it is not installed here."""
    try:
        return get(name)
    except UsageError:
        return None


def caveat_text(told: Clause | str) -> str:
    """Return the text of a caveat on a plan. Older plans store the text itself; return it
    unchanged.
    """
    return worded_from({**PLAN, BY_GENERATOR: of_generator}, told)


def problems(tool: str, reader: Reader, exit_code: int | None) -> list[tuple[str, Told]]:
    """Return reasons to doubt a load generator's result, as (code, message)."""
    return [(code, of_tool(tool, told)) for code, told in reader.problems(exit_code)]


def reports_operations(name: str) -> bool:
    """Return whether a load generator reports phases over all hosts rather than samples per host;
    False if it is not installed.
    """
    found = find(name)
    return found is not None and found.reports == "operations"


def every() -> list[Workload]:
    """Return all load generators that can be imported, those expected on hosts first."""
    found = []
    for name in names():
        with suppress(UsageError):  # the error is reported when it is used
            found.append(get(name))
    return sorted(found, key=lambda workload: not workload.expected)


def expected() -> list[Workload]:
    """Return the load generators that hosts are expected to have, whatever the plan."""
    return [workload for workload in every() if workload.expected]


@functools.cache
def get(name: str) -> Workload:
    """Return the load generator named by a profile's ``tool``.

    Raises UsageError if it is not installed. A load generator of another package is checked against
    the contract; violations raise PluginError with its name.
    """
    found: Workload = tool.load(name)
    if name not in tool.foreign():
        return found
    from tui.workloads.contract import plugged_in  # few runs are of a plug-in

    return plugged_in(found, tool.named(name), tool.provider(name))


def of(step: Step) -> Workload:
    """Return the load generator of a planned step.

    If it is not installed, raises UsageError with the package that planned the step, if known.
    """
    try:
        return get(step.tool)
    except UsageError as error:
        if step.tool in names() or step.provider is None:
            raise
        whence = step.provider.text()
        install = f"; install {step.provider.package}" if step.provider.package else ""
        raise UsageError(
            f"the load generator '{step.tool}' ({whence}) is not installed here{install}"
        ) from error


def last_outputs(file: KeptFile) -> list[ImportedOutput]:
    """Return the outputs of the last measurement in a file, one per host.

    The first load generator that recognizes the text reads it; empty if none does. Raises
    UsageError.
    """
    from msgspec.structs import replace

    for reader in every():
        if outputs := reader.import_output(file.text, file.place):
            last = outputs[-1].place
            return [replace(each, tool=reader.name) for each in outputs if each.place == last]
    return []
