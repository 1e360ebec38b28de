"""`benchtui schema`: the JSON Schemas, for editors and for whoever reads our files."""

from __future__ import annotations

import argparse
import json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("what", choices=["run", "profile", "inventory", "baselines"], help="the kind of file")


def main(args: argparse.Namespace) -> int:
    """Print one JSON Schema."""
    if args.what == "run":
        from tui.model.record import run_json_schema as schema
    elif args.what == "profile":
        from tui.model.profile_schema import profile_file_schema as schema
    elif args.what == "baselines":
        from tui.model.baseline import baseline_json_schema as schema
    else:
        from tui.model.inventory import inventory_json_schema as schema
    print(json.dumps(schema(), indent=2))
    return 0
