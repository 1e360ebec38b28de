"""One host for the record: its facts, its clock, what went wrong on it, what the run left there."""

from __future__ import annotations

import posixpath

from tui.journal.state import RunState
from tui.model.address import HostAddress
from tui.model.made import Identities
from tui.model.plan import Plan
from tui.model.record import ClockRecord, FilesLeft, FilesRemovedRecord, HostProblemRecord, HostRecord, PlaceRecord
from tui.results.record.step import rounded


def host_record(plan: Plan, run: RunState, host: HostAddress) -> HostRecord:
    """Return the record of one host, as far as it is known."""
    name = host.name
    view = run.hosts.get(name)
    tasks = plan.steps[0].tasks if plan.steps else []
    return HostRecord(
        name=name,
        role="client",
        transport=host.transport,
        facts=dict(view.facts) if view is not None else {},
        clock=_clock(run, name),
        randseed=next((task.randseed for task in tasks if task.host == name), None),
        state=view.state if view is not None else None,
        detail=view.detail if view is not None else "",
        problems=_problems(run, name),
        files_left=_files_left(run, name),
        files_removed=[
            FilesRemovedRecord(utc=run.utc_of(each.t), paths=list(each.paths), bytes=each.bytes)
            for each in (run.files[name].removed if name in run.files else [])
        ],
    )


def server_records(plan: Plan, run: RunState) -> list[HostRecord]:
    """Return the records of the storage nodes of a run: what they are, where they were reached."""
    return [
        HostRecord(
            name=server.name, role="server", transport=server.transport, facts=run.server_facts.get(server.name, {})
        )
        for server in plan.servers
    ]


def _clock(run: RunState, host: str) -> ClockRecord | None:
    compared = run.compared.get(host)
    if compared is not None:
        return ClockRecord(
            offset_s=round(compared.offset_s, 6),
            uncertainty_s=round(compared.uncertainty_s, 6),
            rtt_s=round(compared.rtt_s, 6),
            method="exchange",
        )
    reading, created = run.reading_of(host), run.created
    if reading is None or created is None:
        return None
    return ClockRecord(offset_s=round(-reading.offset_s - created.timestamp(), 3), method="samples")


def _problems(run: RunState, host: str) -> list[HostProblemRecord]:
    return [
        HostProblemRecord(phase=each.phase, code=each.code, message=each.message, fatal=each.fatal, t_s=rounded(each.t))
        for each in run.problems
        if each.host == host
    ]


def _files_left(run: RunState, host: str) -> FilesLeft | None:
    files = run.files.get(host)
    sizes = files.sizes if files is not None else {}
    if not sizes or (files is not None and not files.removed and _cleaned(run, host)):
        return None
    known = files.known if files is not None else Identities()
    identities = {path: known.files[path] for path in sizes if path in known.files}
    parents = {posixpath.dirname(path) for path in identities}
    directories = {
        path: PlaceRecord(real=place.real, mark=place.mark)
        for path, place in known.directories.items()
        if path in parents
    }
    return FilesLeft(paths=list(sizes), bytes=sum(sizes.values()), identities=identities, directories=directories)


def _cleaned(run: RunState, host: str) -> bool:
    """Tell for older journals, which do not name what was removed, whether the cleanup of this host ended well."""
    span = next((span for span in reversed(run.phases) if span.name == "cleanup"), None)
    if span is None or not span.ok:
        return False
    warned = (each for each in run.log if each.severity != "info" and each.t >= span.start_t)
    return all(each.host != host for each in warned)
