"""Profiles as rows of a list and as a text that says what one measures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tui import workloads
from tui.app.terminal.theme import Symbols
from tui.app.widgets.picklist import Heading
from tui.model.tool import SUITE
from tui.text.line import ACCENT, BAD, BRIGHT, LABEL, TEXT, TITLE, WARN, Line, Run, heading, indented, labelled
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.engine.profiles.catalogue import CatalogueEntry
    from tui.model.matrix import SweepSpec
    from tui.model.problem import Problem
    from tui.model.profile import Param, Profile

INDENT = 10
LONGEST_LABEL = 20
CACHES = {"no": "left as they are", "try": "dropped where that is allowed", "require": "dropped, or the run ends"}


def family_of(tag: str) -> str:
    """Return the family of a tag: ``weka`` of ``weka/read-iops``."""
    return tag.partition("/")[0]


def heading_key(entry: CatalogueEntry) -> str:
    """Return the row key of the heading a profile stands under."""
    return f"#{family_of(entry.tag)}"


def name_of(tag: str) -> str:
    """Return a tag without its family."""
    return tag.partition("/")[2] or tag


def key_of(entry: CatalogueEntry) -> str:
    """Return the row key of a profile: a broken file may claim the tag of a good one."""
    return str(entry.path) if entry.error else entry.tag


def matches(entry: CatalogueEntry, search: str) -> bool:
    """Return whether tag or title hold every word of the filter."""
    text = f"{entry.tag} {entry.title}".lower()
    return all(word in text for word in search.lower().split())


def columns(chosen: Callable[[], str | None], symbols: Symbols) -> tuple[Column[CatalogueEntry], ...]:
    """Return the columns of the list: a mark when a profile is chosen or broken, its name, whether it is one's own."""

    def mark(entry: CatalogueEntry) -> Run:
        return (symbols.bad, BAD) if entry.error else (symbols.arrow if entry.tag == chosen() else "", ACCENT)

    def name(entry: CatalogueEntry) -> Run:
        return name_of(entry.tag), BAD if entry.error else BRIGHT if entry.tag == chosen() else TEXT

    def origin(entry: CatalogueEntry) -> Run:
        return ("broken", BAD) if entry.error else ("" if entry.preset else "yours", LABEL)

    return Column("", mark, 1), Column("", name, least=23), Column("", origin, 6, drop=1)


def rows(entries: Sequence[CatalogueEntry]) -> list[CatalogueEntry | Heading]:
    """Return the profiles under a heading a family."""
    found: list[CatalogueEntry | Heading] = []
    for family in dict.fromkeys(family_of(entry.tag) for entry in entries):
        members = [entry for entry in entries if family_of(entry.tag) == family]
        found += [Heading(heading_key(members[0]), family, (str(len(members)), LABEL)), *members]
    return found


def broken(problems: Sequence[Problem], symbols: Symbols, width: int) -> list[Line]:
    """Return why a profile cannot be read, with the places."""
    lines = [Line.of((f"{symbols.bad} this profile cannot be read", BAD)), Line()]
    for file in dict.fromkeys(problem.file for problem in problems if problem.file):
        lines += indented([(file, LABEL)], width, 0)
    for problem in problems:
        lines += labelled([(place_of(problem), LABEL)], [(problem.message, TEXT)], width, INDENT)
    return [*lines, Line(), Line.of(("e", ACCENT), (" edits it", LABEL))]


def family(members: Sequence[CatalogueEntry], width: int) -> list[Line]:
    """Return what the profiles of one family measure."""
    lines: list[Line] = []
    for entry in members:
        about = ("cannot be read", BAD) if entry.error else (entry.headline, LABEL)
        lines.append(Line.of((name_of(entry.tag), BRIGHT), ("  ", TEXT), about))
        lines += indented([(entry.title, TEXT)], width)
    return lines


def place_of(problem: Problem) -> str:
    """Return line and column: ``5:22``."""
    return ":".join(str(part) for part in (problem.line, problem.column) if part is not None)


def description(profile: Profile, headline: str, width: int) -> list[Line]:
    """Return what a profile measures, where it comes from, what can be changed."""
    lines = indented([(profile.title, TITLE)], width, 0)
    if profile.description:
        lines += indented([(profile.description, TEXT)], width, 0)
    lines.append(Line())
    for label, runs in facts(profile, headline):
        lines += labelled([(label, LABEL)], runs, width, INDENT)
    lines += [Line(), *param_lines(profile, width), Line(), *job_lines(profile, width)]
    if profile.deviations:
        lines += [Line(), heading("differences from the source")]
    for each in profile.deviations:
        lines += indented([(each.what, BRIGHT), (f" {each.kind}: ", WARN), (each.why, LABEL)], width)
    return lines


def facts(profile: Profile, headline: str) -> Iterator[tuple[str, list[Run]]]:
    """Yield label and value of what a profile is."""
    yield "measures", [(headline, TEXT)]
    if profile.source:
        yield "source", [(source_text(profile), TEXT)]
    if profile.hosts.published:
        clients = "one client" if profile.hosts.published == 1 else f"{profile.hosts.published} clients"
        yield "published", [(f"with {clients}", TEXT)]
    yield "tool", [(profile.tool, TEXT), (f", profile version {profile.version}", LABEL)]
    if profile.sweep is not None:
        yield "sweep", [(sweep_text(profile.sweep), TEXT)]
    if profile.tool != SUITE:
        yield "layout", [(layout_text(profile.prepare.layout), TEXT)]
        yield "caches", [(CACHES[profile.drop_caches], TEXT)]
    if profile.allow_device:
        yield "device", [("may write to a block device", WARN)]


def sweep_text(sweep: SweepSpec) -> str:
    """Return how many points there are, and of what: ``23 points over numjobs, bs``."""
    from tui.model.matrix import axes, grid_points

    count = len(grid_points(sweep)) * max(1, len(sweep.hosts))
    return f"{count} {'point' if count == 1 else 'points'} over {', '.join(axes(sweep))}"


def source_text(profile: Profile) -> str:
    """Return document and section."""
    source = profile.source
    parts: Iterable[str | None] = (source.document, source.section, source.date) if source else ()
    return ", ".join(part for part in parts if part)


def layout_text(layout: bool | str) -> str:
    """Return whether test files are written first."""
    if isinstance(layout, str):
        return f"as parameter {layout.strip('{}')} says"
    return "test files are written whole first" if layout else "none"


def param_lines(profile: Profile, width: int) -> Iterator[Line]:
    """Yield what can be changed at launch."""
    yield heading("parameters")
    indent = min(max((len(name) for name in profile.params), default=0), LONGEST_LABEL) + 4
    for name, param in profile.params.items():
        yield from labelled([(f"  {name}", LABEL)], param_runs(param), width, indent)


def param_runs(param: Param) -> list[Run]:
    """Return a parameter's default and help."""
    default = ("yes" if param.default else "no") if isinstance(param.default, bool) else str(param.default)
    choices = f"  one of {', '.join(map(str, param.choices))}" if param.choices else ""
    return [(default, BRIGHT), (f"  {param.help}" if param.help else "", LABEL), (choices, LABEL)]


def job_lines(profile: Profile, width: int) -> Iterator[Line]:
    """Yield the jobs with the options that make them what they are; of a suite its profiles."""
    from tui.model.profile import resolve_params

    if profile.tool == SUITE:
        yield heading("profiles, in this order")
        for member in profile.members:
            yield from indented([(member.profile, TEXT)], width)
        return
    jobs = workloads.get(profile.tool).outline(profile, resolve_params(profile, {}))
    if not jobs:
        return
    yield heading("jobs" if len(jobs) > 1 else "job")
    indent = min(max(len(name) for name, _ in jobs), LONGEST_LABEL) + 4
    for name, said in jobs:
        yield from labelled([(f"  {name}", LABEL)], [(said, TEXT)], width, indent)
