"""What people change of saved runs: remarks, star, title, tags, and whether they are kept."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tui.cli.runs.arguments import RUN_HELP, Actions
from tui.cli.shared.common import add_json, report
from tui.journal.alive import is_running
from tui.model.problem import BenchtuiError, UsageError, did_you_mean
from tui.results.store.marks import parse_tags, rename, retag, star, tags_text
from tui.results.store.runs import RunStore


def configure(actions: Actions) -> None:
    """Add the actions."""
    note = actions.add_parser("note", help="add a remark to a run")
    note.add_argument("run", metavar="RUN", help=RUN_HELP)
    note.add_argument("text", metavar="TEXT", help="the remark")
    note.set_defaults(do=note_run)
    add_json(note)
    starring = actions.add_parser("star", help="give runs a star: runs list is:starred")
    starring.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)
    starring.add_argument("--off", action="store_true", help="take it away")
    starring.set_defaults(do=star_runs)
    add_json(starring)
    tagging = actions.add_parser("tag", help="add tags to a run, or take them away; without any, print them")
    tagging.add_argument("run", metavar="RUN", help=RUN_HELP)
    tagging.add_argument("tags", metavar="TAG", nargs="*", help="NAME or NAME=VALUE")
    tagging.add_argument("--remove", metavar="NAME", action="append", default=[], help="take this tag away")
    tagging.set_defaults(do=tag_run)
    add_json(tagging)
    renaming = actions.add_parser("rename", help="give a run a title; its id stays")
    renaming.add_argument("run", metavar="RUN", help=RUN_HELP)
    renaming.add_argument("title", metavar="TITLE", help="a line of text; empty: none")
    renaming.set_defaults(do=rename_run)
    add_json(renaming)
    remove = actions.add_parser("delete", aliases=["rm"], help="remove runs from this machine for good")
    remove.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)
    remove.add_argument("--yes", action="store_true", help="do not ask")
    remove.set_defaults(do=remove_runs)
    add_json(remove)


def own_run(store: RunStore, ref: str) -> Path:
    """Return the directory of a run that may be changed. Raises UsageError for somebody else's."""
    run_dir = store.resolve(ref)
    store.check_ours(run_dir)
    return run_dir


def run_on_own_hosts(store: RunStore, ref: str, *, last_of_all: bool = False) -> Path:
    """Return the directory of a run whose plan may be carried out on hosts. Raises UsageError for any other."""
    run_dir = store.resolve(ref, last_of_all=last_of_all)
    store.check_hosts_ours(run_dir)
    return run_dir


def star_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Give runs a star, or take it away."""
    directories = [own_run(store, ref) for ref in args.runs]
    for run_dir in directories:
        star(run_dir, starred=not args.off)
    report(args, [{"run_id": run_dir.name, "starred": not args.off} for run_dir in directories])
    return 0


def tag_run(args: argparse.Namespace, store: RunStore) -> int:
    """Change the tags of a run, or print them."""
    from tui.results.store.summary import summarize

    if not (args.tags or args.remove):
        summary = summarize(store.resolve(args.run), keep=False)
        tags = dict(summary.tags) if summary is not None else {}
        report(args, {"run_id": store.resolve(args.run).name, "tags": tags})
        if not args.json:
            print(tags_text(tags))
        return 0
    run_dir = own_run(store, args.run)
    summary = summarize(run_dir)
    tags = dict(summary.tags) if summary is not None else {}
    if unknown := next((name for name in args.remove if name not in tags), None):
        told = f"{did_you_mean(unknown, tags)}: {tags_text(tags)}" if tags else ""
        raise UsageError(f"{run_dir.name} has no tag '{unknown}'{told}")
    kept = {name: value for name, value in tags.items() if name not in args.remove}
    kept |= parse_tags(args.tags)
    retag(run_dir, kept)
    report(args, {"run_id": run_dir.name, "tags": kept})
    return 0


def rename_run(args: argparse.Namespace, store: RunStore) -> int:
    """Give a run a title."""
    rename(run_dir := own_run(store, args.run), args.title)
    report(args, {"run_id": run_dir.name, "title": args.title})
    return 0


def note_run(args: argparse.Namespace, store: RunStore) -> int:
    """Add a remark: through its engine while a run lives, else to its journal and its record."""
    run_dir = own_run(store, args.run)
    text = args.text.strip()
    if not text:
        raise UsageError("the note is empty")
    tell_note(run_dir, text)
    report(args, {"run_id": run_dir.name, "note": text})
    return 0


def tell_note(run_dir: Path, text: str) -> None:
    """Add a remark where it lasts. Raises BenchtuiError."""
    if is_running(run_dir):
        from tui.engine.process.control import request

        answer = request(run_dir, {"verb": "note", "text": text})
        if not answer.get("ok"):
            raise BenchtuiError(f"{run_dir.name}: {answer.get('error', 'the run did not take the note')}")
        return
    from tui.results.store.added import keep_note

    keep_note(run_dir, text)


def remove_runs(args: argparse.Namespace, store: RunStore) -> int:
    """Remove runs for good, after asking; what their hosts still hold of them is said first."""
    from tui.results.store.remove import check_removable, remove_run, still_on_hosts

    directories = list(dict.fromkeys(own_run(store, ref) for ref in args.runs))
    for run_dir in directories:
        check_removable(run_dir)
    for text in filter(None, map(still_on_hosts, directories)):
        print(f"benchtui: {text}", file=sys.stderr)
    names = ", ".join(run_dir.name for run_dir in directories)
    if not args.yes and not _confirmed(names):
        print("nothing removed", file=sys.stderr)
        return 1
    for run_dir in directories:
        remove_run(run_dir)
    print(f"removed {names}", file=sys.stderr)
    report(args, {"removed": [run_dir.name for run_dir in directories]})
    return 0


def _confirmed(names: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"this removes {names}; confirm with --yes")
    print(f"remove {names}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
