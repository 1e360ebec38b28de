"""Changes to the text of a profile that leave everything else in it untouched. Pure."""

from __future__ import annotations

import json
import re

from tui.model.problem import UsageError
from tui.model.yaml_text import Document, load

_PLAIN = re.compile(r"[A-Za-z0-9/][A-Za-z0-9_./%+-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")


def with_default(text: str, name: str, value: str) -> str:
    """Return the text with another default of a parameter, at its own place or, when it is inherited, as a new line.

    Raises UsageError for a text that is no YAML.
    """
    document = load(text, "")
    for path in (("params", name, "default"), ("params", name)):
        span = document.spans.get(path)
        if span and span[1] > span[0]:
            return text[: span[0]] + written(value) + text[span[1] :]
    if ("params", name) in document.values:
        raise UsageError(f"parameter '{name}' has no plain default to change")
    return _with_new_line(text, document, f"{name}: {written(value)}")


def _with_new_line(text: str, document: Document, line: str) -> str:
    """Return the text with one more entry below ``params``, written in the way that it is written in."""
    params = document.data.get("params")
    if not isinstance(params, dict) or not params:
        if ("params",) not in document.keys:
            return f"{text.rstrip()}\nparams:\n  {line}\n"
        row, column = document.keys[("params",)]
        lines = text.split("\n")
        before, after = lines[row - 1][: column - 1 + len("params")], lines[row - 1][column - 1 + len("params") :]
        rest = re.sub(r"^\s*:\s*(\{\s*\}|~|null)?", "", after)
        lines[row - 1] = f"{before}:{f'  {rest.strip()}' if rest.strip() else ''}"
        return "\n".join([*lines[:row], f"  {line}", *lines[row:]])
    row, column = document.keys[("params", next(iter(params)))]
    lines = text.split("\n")
    last = ("params", next(reversed(params)))
    end = document.keys[last][0]
    if last in document.spans and end > row - 1 and not lines[row - 1][: column - 1].strip():
        blanks = lines[row - 1][: column - 1]
        end += text.count("\n", *document.spans[last])
        return "\n".join([*lines[:end], blanks + line, *lines[end:]])
    before, after = lines[row - 1][: column - 1], lines[row - 1][column - 1 :]
    if before.strip():  # {a: 1, b: 2} in one line
        lines[row - 1] = f"{before}{line}, {after}"
        return "\n".join(lines)
    return "\n".join([*lines[: row - 1], before + line, *lines[row - 1 :]])


def written(value: str) -> str:
    """Return a value as a YAML scalar that is read as the same text, or the same number or truth value."""
    if value in ("true", "false", "yes", "no") or re.fullmatch(r"0|[1-9]\d{0,14}(\.\d+)?", value):
        return value
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS and not value[:1].isdigit()
    sized = re.fullmatch(r"\d+[a-zA-Z%]{1,3}", value)
    return value if plain or sized else json.dumps(value, ensure_ascii=False)
