"""`benchtui profiles`: list, show, check, new, edit."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.common import ask, pairs, paths, say
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from tui.engine.catalogue import Catalogue, LoadedProfile


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs below `profiles`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listed = verbs.add_parser("list", help="all profiles: presets and your own")
    listed.add_argument("--json", action="store_true", help="as JSON on stdout")
    show = verbs.add_parser("show", help="one profile: its YAML, or the fio job that it makes")
    show.add_argument("name", metavar="NAME")
    show.add_argument("--fio", action="store_true", help="print a job file that stock fio accepts")
    show.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="overrides")
    show.add_argument("--json", action="store_true", help="as JSON on stdout")
    check = verbs.add_parser("check", help="say everything that is wrong in profile files")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE")
    new = verbs.add_parser("new", help="start a profile of your own from a preset")
    new.add_argument("name", metavar="NAME", help="family/name of the new profile")
    new.add_argument("--from", dest="origin", default="demo/quick", metavar="NAME", help="profile to start from")
    edit = verbs.add_parser("edit", help="edit a profile in $EDITOR; a preset is copied to your own folder first")
    edit.add_argument("name", metavar="NAME")


def main(args: argparse.Namespace) -> int:
    """Do what the verb says."""
    from tui.engine.catalogue import Catalogue

    catalogue = Catalogue(paths().profiles)
    return {"list": list_all, "show": show_one, "check": check_files, "new": make_new, "edit": edit_one}[args.verb](
        args, catalogue
    )


def list_all(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Print all profiles, broken ones with their error."""
    entries = catalogue.list()
    if args.json:
        keys = ("tag", "title", "preset", "tool", "headline", "error")
        rows = [{**{key: getattr(entry, key) for key in keys}, "path": str(entry.path)} for entry in entries]
        print(json.dumps(rows, indent=2))
        return 0
    width = max((len(entry.tag) for entry in entries), default=0)
    for entry in entries:
        text = f"broken: {entry.error}" if entry.error else entry.title
        print(f"{entry.tag:<{width}}  {'preset' if entry.preset else 'own':<6}  {text}")
    return 0


def show_one(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Print one profile as YAML, as JSON, or as a fio job file."""
    loaded = catalogue.load(args.name)
    overrides = pairs(args.overrides, "--set")
    if args.fio:
        print(job_text(loaded, overrides), end="")
    elif args.json:
        print(json.dumps(as_json(loaded, overrides), indent=2))
    elif overrides:
        raise UsageError("--set goes with --fio or --json; the YAML is the same for all values")
    else:
        print(loaded.text, end="")
    return 0


def as_json(loaded: LoadedProfile, overrides: dict[str, str]) -> dict[str, object]:
    """Return the profile, where it is, and `values`: its parameters in bytes, seconds and plain numbers."""
    from tui.model.profile import resolve_params

    return {
        **loaded.profile.model_dump(mode="json", by_alias=True, exclude_none=True),
        "values": resolve_params(loaded.profile, overrides),
        "preset": loaded.preset,
        "path": str(loaded.path),
        "sha256": loaded.sha256,
    }


def job_text(loaded: LoadedProfile, overrides: dict[str, str]) -> str:
    """Return the job file of a profile on this machine."""
    from tui.model.profile import resolve_params
    from tui.workloads.fio.jobfile import render

    params = resolve_params(loaded.profile, overrides)
    header = f"# {loaded.profile.profile} v{loaded.profile.version}: {loaded.profile.title}\n"
    return header + render(loaded.profile, params, "local", 1, None)


def check_files(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Say everything that is wrong in each file; 2 when anything is."""
    code = 0
    for path in args.files:
        try:
            loaded = catalogue.load_file(path)
            job_text(loaded, {})
            print(f"{path}: ok ({loaded.profile.profile})")
        except UsageError as error:
            code = error.exit_code
            for problem in error.problems:
                say(str(problem if problem.file else replace(problem, file=str(path))))
    return code


def make_new(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Copy a profile under a new tag into the user's folder and print its path."""
    print(catalogue.copy_to_user(args.origin, args.name))
    return 0


def edit_one(args: argparse.Namespace, catalogue: Catalogue) -> int:
    """Open the user's own copy in the editor until it is right or the user gives up."""
    path = catalogue.copy_to_user(args.name)
    while True:
        open_editor(path)
        problems = problems_in(path, catalogue)
        for problem in problems:
            say(problem)
        if not problems:
            say(f"{path}: ok")
            return 0
        if not ask("edit again?"):
            return 2


def problems_in(path: Path, catalogue: Catalogue) -> list[str]:
    """Return what is wrong in a file, a line each."""
    try:
        catalogue.load_file(path)
    except UsageError as error:
        return [str(problem) for problem in error.problems]
    return []


def open_editor(path: Path) -> None:
    """Run the user's editor on a file. Raises UsageError when it cannot be run."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        done = subprocess.run([*shlex.split(editor), str(path)], check=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"the editor '{editor}' cannot be started: {error}; set EDITOR") from error
    if done.returncode != 0:
        raise UsageError(f"the editor '{editor}' ended with {done.returncode}; {path} is as it left it")
