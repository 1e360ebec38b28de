"""The parameters of an edited profile as a form: input becomes the default in the text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tui.app.screens.review_form import check_param, choices_of, default_text, hint
from tui.app.widgets.form import FieldSpec, Form
from tui.model.problem import UsageError
from tui.model.yaml_text import YamlDocument, load

if TYPE_CHECKING:
    from tui.model.profile import Profile


class DefaultsForm(Form):
    """A field for each parameter, with the default of the profile that this one extends."""

    def __init__(self, mark: str) -> None:
        super().__init__(self.check_default, mark, id="editor-form")
        self.profile: Profile | None = None
        self.is_made = False  # its fields exist
        self.defaults: dict[str, str] = {}  # as in the text

    def check_default(self, name: str, text: str) -> str | None:
        """Return what is wrong with a field's text."""
        params = self.profile.params if self.profile else {}
        return check_param(self.profile, name, text) if self.profile and name in params else None

    async def show_profile(self, profile: Profile, base: Profile | None) -> None:
        """Make the fields of a profile's parameters, unless the form has the focus."""
        self.profile = profile
        if self.has_focus_within:
            return
        wanted = {name: default_text(param) for name, param in profile.params.items()}
        if [*wanted.items()] != [*self.defaults.items()]:
            self.defaults, self.is_made = wanted, False
            origins = {**profile.params, **(base.params if base else {})}
            await self.set_fields(
                FieldSpec(
                    name,
                    wanted[name],
                    default_text(origins[name]),
                    hint(param),
                    choices=choices_of(param),
                )
                for name, param in profile.params.items()
            )
        self.is_made = True

    def apply_to(self, text: str) -> tuple[str, list[UsageError]]:
        """Return a text with the form's valid defaults, and the errors of the others."""
        values, errors = self.values, self.errors
        problems: list[UsageError] = []
        right = {
            name: values[name] for name in self.defaults if name in values and name not in errors
        }
        for name, value in right.items():
            if value != self.defaults[name]:
                try:
                    text = with_default(text, name, value)
                except UsageError as error:
                    problems.append(error)
        self.defaults |= right
        return text, problems


# -- a text with another default, otherwise unchanged

_PLAIN = re.compile(r"[A-Za-z0-9/][A-Za-z0-9_./%+-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")


def with_default(text: str, name: str, value: str) -> str:
    """Return the text with another default of a parameter, at its own place or, when it is
    inherited, as a new line.

    Raises UsageError if the text is not YAML.
    """
    document = load(text, "")
    for path in (("params", name, "default"), ("params", name)):
        span = document.spans.get(path)
        if span and span[1] > span[0]:
            return text[: span[0]] + written(value) + text[span[1] :]
    if ("params", name) in document.values:
        raise UsageError(f"parameter '{name}' has no plain default to change")
    return _with_new_line(text, document, f"{name}: {written(value)}")


def _with_new_line(text: str, document: YamlDocument, line: str) -> str:
    """Return the text with one more entry below ``params``, written in the way that it is written
    in.
    """
    params = document.data.get("params")
    if not isinstance(params, dict) or not params:
        if ("params",) not in document.keys:
            return f"{text.rstrip()}\nparams:\n  {line}\n"
        row, column = document.keys[("params",)]
        lines = text.split("\n")
        before, after = (
            lines[row - 1][: column - 1 + len("params")],
            lines[row - 1][column - 1 + len("params") :],
        )
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
    """Return a value as a YAML scalar that is read as the same text, or the same number or truth
    value.
    """
    if value in ("true", "false", "yes", "no") or re.fullmatch(r"0|[1-9]\d{0,14}(\.\d+)?", value):
        return value
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS and not value[:1].isdigit()
    sized = re.fullmatch(r"\d+[a-zA-Z%]{1,3}", value)
    return value if plain or sized else json.dumps(value, ensure_ascii=False)
