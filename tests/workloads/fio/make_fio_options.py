"""Make tui/workloads/fio/fio_options.json from fio's source: names, types and allowed values of
every option.

Usage, once per new fio release, with a checkout of fio:

    python tests/workloads/fio/make_fio_options.py ~/src/fio > tui/workloads/fio/fio_options.json

Only names, types, values and limits are taken. What a build of fio lacks is no matter here: the
table knows what may stand in a job file of some fio, the host's own fio has the last word.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TABLE = re.compile(r"struct fio_option \w+\[[^\]]*\]\s*=\s*\{")
ENGINE_NAME = re.compile(r"struct ioengine_ops [^=;]*=\s*\{\s*\.name\s*=\s*\"([^\"]+)\"")
FIELD = re.compile(r"\.(\w+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^,{}]+)")
TYPES = {
    "FIO_OPT_STR": "choice",
    "FIO_OPT_STR_ULL": "choice",
    "FIO_OPT_STR_MULTI": "choice",
    "FIO_OPT_STR_VAL": "size",
    "FIO_OPT_STR_VAL_TIME": "time",
    "FIO_OPT_STR_STORE": "text",
    "FIO_OPT_RANGE": "range",
    "FIO_OPT_INT": "int",
    "FIO_OPT_ULL": "int",
    "FIO_OPT_BOOL": "bool",
    "FIO_OPT_FLOAT_LIST": "floats",
    "FIO_OPT_STR_SET": "set",
    "FIO_OPT_STR_VAL_ZONE": "zone",
    "FIO_OPT_DEPRECATED": "removed",
    "FIO_OPT_SOFT_DEPRECATED": "ignored",
}

# Written with macros (engines/cmdprio.h), or known to releases before the checkout.
BESIDES: dict[str, dict[str, Any]] = {
    "cmdprio_percentage": {"type": "int", "min": 0, "max": 100},
    "cmdprio_class": {"type": "int", "min": 0, "max": 3},
    "cmdprio_hint": {"type": "int", "min": 0},
    "cmdprio": {"type": "int", "min": 0},
    "cmdprio_bssplit": {"type": "text"},
}
ENGINES_BESIDES = {"aio", "linuxaio", "pmemblk", "rdma"}


def elements(text: str) -> Iterator[str]:
    """Yield the text of every element of a brace-enclosed list that starts at text[0] == '{'."""
    depth, start = 0, 0
    for index, char in enumerate(
        re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)'", lambda m: "x" * len(m[0]), text)
    ):
        if char == "{":
            depth += 1
            start = index if depth == 2 else start
        elif char == "}":
            depth -= 1
            if depth == 1:
                yield text[start : index + 1]
            elif depth == 0:
                return


def clean(source: str) -> str:
    """Return C source without comments and preprocessor lines."""
    source = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    return re.sub(r"^\s*#.*(?:\\\n.*)*$", "", source, flags=re.M)


def number(text: str) -> int | float | None:
    """Return a plain number or None for a C expression."""
    try:
        return float(text) if "." in text else int(text, 0)
    except ValueError:
        return None


def option(element: str) -> tuple[str, dict[str, Any]] | None:
    """Return (name, description) of one struct fio_option, or None for an end mark or an
    unsupported one.
    """
    values = []
    posval = re.search(r"\.posval\s*=\s*(?=\{)", element)
    if posval:
        inner = list(elements(element[posval.end() :]))
        values = [
            value for text in inner for value in re.findall(r"\.ival\s*=\s*\"([^\"]+)\"", text)
        ]
        last = element.index(inner[-1], posval.end()) + len(inner[-1])
        element = element[: posval.start()] + element[element.index("}", last) + 1 :]
    fields = {name: value.strip() for name, value in FIELD.findall(element)}
    kind = TYPES.get(fields.get("type", ""))
    if "name" not in fields or fields["name"] == "NULL" or kind is None:
        return None
    found: dict[str, Any] = {
        "type": "time" if kind == "int" and fields.get("is_time") == "1" else kind
    }
    if alias := fields.get("alias"):
        found["alias"] = alias.strip('"')
    if kind == "choice" and not values:
        found["type"] = "text"
    if values and kind in ("choice", "int"):
        found["values"] = values
    for key, c_names in (("min", ("minval", "minfp")), ("max", ("maxval", "maxfp"))):
        limits = [limit for name in c_names if (limit := number(fields.get(name, ""))) is not None]
        if limits:
            found[key] = limits[0]
    if kind in ("int", "range") and "off3" in fields:
        found["parts"] = 3  # read,write,trim
    if fields.get("is_seconds") == "1":
        found["seconds"] = True
    return fields["name"].strip('"'), found


def options_of(source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every option of every table in one C file."""
    text = clean(source)
    for table in TABLE.finditer(text):
        for element in elements(text[table.end() - 1 :]):
            found = option(element)
            if found:
                yield found


def merge(options: dict[str, dict[str, Any]], name: str, new: dict[str, Any]) -> None:
    """Add an option; where two engines disagree about one name, anything is text."""
    old = options.get(name)
    if old is None or old == new:
        options[name] = new
    elif old["type"] != new["type"]:
        options[name] = {"type": "text"}
    else:
        values = list(dict.fromkeys([*old.get("values", []), *new.get("values", [])]))
        options[name] = {"type": old["type"], **({"values": values} if values else {})}


def main(root: Path) -> None:
    """Print the table of a fio checkout."""
    options: dict[str, dict[str, Any]] = dict(options_of((root / "options.c").read_text()))
    source = clean((root / "options.c").read_text())
    at = source.index('.name\t= "ioengine"')
    own = source[at : source.index(".parent", at)].split(".name", 2)[1]
    engines = set(re.findall(r"\{\s*\.ival\s*=\s*\"([^\"]+)\"", own))
    engine_options: dict[str, dict[str, Any]] = dict(BESIDES)
    for path in sorted((root / "engines").glob("*.c")):
        if path.name == "skeleton_external.c":
            continue
        text = path.read_text()
        engines |= set(ENGINE_NAME.findall(clean(text)))
        for name, found in options_of(text):
            merge(engine_options, name, found)
    engines |= ENGINES_BESIDES
    version = subprocess.run(
        ["git", "-C", root, "describe", "--tags"], capture_output=True, text=True, check=True
    )
    made_from = version.stdout.strip()
    table = {
        "made_from": made_from,
        "engines": sorted(engines),
        "options": options,
        "engine_options": engine_options,
    }
    print(json.dumps(table, indent=None, separators=(",", ":")).replace('},"', '},\n"'))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
