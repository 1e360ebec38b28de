"""`benchtui schema`: JSON Schemas of benchtui's files, for editors and other tools."""

from __future__ import annotations

import argparse

from tui.model.schemas import KINDS, schema_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("what", choices=list(KINDS), help="kind of file")


def main(args: argparse.Namespace) -> int:
    """Print one JSON Schema."""
    print(schema_text(args.what), end="")
    return 0
