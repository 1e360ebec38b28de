"""`benchtui baselines`: list published results, and compare a run with them."""

from __future__ import annotations

import argparse
import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.shared.arguments import text_width
from tui.cli.shared.common import RUN_HELP, add_flag, paths, run_store, say
from tui.metrics.units import plural
from tui.model.problem import UsageError, did_you_mean

if TYPE_CHECKING:
    from tui.analysis.published import BaselineFiles
    from tui.model.baseline import Baseline

FILES = (".yaml", ".yml")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs below `baselines`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listed = verbs.add_parser("list", help="list published results by profile")
    add_flag(listed, "--json", "print every figure as JSON on stdout")
    show = verbs.add_parser(
        "show", help="print all figures for a profile or a collection, with caveats"
    )
    show.add_argument(
        "name", metavar="NAME", help="profile such as weka/read-iops, or collection such as ceph"
    )
    add_flag(show, "--json", "print JSON on stdout")
    compare = verbs.add_parser(
        "compare", help="compare a run with results published for its profile"
    )
    compare.add_argument("run", metavar="RUN", help=RUN_HELP)
    add_flag(compare, "--json", "print JSON on stdout")
    check = verbs.add_parser(
        "check",
        help="run the checks on published results",
        description=(
            "Applies the run checks to published results, where the source has enough data."
            " For a FILE, first reports every error in it. Findings do not change the exit code;"
            " an unreadable file does (2)."
        ),
    )
    check.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="profile, collection or FILE (default: all published results)",
    )
    add_flag(check, "--json", "print JSON on stdout")


def main(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    return {"list": list_all, "show": show_one, "compare": compare_run, "check": check}[args.verb](
        args
    )


def found_baselines() -> BaselineFiles:
    """Return all published results; print problems in their files to stderr."""
    from tui.analysis.published import find_baselines

    found = find_baselines(paths().baselines)
    for problem in found.problems:
        say(f"benchtui: {problem}")
    return found


def list_all(args: argparse.Namespace) -> int:
    """Print one line per profile with published results, or every result as JSON."""
    from tui.view.published import baseline_json

    found = found_baselines().baselines
    if args.json:
        print(json.dumps([baseline_json(each) for each in found], indent=1))
        return 0
    groups: dict[tuple[str, str], list[Baseline]] = {}
    for each in found:
        groups.setdefault((each.profile, each.collection), []).append(each)
    width = max((len(profile) for profile, _ in groups), default=0)
    for (profile, collection), members in groups.items():
        print(f"{profile:<{width}}  {len(members):>3}  {range_text(members)}  ({collection})")
    return 0


def range_text(members: list[Baseline]) -> str:
    """Return the first figure that all published results have: one value, or the range."""
    from tui.view.published import figure_name, theirs_text

    names = [[figure_name(figure) for figure in each.figures] for each in members]
    name = next((name for name in names[0] if all(name in others for others in names)), names[0][0])
    chosen = [
        (each, figure) for each in members for figure in each.figures if figure_name(figure) == name
    ]
    chosen.sort(key=lambda pair: pair[1].quantity.low)
    low, high = theirs_text(*chosen[0]), theirs_text(*chosen[-1])
    return f"{name} {low}" if len(members) == 1 else f"{name} {low} ... {high}"


def show_one(args: argparse.Namespace) -> int:
    """Print the published results of a profile or a collection."""
    from tui.view.published import baseline_json

    chosen = named(args.name)
    if args.json:
        print(json.dumps([baseline_json(each) for each in chosen], indent=1))
    else:
        print("\n".join(shown_text(chosen)))
    return 0


def named(name: str) -> list[Baseline]:
    """Return the published results of a collection, a profile or a variant.

    Raises UsageError if there are none.
    """
    found = found_baselines().baselines
    chosen = [each for each in found if name in (each.collection, each.profile, *each.variants)]
    if not chosen:
        known = sorted(
            {text for each in found for text in (each.collection, each.profile, *each.variants)}
        )
        raise UsageError(
            f"no published results for '{name}'{did_you_mean(name, known)}; see benchtui baselines"
            " list"
        )
    return chosen


def shown_text(chosen: list[Baseline]) -> list[str]:
    """Return the figures by collection and profile; notes follow their profile, each note once."""
    lines: list[str] = []
    for collection in dict.fromkeys(each.collection for each in chosen):
        of_one = [each for each in chosen if each.collection == collection]
        lines += [*([""] if lines else []), f"{collection}: {of_one[0].title}"]
        for profile in dict.fromkeys(each.profile for each in of_one):
            lines += profile_text(profile, [each for each in of_one if each.profile == profile])
    return lines


def profile_text(profile: str, members: list[Baseline]) -> list[str]:
    """Return the published results of one profile as text."""
    from tui.view.published import baseline_notes, grouped, notes_text

    params = " ".join(f"{name}={value}" for name, value in members[0].params.items())
    lines = ["", f"{profile}  {params}".rstrip()]
    for number, each in enumerate(members, 1):
        lines += figures_text(number, each)
    notes = [
        [*(("unknown", text) for text in each.unknown), *baseline_notes(each)] for each in members
    ]
    return [*lines, *notes_text(grouped(notes, [each.setup for each in members]))]


def figures_text(number: int, baseline: Baseline) -> list[str]:
    """Return one published result's figures as text, as its source printed them.

    Each direction and latency kind has a line.
    """
    hosts = (
        f"{baseline.hosts} client{'s' if baseline.hosts != 1 else ''}"
        if baseline.hosts
        else "clients unknown"
    )
    kind = [] if baseline.label.endswith(baseline.kind) else [baseline.kind]
    marks = [*kind, hosts, *([baseline.validity.upper()] if baseline.validity != "ok" else [])]
    parts: dict[str, list[str]] = {}
    for figure in baseline.figures:
        name = f"{figure.of} {figure.kind or figure.metric}" if figure.statistic else ""
        word = figure.statistic or (f"{figure.of} {figure.metric}")
        parts.setdefault(name, []).append(f"{word} {figure.quantity.printed}")
    label = f"{baseline.label}  " if baseline.label else ""
    head = f"{number:>3} {label}({', '.join(marks)})  {', '.join(parts.pop('', []))}".rstrip()
    more = [f"    {name}: {', '.join(texts)}" for name, texts in parts.items()]
    return [line for text in (head, *more) for line in wrapped(text)]


def wrapped(text: str) -> list[str]:
    """Return a text wrapped to 80 columns."""
    return textwrap.wrap(
        text, 80, subsequent_indent="      ", break_on_hyphens=False, break_long_words=False
    )


def compare_run(args: argparse.Namespace) -> int:
    """Print a run next to published results. The run is not changed."""
    from tui.analysis.published import compare
    from tui.library.load import load_record
    from tui.view.published import comparison_json, published, published_text

    run_dir = run_store().resolve(args.run)
    record = load_record(run_dir)
    if record.proves is not None:
        about = record.proves.run_id
        raise UsageError(
            f"{run_dir.name} is a counter-experiment; compare its original run instead: {about}"
        )
    if args.json:
        compared = compare(record, found_baselines().baselines)
        print(json.dumps([comparison_json(each) for each in compared], indent=1))
        return 0
    view, problems = published(record, paths().baselines)
    for problem in problems:
        say(f"benchtui: {problem}")
    if view is None:
        say(f"no published results for {record.profile.tag}")
    else:
        print(published_text(view, text_width()), end="")
    return 0


def check(args: argparse.Namespace) -> int:
    """Print findings about published results; return 2 if a file has problems."""
    from tui.engine.inputs.profiles import Catalogue
    from tui.engine.plan.reproduce import published_plan
    from tui.view.published_checks import judge, judged_json, judged_text

    chosen, code = chosen_baselines(args.names, quiet=args.json)
    catalogue = Catalogue(paths().profiles)
    found = judge(chosen, lambda baseline, hosts: published_plan(baseline, hosts, catalogue))
    if args.json:
        print(json.dumps([judged_json(each) for each in found], indent=1))
    elif found:
        print("\n".join(judged_text(found)))
    return code


def chosen_baselines(names: list[str], *, quiet: bool) -> tuple[list[Baseline], int]:
    """Return the published results of profiles, collections and files; by default all.

    Also returns the exit code: 2 if a file is broken, otherwise 0.
    """
    if not names:
        return list(found_baselines().baselines), 0
    chosen, code = [], 0
    for name in names:
        path = Path(name)
        if path.suffix not in FILES:
            chosen += named(name)
            continue
        try:
            members = read_file(path)
        except UsageError as error:
            code = error.exit_code
            for problem in error.problems:
                say(str(problem))
        else:
            chosen += members
            if not quiet:
                print(f"{path}: ok ({plural(len(members), 'published result')})")
    return chosen, code


def read_file(path: Path) -> list[Baseline]:
    """Return the published results in a file.

    Raises UsageError with every problem in the file.
    """
    from tui.model.baseline import load_baselines
    from tui.model.problem import user_text

    return load_baselines(user_text(path, pipes=True), str(path))
