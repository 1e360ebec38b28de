"""Texts of Profiles: the rows of the list, and the description of a profile. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui import workloads
from tui.app.screens.review_form import default_text
from tui.app.terminal.theme import Symbols
from tui.app.widgets.picklist import Heading, marked
from tui.metrics.units import plural
from tui.model.tool import SUITE
from tui.text.line import (
    ACCENT,
    BAD,
    BRIGHT,
    LABEL,
    TEXT,
    TITLE,
    WARN,
    Line,
    Run,
    heading,
    indented,
    labelled,
)
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import CatalogueEntry
    from tui.model.problem import Problem
    from tui.model.profile import Param, Profile
    from tui.model.profile_parts import SweepSpec

INDENT = 10
RECENT = 4  # profiles used last
FIRST = "demo/quick"  # before one was used: harmless on any machine
SHORT = {"directories": "dirs", "total": "score"}  # first words of a headline, in the list
LONGEST_LABEL = 20
LEAST_HELP = 24  # cells for help beside the default; with fewer it is below
CACHES = {
    "no": "not dropped",
    "try": "dropped if permitted",
    "require": "must be dropped",
}


def family_of(tag: str) -> str:
    """Return the family of a tag: ``weka`` for ``weka/read-iops``."""
    return tag.partition("/")[0]


def heading_key(entry: CatalogueEntry) -> str:
    """Return the row key of the heading that a profile is listed under."""
    return f"#{family_of(entry.tag)}"


def name_of(tag: str) -> str:
    """Return a tag without its family: ``read-iops`` for ``weka/read-iops``."""
    return tag.partition("/")[2] or tag


@dataclass(frozen=True, slots=True)
class Recent:
    """A profile in the group of recently used ones; its family lists it as well."""

    entry: CatalogueEntry


def entry_of(row: CatalogueEntry | Recent) -> CatalogueEntry:
    """Return the profile of a row."""
    return row.entry if isinstance(row, Recent) else row


def key_of(row: CatalogueEntry | Recent) -> str:
    """Return the row key of a profile.

    The tag is not enough: a broken file may have the tag of a good one.
    """
    if isinstance(row, Recent):
        return f"@{row.entry.tag}"
    return str(row.path) if row.error else row.tag


def score(entry: CatalogueEntry, search: str) -> int:
    """Return how well a profile matches a search; 0 for no match.

    The best match is a word at the start of the tag or name, followed by a word in the tag, a word
    in the title, and the letters of a word in the tag, in order. The worst match of a word decides.
    """
    return min((_word_score(entry, word) for word in search.lower().split()), default=1)


def _word_score(entry: CatalogueEntry, word: str) -> int:
    tag = entry.tag.lower()
    if name_of(tag).startswith(word) or tag.startswith(word):
        return 4
    if word in tag:
        return 3
    if word in entry.title.lower():
        return 2
    letters = iter(tag)
    return 1 if all(letter in letters for letter in word) else 0


def best(entries: Sequence[CatalogueEntry], search: str) -> CatalogueEntry | None:
    """Return the best match of a search; in a tie the first that overwrites no device.

    None without entries.
    """
    return max(
        entries, key=lambda each: (score(each, search), not overwrites_device(each)), default=None
    )


def found(
    entries: Sequence[CatalogueEntry], search: str, *, by_words: bool = False
) -> list[CatalogueEntry]:
    """Return the profiles that match a search.

    Matches by single letters count only if no profile matches by words, and never with `by_words`.
    """
    scores = [score(entry, search) for entry in entries]
    least = 2 if search.strip() and (by_words or max(scores, default=0) > 1) else 1
    return [entry for entry, each in zip(entries, scores, strict=True) if each >= least]


def matched(entry: CatalogueEntry, search: str) -> set[int]:
    """Return the places in a tag that a search matches: whole words, else letters in order.

    A word that is only in the title has no places.
    """
    found: set[int] = set()
    text = entry.tag.lower()
    for word in search.lower().split():
        at = text.find(word, text.find("/") + 1)
        at = text.find(word) if at < 0 else at
        if at >= 0:
            found |= set(range(at, at + len(word)))
            continue
        if word in entry.title.lower():
            continue
        at, places = -1, []
        for letter in word:
            at = text.find(letter, at + 1)
            places.append(at)
            if at < 0:
                break
        found |= set() if at < 0 else set(places)
    return found


def overwrites_device(entry: CatalogueEntry) -> bool:
    """Return whether a profile may overwrite a block device.

    Presets that measure reads only read; a user's own profile may also write.
    """
    return entry.device and not (entry.preset and entry.headline.startswith("read "))


def columns(
    chosen: Callable[[], str | None], symbols: Symbols, search: Callable[[], str] = str
) -> tuple[Column[CatalogueEntry | Recent], ...]:
    """Return the columns of the list: mark, name, kind of I/O (``dev``: on a device), origin.

    `chosen` returns the tag of the selected profile, and `search` returns the filter. In the column
    "I/O", only broken profiles and those that may overwrite a device have a colour.
    """

    def mark(row: CatalogueEntry | Recent) -> Run:
        entry = entry_of(row)
        return (
            (symbols.bad, BAD)
            if entry.error
            else (symbols.arrow if entry.tag == chosen() else "", ACCENT)
        )

    def name(row: CatalogueEntry | Recent) -> list[Run]:
        entry = entry_of(row)
        text = entry.tag if isinstance(row, Recent) else name_of(entry.tag)
        role = BAD if entry.error else BRIGHT if entry.tag == chosen() else TEXT
        skipped = len(entry.tag) - len(text)
        return marked(text, role, {at - skipped for at in matched(entry, search())})

    def does(row: CatalogueEntry | Recent) -> Run:
        entry = entry_of(row)
        first = "suite" if entry.tool == SUITE else entry.headline.partition(" ")[0]
        if entry.error:
            return "broken", BAD
        if overwrites_device(entry):
            return "read dev" if first == "read" else "wipes dev", WARN
        return SHORT.get(first, first) + (" dev" if entry.device else ""), LABEL

    def origin(row: CatalogueEntry | Recent) -> Run:
        return "" if entry_of(row).preset else "yours", LABEL

    return (
        Column("", mark, 1),
        Column("profile", name, least=22, gap=1),
        Column("I/O", does, 9, drop=1),
        Column("", origin, 5, gap=1, drop=2),
    )


def top_rows(entries: Sequence[CatalogueEntry], used: Sequence[str]) -> list[Recent | Heading]:
    """Return the recently used profiles under a heading, newest first.

    If none has been used yet, return a profile to start with.
    """
    if recent := _recent(entries, used):
        return [Heading("#@", "recently used", (str(len(recent)), LABEL)), *recent]
    first = _recent(entries, [FIRST])
    return [Heading("#@", "start here"), *first] if first else []


def first_key(entries: Sequence[CatalogueEntry], used: Sequence[str]) -> str | None:
    """Return the row key of the profile used last that still exists, or of one to start with."""
    return next((key_of(row) for row in _recent(entries, [*used, FIRST])), None)


def _recent(entries: Sequence[CatalogueEntry], used: Sequence[str]) -> list[Recent]:
    known = {entry.tag: entry for entry in entries if not entry.error}
    return [Recent(known[tag]) for tag in dict.fromkeys(used) if tag in known][:RECENT]


def rows(entries: Sequence[CatalogueEntry], search: str = "") -> list[CatalogueEntry | Heading]:
    """Return the profiles under a heading per family, in which matches of the search are marked."""
    found: list[CatalogueEntry | Heading] = []
    for family in dict.fromkeys(family_of(entry.tag) for entry in entries):
        members = [entry for entry in entries if family_of(entry.tag) == family]
        places = frozenset(at for each in members for at in matched(each, search))
        key, count = heading_key(members[0]), (str(len(members)), LABEL)
        found += [Heading(key, family, count, found=places), *members]
    return found


def broken(problems: Sequence[Problem], symbols: Symbols, width: int) -> list[Line]:
    """Return why a profile cannot be read, with line numbers."""
    lines = [Line.of((f"{symbols.bad} cannot read this profile", BAD)), Line()]
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
    """Return line and column of a problem: ``5:22``."""
    return ":".join(str(part) for part in (problem.line, problem.column) if part is not None)


def description(
    profile: Profile,
    headline: str,
    planned: Sequence[tuple[str, list[Run]]],
    width: int,
    *,
    writes: bool = True,
) -> list[Line]:
    """Return what a profile measures, its cost, parameters, jobs and deviations from its source.

    `planned`: label and value of each fact about the cost. `writes`: its load writes or trims.
    """
    lines = indented([(profile.title, TITLE)], width, 0)
    if profile.description:
        lines += indented([(profile.description, TEXT)], width, 0)
    lines.append(Line())
    for label, runs in [*facts(profile, headline, writes=writes), *planned]:
        lines += labelled([(label, LABEL)], runs, width, INDENT)
    lines += [Line(), *param_lines(profile, width), Line(), *job_lines(profile, width)]
    if profile.deviations:
        lines += [Line(), heading("differences from the source")]
    wide = min(max((len(each.what) for each in profile.deviations), default=0), LONGEST_LABEL)
    for each in profile.deviations:
        kind = "" if each.kind == "deviation" else f"{each.kind}: "
        lines += labelled(
            [(f"  {each.what}", LABEL)], [(f"{kind}{each.why}", TEXT)], width, wide + 4
        )
    return lines


def facts(profile: Profile, headline: str, *, writes: bool) -> Iterator[tuple[str, list[Run]]]:
    """Yield label and value of each fact about a profile.

    `writes`: its load writes or trims.
    """
    yield "measures", [(headline, TEXT)]
    if profile.source:
        yield "source", [(source_text(profile), TEXT)]
    if profile.hosts.published:
        yield "published", [(f"with {plural(profile.hosts.published, 'client')}", TEXT)]
    yield "tool", [(profile.tool, TEXT), (f", profile version {profile.version}", LABEL)]
    if profile.sweep is not None:
        yield "sweep", [(sweep_text(profile.sweep), TEXT)]
    if profile.tool != SUITE:
        if isinstance(profile.prepare.layout, str):
            parameter = profile.prepare.layout.strip("{}")
            yield "layout", [(f"set by parameter {parameter}", TEXT)]
        yield "caches", [(CACHES[profile.drop_caches], TEXT)]
    if profile.allow_device:
        about = ("overwritten if the target is one", WARN) if writes else ("only read", TEXT)
        yield "device", [about]


def sweep_text(sweep: SweepSpec) -> str:
    """Return the number of points and the axes of a sweep: ``23 points over numjobs, bs``."""
    from tui.model.profile_parts import axes, grid_points

    count = len(grid_points(sweep)) * max(1, len(sweep.hosts))
    return f"{plural(count, 'point')} over {', '.join(axes(sweep))}"


def source_text(profile: Profile) -> str:
    """Return the source of a profile: document, section and date."""
    source = profile.source
    parts: Iterable[str | None] = (source.document, source.section, source.date) if source else ()
    return ", ".join(part for part in parts if part)


def param_lines(profile: Profile, width: int) -> Iterator[Line]:
    """Yield the parameters: name, default and help in columns.

    A narrow pane leaves out the help, which Review shows with each field.
    """
    yield heading("parameters")
    defaults = {name: default_text(param) for name, param in profile.params.items()}
    indent = min(max(map(len, defaults), default=0), LONGEST_LABEL) + 4
    help_at = indent + min(max(map(len, defaults.values()), default=0), LONGEST_LABEL) + 2
    beside = width - help_at >= LEAST_HELP
    for name, param in profile.params.items():
        label, default = (f"  {name}".ljust(indent), LABEL), (defaults[name], BRIGHT)
        about = help_text(param)
        if beside and len(defaults[name]) <= LONGEST_LABEL:
            yield from labelled([label, default], [(about, LABEL)], width, help_at)
        else:
            yield from labelled([label], [default], width, indent)
            yield from indented([(about, LABEL)], width, 4) if about and beside else ()


def help_text(param: Param) -> str:
    """Return a parameter's help and its allowed values."""
    choices = f"one of {', '.join(map(str, param.choices))}" if param.choices else ""
    return "  ".join(filter(None, (param.help, choices)))


def job_lines(profile: Profile, width: int) -> Iterator[Line]:
    """Yield the jobs of a profile with their main options; for a suite, its profiles."""
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
