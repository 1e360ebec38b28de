"""Check of host sources: which are installed, and whether their programs are."""

from __future__ import annotations

from tui.cli.doctor_checks import DoctorCheck, Surroundings
from tui.model.problem import UsageError
from tui.model.tool import is_foreign
from tui.sources.base import SourceContext
from tui.sources.registry import installed_sources, load_source


def sources(surroundings: Surroundings) -> DoctorCheck:
    """Check what --hosts and inventory groups can use besides host names."""
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
            "sources", "warn", "; ".join(broken), "uninstall or repair what cannot be loaded"
        )
    return DoctorCheck("sources", "ok", ", ".join(states))
