"""Check of the sources of hosts: which are installed, and which programs of theirs are here."""

from __future__ import annotations

from tui.cli.doctor_checks import DoctorCheck, Surroundings
from tui.model.problem import UsageError
from tui.model.tool import is_foreign
from tui.sources.base import SourceContext
from tui.sources.registry import installed_sources, load_source


def sources(surroundings: Surroundings) -> DoctorCheck:
    """What --hosts and groups of the inventory can name beside hosts."""
    context = SourceContext.here()._replace(environ=surroundings.environ)
    states, broken = [], []
    for name, point in installed_sources().items():
        try:
            state = load_source(name).state(context)
        except UsageError as error:
            broken.append(str(error))
            continue
        whose = f" of {point.value}" if is_foreign(point) else ""
        states.append(f"{name}{whose}{f' ({state})' if state else ''}")
    if broken:
        return DoctorCheck(
            "sources", "warn", "; ".join(broken), "pip uninstall what cannot be loaded, or mend it"
        )
    return DoctorCheck("sources", "ok", ", ".join(states))
