"""`benchtui man`: the manual page, generated from the parsers of all verbs."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

import tui
from tui.cli.shared.arguments import ABOUT, VERBS, Load, parser_with
from tui.model.paths import docs_dir
from tui.model.settings import KEYS

SECTIONS = {
    "EXIT STATUS": [
        ("0", "complete"),
        (
            "1",
            "complete, but a finding makes the run invalid; compare: worse; runs verify: differs;"
            " doctor: not ready",
        ),
        ("2", "usage error, or invalid profile, inventory or settings"),
        (
            "3",
            "refused before any load; compare: inconclusive or not comparable; runs verify: not"
            " recomputed; hosts: not all ready",
        ),
        ("4", "partial or failed"),
        ("5", "no load met the limits"),
        ("6", "a search without a final answer"),
        ("130", "interrupted and saved"),
    ],
    "ENVIRONMENT": [
        ("BENCHTUI_HOME", "one directory for runs and configuration"),
        ("BENCHTUI_SHARED_RUNS", "directories with other users' runs, separated by colons"),
        *((key.variable, f"overrides the setting {key.name}") for key in KEYS if key.variable),
        ("NO_COLOR", "no colours"),
        ("XDG_CONFIG_HOME, XDG_DATA_HOME", "parent directories of configuration and runs"),
    ],
    "FILES": [
        ("~/.config/benchtui/config.yaml", "settings, see benchtui config"),
        ("~/.config/benchtui/inventory.yaml", "hosts and groups"),
        ("~/.config/benchtui/profiles/", "your profiles"),
        ("~/.config/benchtui/known_hosts", "pinned host keys"),
        (
            "~/.local/share/benchtui/runs/",
            "one directory per run: command.txt, summary.txt, run.json",
        ),
        (str(docs_dir()), "the documentation, as Markdown; index.md first"),
    ],
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "--roff", action="store_true", help="print the roff source, even on a terminal"
    )


def main(args: argparse.Namespace) -> int:
    """Show the page with man on a terminal; print its source otherwise."""
    text = page(args.verb_module)
    if args.roff or not sys.stdout.isatty() or shutil.which("man") is None:
        print(text, end="")
        return 0
    return subprocess.run(["man", "-l", "-"], input=text, text=True, check=False).returncode


def page(load: Load) -> str:
    """Return the page in roff."""
    from argparse_manpage.manpage import Manpage

    parser = parser_with(load, VERBS)
    parser.man_short_description = ABOUT[0].lower() + ABOUT[1:].rstrip(".")  # type: ignore[attr-defined]
    made = Manpage(parser)
    made.manual, made.source = "User Commands", f"benchtui {tui.__version__}"
    text = str(made).rstrip()
    return "\n".join(
        [text, *(line for title, rows in SECTIONS.items() for line in section(title, rows)), ""]
    )


def section(title: str, rows: list[tuple[str, str]]) -> list[str]:
    """Return a section, with one paragraph per term."""
    lines = [f".SH {title}"]
    for name, text in rows:
        lines += [".TP", f".B {escaped(name)}", escaped(text)]
    return lines


def escaped(text: str) -> str:
    """Return a text with roff markup escaped."""
    text = text.replace("\\", "\\\\").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
