"""`python -m tests.reference`: the pages of docs/reference, made from the code that they are
about.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import fields as fields_of

from tests.reference_types import generator_types
from tui.app.terminal.actions import BY_NAME, SCOPES, key_table
from tui.cli.main import verb_module
from tui.cli.shared.arguments import VERBS, parser_with, verbs_of
from tui.judge.catalogue import CHECKS
from tui.metrics.registry import DIRECTIONS, METRICS
from tui.metrics.telemetry import TELEMETRY
from tui.model.criteria import THRESHOLDS
from tui.model.host_tables import TABLES
from tui.model.hostfacts import HOST_FACTS, HostFact
from tui.model.profile_model import profile_file_schema
from tui.model.record import run_json_schema
from tui.model.schemas import KINDS, made, path_of
from tui.model.settings import KEYS
from tui.remote.ssh_options import HONOURED, IGNORED, OPTIONS, REFUSED, REPORTED, SshOption
from tui.view.objection_catalogue import OBJECTIONS
from tui.view.objections import Objection

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
MADE = "<!-- made by python -m tests.reference: do not edit -->"
Schema = Mapping[str, Any]


def cell(value: object) -> str:
    """Return text that can stand in a cell of a table."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of Markdown."""
    lines = [heads, ["---"] * len(heads), *([cell(each) for each in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# -- commands


def commands() -> Iterator[str]:
    """Every verb with its arguments."""
    parser = parser_with(verb_module, VERBS)
    yield (
        "# Commands\n\nWithout a verb, benchtui opens the app. Every verb has `--help`; `benchtui"
        " man` prints all."
    )
    for name, below in verbs_of(parser).items():
        yield from verb(f"benchtui {name}", below, VERBS[name], 2)


def verb(name: str, parser: argparse.ArgumentParser, about: str, depth: int) -> Iterator[str]:
    """One verb, and those below it."""
    yield f"{'#' * depth} {name}\n\n{about[:1].upper()}{about[1:]}."
    rows = [argument(action) for action in parser._actions if shown(action)]
    if rows:
        yield table(("argument", "what it does"), rows)
    listed = [
        each for action in parser._actions for each in getattr(action, "_choices_actions", ())
    ]
    helps = {each.dest: each.help or "" for each in listed}
    for word, below in verbs_of(parser).items():
        yield from verb(f"{name} {word}", below, helps.get(word, ""), depth + 1)


def shown(action: argparse.Action) -> bool:
    """Whether an argument is one of the verb's own."""
    hidden = isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    return not hidden and action.help != argparse.SUPPRESS


def argument(action: argparse.Action) -> tuple[str, str]:
    """Return how an argument is written, and what it does."""
    choices = ", ".join(map(str, action.choices)) if action.choices else ""
    value = "" if action.nargs == 0 else str(action.metavar or choices or action.dest.upper())
    name = ", ".join(action.option_strings) or value
    several = (
        " ..." if action.nargs in ("+", "*") or isinstance(action, argparse._AppendAction) else ""
    )
    behind = f" {value}" if action.option_strings and value else ""
    allowed = f" (one of: {choices})" if choices and choices not in (value, action.help) else ""
    return (
        f"`{name}{behind}{several}`",
        (action.help or "")
        % {
            "default": action.default,
            "prog": "benchtui",
        }
        + allowed,
    )


# -- keys, findings, metrics, facts


def keys() -> Iterator[str]:
    """Every key of the screens."""
    yield (
        "# Keys\n\n`?` lists the keys of the current screen, with search; Ctrl+P finds a command by"
        " name."
    )
    for scope in ("app", "list", *SCOPES):
        title = {"app": "Everywhere", "list": "Lists"}.get(scope) or BY_NAME[scope].title
        yield f"## {title}\n\n{key_table(scope)}"


def findings() -> Iterator[str]:
    """Every check of a run, and the thresholds that profiles may change."""
    yield (
        "# Findings\n\nEvery check of a run: what it means, its rule, what to do. [Act on a"
        " finding](../findings.md)."
    )
    for check in CHECKS:
        when = "live and at the end" if check.live else "at the end"
        yield f"## {check.id}: {check.title}\n\n{check.means}"
        yield f"* rule: {check.rule}\n* what to do: {check.advice}\n* checked: {when}"
    rows = [(f"`{name}`", each.what, f"{each.value:g}") for name, each in THRESHOLDS.items()]
    yield (
        "## Thresholds\n\nA profile changes them with `findings:`;"
        " [how](../findings.md#change-a-threshold)."
    )
    yield table(("name", "what it is", "default"), rows)
    yield (
        "## Checks of each objection\n\nDeciding checks are bold; [what else"
        " counts](../verdict.md#objections)."
    )
    yield table(
        ("objection", "checks"),
        [(each.claim, ", ".join(named_checks(each))) for each in OBJECTIONS],
    )


def named_checks(each: Objection) -> Iterator[str]:
    """Yield the checks of an objection, the deciding ones bold."""
    for check in each.checks:
        yield f"**{check}**" if check in each.decisive else check


def metrics() -> Iterator[str]:
    """Metrics, directions, columns of telemetry."""
    rows = [(f"`{each.name}`", each.title, each.unit, each.better) for each in METRICS.values()]
    yield "# Metrics\n\n" + table(("metric", "title", "unit in records", "better"), rows)
    ways = [
        (f"`{d.name}`", d.counted, said(d.in_total), said(d.moves_data))
        for d in DIRECTIONS.values()
    ]
    yield "## Directions\n\n" + table(("direction", "counts", "in totals", "has a bandwidth"), ways)
    seen = [(f"`{m.family}.{m.field}`", m.title, m.unit, m.source) for m in TELEMETRY.values()]
    yield (
        "## Telemetry\n\nColumns with a subject have it in the middle: `nic.eth0.rx`.\n\n"
        + table(("column", "what it is", "unit", "from"), seen)
    )


def said(flag: bool) -> str:
    """Return yes or no."""
    return "yes" if flag else "no"


def facts() -> Iterator[str]:
    """Every fact of a host, and the columns of those that are tables."""
    yield "# Host facts\n\nEverything that is read from each host; [how to read it](../facts.md)."
    for name in dict.fromkeys(fact.section for fact in HOST_FACTS.values()):
        rows = [fact_row(fact) for fact in HOST_FACTS.values() if fact.section == name]
        yield f"## {name[:1].upper()}{name[1:]}\n\n" + table(
            ("fact", "title", "kind", "if hosts differ", "from"), rows
        )
    tables = [
        (f"`{name}`", ", ".join(each.name for each in fields_of(row)))
        for name, row in TABLES.items()
    ]
    yield "## Columns of tables\n\n" + table(("table", "columns"), tables)


def fact_row(fact: HostFact) -> tuple[str, ...]:
    """Return the row of a fact: what a missing one means, and how differences are judged, in
    words.
    """
    title = f"{fact.title}; absent: {fact.absent}" if fact.absent else fact.title
    differs = (
        f"{fact.differs}, beyond {100 * fact.tolerance:g} %" if fact.tolerance else fact.differs
    )
    compared = f"{differs}: {', '.join(fact.columns)}" if fact.columns else differs
    return f"`{fact.name}`", title, fact.kind, compared, fact.source


def settings() -> Iterator[str]:
    """Every key of the user's settings."""
    rows = [(f"`{key.name}`", key.help, key.allowed, key.variable) for key in KEYS]
    yield "# Settings\n\n[How to change them](../settings.md)."
    yield table(("key", "what it does", "allowed", "environment"), rows)


# -- files


def schema(title: str, about: str, whole: Schema) -> Iterator[str]:
    """A file by its JSON Schema: the root, then every part that it is made of."""
    yield f"# {title}\n\n{about}\n\n{fields(whole)}"
    for name, part in sorted(whole["$defs"].items()):
        if "properties" in part and name != "KnownValues":  # patterns of values are for editors
            yield f"## {name}\n\n{part.get('description', '')}\n\n{fields(part)}"


def fields(part: Schema) -> str:
    """Return the table of the keys of one part."""
    needed = part.get("required", ())
    rows = [
        (
            f"`{name}`" + (" (needed)" if name in needed else ""),
            kind(each),
            each.get("description", ""),
        )
        for name, each in part.get("properties", {}).items()
    ]
    return table(("key", "kind", "what it is"), rows)


def kind(each: Schema) -> str:
    """Return what a value may be, in a few words."""
    if "$ref" in each:
        name = str(each["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in each or "enum" in each:
        return ", ".join(f"`{value}`" for value in each.get("enum", [each.get("const")]))
    if several := each.get("anyOf") or each.get("oneOf"):
        return " or ".join(dict.fromkeys(kind(one) for one in several))
    if each.get("type") == "array":
        return f"list of {kind(each.get('items', {}))}"
    if each.get("type") == "object":
        inner = each.get("additionalProperties") or next(
            iter(each.get("patternProperties", {}).values()), None
        )
        return f"map of {kind(inner)}" if isinstance(inner, dict) else "map"
    named = each.get("type", "any")
    return " or ".join(named) if isinstance(named, list) else str(named)


# -- ssh_config

FATES = {
    HONOURED: "honoured",
    REFUSED: "refused: an error that names file and line",
    REPORTED: "left out; named with file and line when a connection fails for want of it",
    IGNORED: "ignored: harmless",
}


def ssh_config() -> Iterator[str]:
    """Every option of ssh_config(5)."""
    yield (
        "# ssh_config options\n\nEvery option of ssh_config(5); [how to log in to"
        " hosts](../ssh.md)."
    )
    yield (
        "The first value of an option wins, as in ssh. An option that OpenSSH does not have is an"
        " error, unless `IgnoreUnknown` names it."
    )
    rows = sorted(OPTIONS.values(), key=lambda option: option.name.lower())
    yield table(
        ("option", "benchtui", "note"),
        [(f"`{row.name}`", FATES[row.fate], note_of(row)) for row in rows],
    )


def note_of(option: SshOption) -> str:
    """What to know of an option; of one that is not honoured, the values that ask for nothing."""
    allowed = " or ".join(f"`{value}`" for value in option.harmless)
    return (
        f"{option.why}; {allowed} is fine"
        if option.fate in (REFUSED, REPORTED) and allowed
        else option.why
    )


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "commands.md": commands,
    "keys.md": keys,
    "findings.md": findings,
    "metrics.md": metrics,
    "facts.md": facts,
    "settings.md": settings,
    "ssh-config.md": ssh_config,
    "generator-types.md": lambda: generator_types(table),
    "profile.md": lambda: schema(
        "Profile",
        "Every key of a profile; [how to write one](../profiles.md).",
        profile_file_schema(),
    ),
    "run-record.md": lambda: schema(
        "Run record",
        "Every field of `run.json`; [what they are for](../run-record.md).",
        run_json_schema(),
    ),
}


def page(name: str) -> str:
    """Return one page as it should be."""
    return "\n\n".join([MADE, *(part.strip() for part in PAGES[name]())]) + "\n"


def main() -> int:
    """Write all pages, and the JSON Schemas that are shipped."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        (FOLDER / name).write_text(page(name), encoding="utf-8")
    for each in KINDS:
        path_of(each).write_text(made(each), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
