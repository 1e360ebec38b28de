"""Everything that is needed to repeat a run: profile, parameters, job files, hosts, versions, commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.metrics.fact_groups import compare
from tui.metrics.units import plural
from tui.model.record import HostRecord, JobFile, RunRecord
from tui.results.record.facts import facts_together
from tui.results.report.document import Block, Code, Column, Facts, Table
from tui.results.report.document import Cell as TableCell
from tui.results.text.conditions import attest_texts, precondition_texts
from tui.text.facts import common_lines, differing_lines
from tui.text.line import LABEL

if TYPE_CHECKING:
    from tui.metrics.fact_groups import FactsTogether

MOST_LINES = 1200  # of what differs from job file to job file; the others are in run.json
SECONDS_NAMES = ("runtime", "ramp_time", "startdelay")


def disclosure(record: RunRecord) -> Iterator[Block]:
    """Yield what was run, on what, with what."""
    yield Facts([(name, texts) for name, texts in _facts(record) if texts])
    if record.profile.params:
        yield _params(record)
    if record.hosts:
        yield _hosts(record)
    yield from _job_files(record)
    yield from _commands(record)
    if record.profile.text:
        yield Code(f"Profile {record.profile.tag}", record.profile.text)
    for member in record.profile.members:
        if member.text:
            yield Code(f"Profile {member.tag}", member.text)


def _facts(record: RunRecord) -> Iterator[tuple[str, list[str]]]:
    profile, made = record.profile, record.provenance
    source = "; ".join(f"{name}: {' '.join(text.split())}" for name, text in profile.source.items() if text)
    preset = {True: ", a preset", False: ", of one's own"}.get(profile.preset, "") if profile.preset is not None else ""
    yield "profile", [f"{profile.tag} v{profile.version}{preset}" if profile.version is not None else profile.tag]
    yield "source", [source] if source else []
    yield "SHA-256", [profile.sha256] if profile.sha256 else []
    yield "target", [record.target] if record.target else []
    yield from _told(facts_together(record), "hosts")
    yield from _told(compare({each.name: each.facts for each in record.servers if each.facts}), "servers")
    yield "preconditioning", precondition_texts(record)
    yield "conditions", attest_texts(record)
    yield "left out", [f"{left.profile}, {plural(left.steps, 'step')}: {left.reason}" for left in record.left_out]
    yield "added options", _added(record)
    yield "thresholds", [f"{name} {value:g}" for name, value in record.thresholds.items()]
    yield "page cache", _cache_drops(record)
    yield "tools", _versions(made.tool_versions)
    yield "benchtui", [made.benchtui_version] if made.benchtui_version else []
    yield "led from", [", ".join(f"{name} {value}" for name, value in made.jump_host.items())] if made.jump_host else []
    yield "taken over", [f"{each.utc}, after {each.gap_s:.1f} s without an engine" for each in record.resumed]
    yield "tags", [", ".join(f"{name}={value}" for name, value in record.tags.items())] if record.tags else []
    yield "notes", [note.text for note in record.notes]
    yield "left behind", _files_left(record)


def _told(found: FactsTogether, what: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what hosts have in common, by subject, and who differs in what."""
    if not found.hosts:
        return
    lines = [*common_lines(found), *differing_lines(found)]
    yield what, [f"{label}: {''.join(text for text, _ in runs)}" for label, runs in lines]


def _versions(versions: Mapping[str, str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for host, version in versions.items():
        groups.setdefault(version, []).append(host)
    if len(groups) == 1:
        return [f"{next(iter(groups))} on every host"]
    return [f"{version}: {', '.join(hosts)}" for version, hosts in groups.items()]


def _added(record: RunRecord) -> list[str]:
    added = {name: value for step in record.steps for name, value in step.added_options.items()}
    return [", ".join(f"{name}={value}" for name, value in added.items())] if added else []


def _cache_drops(record: RunRecord) -> list[str]:
    drops = [drop for step in record.steps for drop in step.cache_drops]
    if not drops:
        return []
    failed = sorted({drop.host for drop in drops if not drop.ok})
    how = ", ".join(sorted({drop.method for drop in drops if drop.ok}))
    return [f"dropped before each step ({how})" if not failed else f"not dropped on {', '.join(failed)}"]


def _files_left(record: RunRecord) -> list[str]:
    left = [(host.name, host.files_left) for host in record.hosts if host.files_left is not None]
    return [f"{name}: {plural(len(found.paths), 'file')}, {units.size(found.bytes)}" for name, found in left]


def _params(record: RunRecord) -> Table:
    """Return the parameters as they were resolved, those that were changed marked; swept ones are in the steps."""
    profile = record.profile
    axes = record.matrix.axes if record.matrix is not None else []
    rows: list[list[TableCell]] = []
    for name, value in profile.params.items():
        how = f"changed to {profile.changed[name]}" if name in profile.changed else "swept" if name in axes else ""
        rows.append([name, _value(name, value), (how, LABEL)])
    return Table("Parameters", [Column("name"), Column("value", right=True), Column("")], rows)


def _value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and value >= 4096 and value % 512 == 0:
        return units.size(value)
    if isinstance(value, float):
        return units.seconds(value) if name in SECONDS_NAMES else f"{value:g}"
    return str(value)


def _hosts(record: RunRecord) -> Table:
    heads = [Column("host"), Column("tool"), Column("clock", right=True), Column("seed", right=True), Column("state")]
    rows = [_host(record, host) for host in record.hosts]
    return Table(
        "Hosts of the run", heads, rows, "Clock: ahead of the machine that led the run, as far as it is known."
    )


def _host(record: RunRecord, host: HostRecord) -> list[TableCell]:
    clock = host.clock
    known = clock is not None and clock.offset_s is not None
    ahead = f"{(clock.offset_s or 0) * 1000:+.1f} ms" if clock is not None and known else units.UNKNOWN
    if clock is not None and known and clock.uncertainty_s is not None:
        ahead += f" ± {clock.uncertainty_s * 1000:.1f}"
    state = f"{host.state or ''} {host.detail}".strip()
    version = record.provenance.tool_versions.get(host.name, "")
    return [host.name, version, ahead, str(host.randseed) if host.randseed is not None else "", state]


# -- job files


def _job_files(record: RunRecord) -> Iterator[Code]:
    """Yield the first job file whole, and of the others the lines that differ from it."""
    files = [each for each in record.profile.job_files if each.text.strip()]
    if not files:
        return
    first, *others = files
    name = f"Job file of {first.host}" + (f", step {first.step + 1}" if len(record.steps) > 1 else "")
    yield Code(name, first.text)
    differing = [line for each in others for line in _differs(record, first, each)]
    if differing:
        cut = len(differing) - MOST_LINES
        more = [f"# and {cut} lines more, in run.json"] if cut > 0 else []
        yield Code("Other job files: the lines in which they differ", "\n".join([*differing[:MOST_LINES], *more]))


def _differs(record: RunRecord, first: JobFile, other: JobFile) -> Iterator[str]:
    known = set(first.text.splitlines())
    lines = [line for line in other.text.splitlines() if line not in known]
    step = f"step {other.step + 1}, " if len(record.steps) > 1 else ""
    if lines:
        yield f"{step}{other.host}: {'; '.join(lines)}"


def _commands(record: RunRecord) -> Iterator[Code]:
    """Yield each command once, with how many hosts and steps it was started on."""
    seen: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for each in record.provenance.commands:
        seen.setdefault((each.phase, shlex.join(each.argv)), []).append((each.host, each.step))
    lines = [f"# {phase}, {_often(places)}\n{text}" for (phase, text), places in seen.items()]
    if lines:
        yield Code("Commands on the hosts", "\n".join(lines[:200]))


def _often(places: Sequence[tuple[str, int]]) -> str:
    hosts, steps = {host for host, _ in places}, {step for _, step in places}
    said = next(iter(hosts)) if len(hosts) == 1 else plural(len(hosts), "host")
    return said if len(steps) == 1 else f"{said}, {plural(len(steps), 'step')}"
