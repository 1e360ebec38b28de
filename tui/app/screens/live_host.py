"""Texts of Live about the host shown alone: facts and telemetry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tui.metrics.facts import fact_text
from tui.metrics.units import bandwidth
from tui.model.hostfacts import HOST_FACTS
from tui.text.line import LABEL, Run
from tui.view.live_hosts import NO_FINDINGS, message_of

if TYPE_CHECKING:
    from tui.journal.state import HostView, RunState
    from tui.metrics.figures import HostSpread

# as many as fit
FACTS_SHOWN = ("cpus", "target_free_bytes", "kernel", "target_fstype", "os")


def host_facts(
    state: RunState,
    view: HostView | None,
    found: Mapping[str, Run] = NO_FINDINGS,
    spread: HostSpread | None = None,
    second: int | None = None,
    *,
    over_time: bool = False,
) -> tuple[str, list[tuple[str, str]], Run]:
    """Return name, facts and state of the host shown alone; an empty name for all hosts.

    `second`: second of the run; None for now. `over_time`: its telemetry is shown over time.
    """
    if view is None:
        return "", [], ("", LABEL)
    facts = list(telemetry_texts(state, view.name, second, over_time=over_time))
    tools = [key for key in view.facts if key.endswith("_version") and key not in HOST_FACTS]
    facts += [("tool", str(view.facts[key])) for key in tools if view.facts[key]]
    facts += [
        (HOST_FACTS[name].title, text)
        for name in FACTS_SHOWN
        if (text := fact_text(view.facts, name))
    ]
    return view.name, facts, message_of(view, state.clock.now, found, spread)


def telemetry_texts(
    state: RunState, host: str, second: int | None = None, *, over_time: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield label and text of a host's telemetry: CPU, busiest core, load, NIC, disk, processes.

    `second`: second of the run; None for now, which has no telemetry once the run has ended.
    `over_time`: CPU and links are shown over time elsewhere.
    """
    step = state.steps.get(state.step) if state.step is not None else None
    seen = step.telemetry.get(host) if step is not None else None
    if seen is None or (state.ended and second is None):
        return
    seen = seen.at(second) if second is not None else seen.lately(state.clock.window_s)
    busy, core, most = (seen.newest(name) for name in ("cpu.busy", "core.number", "core.busy"))
    if not over_time and busy is not None and core is not None and most is not None:
        yield "CPU", f"{busy:.0f} %, core {core:.0f} at {most:.0f} %"
    if (load := seen.newest("gen.cpu")) is not None:
        yield "load CPU", f"{load:.0f} % of a core"
    if not over_time and seen.busiest_link is not None:
        yield seen.busiest_link[0], bandwidth(seen.busiest_link[1])
    if seen.busiest_disk is not None:
        yield seen.busiest_disk[0], f"{seen.busiest_disk[1]:.0f} % busy"
    for name, cpu, count in seen.groups:
        yield name, f"{cpu:.0f} % in {count} process{'' if count == 1 else 'es'}"
