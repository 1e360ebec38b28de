"""`benchtui profiles`: list, show, check, create, edit and import profiles."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.cli.shared.arguments import Arguments
from tui.cli.shared.common import add_flag, add_json, ask, open_editor, pairs, paths, report, say
from tui.model.problem import Problem, UsageError
from tui.model.tool import SUITE, installed

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import Catalogue, LoadedProfile
    from tui.workloads.base import Workload


class Verb(Arguments):
    """The parser of one nested verb.

    `later` adds arguments that are slow to determine, only when this verb is parsed.
    """

    later: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        """Add the late arguments, then parse."""
        if self.later:
            self.later(self)
        return super().parse_known_args(args, namespace)


NAME_HELP = "a profile's name, or the path of its YAML file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs below `profiles`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=Verb)
    listed = verbs.add_parser("list", help="list all profiles: presets by subject, and your own")
    add_flag(listed, "--json", "print JSON on stdout")
    show = verbs.add_parser("show", help="print one profile: its YAML, or its job file")
    show.add_argument("name", metavar="NAME", help=NAME_HELP)
    show.later = add_job
    show.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="overrides",
        help="with --job or --json: change a parameter",
    )
    add_flag(show, "--json", "print JSON on stdout")
    check = verbs.add_parser("check", help="report every problem in profile files")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="YAML files to check")
    add_json(check)
    new = verbs.add_parser("new", help="create a profile of your own")
    new.add_argument("name", metavar="NAME", help="family/name of the new profile")
    new.add_argument(
        "--from",
        dest="origin",
        metavar="NAME",
        help="profile to extend (default: demo/quick); the new one contains only the changes",
    )
    add_json(new)
    add_flag(new, "--copy", "copy the profile instead of extending it")
    edit = verbs.add_parser(
        "edit", help="edit a profile in $EDITOR; a preset is copied to your own folder first"
    )
    edit.add_argument("name", metavar="NAME", help=NAME_HELP)
    taken = verbs.add_parser(
        "import",
        help=(
            "create a profile from a job file, such as a fio job; variables like ${SIZE} become"
            " parameters"
        ),
    )
    taken.add_argument("file", type=Path, metavar="FILE", help="the job file")
    add_json(taken)
    taken.add_argument("--tool", help="load generator, if the file extension does not identify it")
    taken.add_argument(
        "--name", metavar="NAME", help="family/name of the profile (default: my/FILE)"
    )
    taken.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="output file; - for stdout"
    )


def add_job(show: argparse.ArgumentParser) -> None:
    """Add --job; each load generator's name is an alias of it."""
    tools = [f"--{name}" for name in installed()]
    show.add_argument(
        "--job",
        *tools,
        action="store_true",
        help="print the job file for the load generator",
    )


def main(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    from tui.engine.inputs.profiles import Catalogue

    catalogue = Catalogue(paths().profiles)
    verbs: dict[str, Callable[[argparse.Namespace, Catalogue], int]] = {
        "list": list_all,
        "show": show_one,
        "check": check_files,
        "new": make_new,
        "edit": edit_one,
        "import": import_file,
    }
    return verbs[args.verb](args, catalogue)


def list_all(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Print all profiles by group; broken ones with the error."""
    from tui.engine.inputs.profile_texts import group_names, group_of

    entries = [(group_of(entry.tag, preset=entry.preset), entry) for entry in catalogue.list()]
    if args.json:
        keys = ("tag", "title", "preset", "tool", "headline", "error")
        rows = [
            {
                **{key: getattr(entry, key) for key in keys},
                "group": group,
                "path": str(entry.path),
            }
            for group, entry in entries
        ]
        print(json.dumps(rows, indent=2))
        return 0
    width = max((len(entry.tag) for _, entry in entries), default=0)
    lines = []
    for name in group_names():
        if found := [entry for group, entry in entries if group == name]:
            lines += ["", name]
        for entry in found:
            text = f"broken: {entry.error}" if entry.error else entry.title
            lines.append(f"  {entry.tag:<{width}}  {text}")
    print("\n".join(lines[1:]))
    return 0


def show_one(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Print one profile as YAML, as JSON, or as a job file of its load generator."""
    overrides = pairs(args.overrides, "--set")
    bare = not (args.job or args.json or overrides)
    if bare and (text := catalogue.shipped_text(args.name)):
        print(text, end="")
        return 0
    loaded = catalogue.load(args.name)
    if args.job:
        print(job_text(loaded, overrides), end="")
    elif args.json:
        print(json.dumps(as_json(loaded, overrides), indent=2))
    elif overrides:
        raise UsageError("--set requires --job or --json; it does not change the YAML")
    else:
        print(loaded.text, end="")
    return 0


def as_json(loaded: LoadedProfile, overrides: dict[str, str]) -> dict[str, object]:
    """Return a profile as plain data, with its path and `values`.

    `values` are its parameters in bytes, seconds and plain numbers.
    """
    from tui.model.profile import resolve_params

    return {
        **loaded.profile.model_dump(mode="json", by_alias=True, exclude_none=True),
        "values": resolve_params(loaded.profile, overrides),
        "bases": [tag for tag, _ in loaded.bases],
        "preset": loaded.preset,
        "path": str(loaded.path),
        "sha256": loaded.sha256,
    }


def job_text(loaded: LoadedProfile, overrides: dict[str, str]) -> str:
    """Return a profile's job file on this machine; for a suite, the job files of all its profiles.

    Raises UsageError.
    """
    from tui import workloads
    from tui.engine.plan.steps import MatrixChoice, planned_profiles

    texts = []
    for planned in planned_profiles(loaded, overrides, MatrixChoice()):
        profile = planned.profile
        header = f"# {profile.profile} v{profile.version}: {profile.title}\n"
        if text := workloads.get(profile.tool).job_text(profile, planned.params):
            texts.append(header + text)
        elif loaded.profile.tool == SUITE:
            texts.append(f"{header}# {profile.tool} has no job file\n")
        else:
            raise UsageError(f"{profile.profile}: {profile.tool} has no job file")
    return "\n".join(texts)


def check_files(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Print every problem in profile files; return 2 if there is any."""
    code, rows = 0, []
    for path in args.files:
        tag, problems, hints = None, [], []
        try:
            loaded = catalogue.load_file(path)
            check_plan(loaded)
            tag, hints = loaded.profile.profile, loaded.hints
        except UsageError as error:
            code = error.exit_code
            problems = [
                each if each.file else each._replace(file=str(path)) for each in error.problems
            ]
        row = {
            "file": str(path),
            "ok": not problems,
            "profile": tag,
            "hints": list(map(str, hints)),
        }
        rows.append({**row, "problems": list(map(as_row, problems))})
        if not args.json:
            print_checked(path, tag, problems, hints)
    report(args, rows)
    return code


def as_row(problem: Problem) -> dict[str, object]:
    """Return a problem as plain data."""
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
    }


def print_checked(
    path: Path, tag: str | None, problems: Sequence[Problem], hints: Sequence[object]
) -> None:
    """Print the problems and hints of one file."""
    if tag is not None:
        print(f"{path}: ok ({tag})")
    for hint in hints:
        say(f"{hint} (a hint)")
    for problem in problems:
        say(str(problem))


def check_plan(loaded: LoadedProfile) -> None:
    """Plan a profile for one host, or one per role, to find planning errors.

    Raises UsageError.
    """
    from tui.engine.plan.plan import Choices, build_plan
    from tui.model.address import HostAddress

    roles = dict.fromkeys(loaded.profile.roles, "1")
    hosts = [HostAddress(name=name, transport="local") for name in roles or ["local"]]
    build_plan(loaded, Choices(hosts=hosts, roles=roles))


def make_new(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Write a profile that extends or copies another, into the user's directory.

    Prints its path.
    """
    from tui.engine.inputs.profile_files import create, extending
    from tui.engine.inputs.profiles import retagged

    origin = catalogue.load(args.origin or "demo/quick")
    extends = args.origin is not None and not args.copy
    text = extending(origin, args.name) if extends else retagged(origin.text, args.name)
    path = create(catalogue, args.name, text)
    report(args, {"profile": args.name, "path": str(path)}, str(path))
    return 0


def edit_one(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Open the user's copy of a profile in the editor until it is valid or the user gives up."""
    path = own_file(args.name, catalogue)
    while True:
        open_editor(path)
        problems = problems_in(path, catalogue)
        for problem in problems:
            say(problem)
        if not problems:
            say(f"{path}: ok")
            for hint in catalogue.load_file(path).hints:
                say(f"{hint} (a hint)")
            return 0
        if not ask("edit again?"):
            return 2


def own_file(name: str, catalogue: Catalogue) -> Path:
    """Return the user's file of a profile, copied from the preset if there is none.

    The schema is written next to it, for editors.
    """
    from tui.engine.inputs.profile_files import with_modeline, write_schema
    from tui.engine.inputs.user_files import save
    from tui.model.problem import user_text

    before = catalogue.own_file(name)
    path = catalogue.copy_to_user(name)
    if path.is_relative_to(catalogue.user_dir):
        write_schema(catalogue.user_dir)
        if path != before:
            save(path, with_modeline(user_text(path), path, catalogue.user_dir))
    return path


def import_file(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Write profiles from a job file of a load generator.

    Prints their paths, the main one first, and the options that could not be kept.
    """
    from tui.model.problem import user_text

    text = user_text(args.file, pipes=True)
    found = importer(args.file, args.tool, text).import_job(
        text, str(args.file), args.name, os.environ
    )
    if args.output == Path("-") and args.json:
        raise UsageError("--json cannot be used with -o -: no files are written")
    if args.output == Path("-"):
        print("---\n".join(text for _, text in found.profiles), end="")
    else:
        written = write_imported(found.profiles, args.output, catalogue)
        rows = [
            {"profile": tag, "path": str(path)}
            for (tag, _), path in zip(found.profiles, written, strict=True)
        ]
        document = {"profiles": rows, "messages": [as_row(each) for each in found.messages]}
        report(args, document, "\n".join(map(str, written)))
    for message in found.messages:
        say(str(message))
    return 0


def importer(file: Path, tool: str | None, text: str) -> Workload:
    """Return the load generator of a job file: as given, by file name, or by content.

    Raises UsageError if it is not identified.
    """
    from tui import workloads

    if tool is not None:
        return workloads.get(tool)
    able = [found for found in workloads.every() if found.job_files]
    fitting = [found for found in able if file.name.lower().endswith(found.job_files)] or able
    if len(fitting) != 1:
        fitting = [found for found in fitting if found.is_job(text)] or fitting
    if len(fitting) != 1:
        known = "|".join(each.name for each in fitting)
        raise UsageError(f"{file}: load generator not identified; use --tool {known}")
    return fitting[0]


def write_imported(
    profiles: list[tuple[str, str]], output: Path | None, catalogue: Catalogue
) -> list[Path]:
    """Write profiles to the user's directory or to `output`; never overwrites.

    The profiles of a suite are written next to `output`.
    """
    from tui.engine.inputs.profile_files import create, with_modeline
    from tui.engine.inputs.user_files import write_new

    if output is None:
        for tag, _ in profiles:
            if there := catalogue.own_file(tag):
                raise UsageError(
                    f"profile '{tag}' exists: {there}; choose another name with --name"
                )
        return [create(catalogue, tag, text) for tag, text in profiles]
    paths_ = [
        output,
        *(output.with_stem(f"{output.stem}-{number}") for number in range(1, len(profiles))),
    ]
    if there_ := next((path for path in paths_ if path.exists()), None):
        raise UsageError(f"{there_} exists; choose another file with -o")
    for path, (_, text) in zip(paths_, profiles, strict=True):
        write_new(path, with_modeline(text, path, catalogue.user_dir))
    return paths_


def problems_in(path: Path, catalogue: Catalogue) -> list[str]:
    """Return the problems of a profile file, one line each."""
    try:
        catalogue.load_file(path)
    except UsageError as error:
        return [str(problem) for problem in error.problems]
    return []
