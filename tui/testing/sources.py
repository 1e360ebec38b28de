"""Contract test for host sources, for use by packages that provide one.

from tui.testing.sources import check_source

def test_the_source_keeps_the_contract(tmp_path: Path) -> None:
    check_source(MySource(), {"lab": ["h1", "h2"]}, ["", "lba", "no such rack"], directory=tmp_path)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tui.engine.inputs.choosing import check_name
from tui.model.hostspec import MOST_KNOWN, check_part, split
from tui.model.problem import UsageError
from tui.sources.base import FoundHosts, HostSource, SourceContext

NEVER = "\x1b]0;N\x07 no such thing \u202e"
"""A name that no source knows, with terminal control characters."""


class SourceContractError(AssertionError):
    """A source broke its contract; the text has one line per mistake."""


def check_source(
    source: HostSource,
    good: Mapping[str, Sequence[str]],
    bad: Sequence[str],
    *,
    directory: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Check a source with texts as typed after the colon. Raises SourceContractError.

    `good` maps each text to what it resolves to: names of hosts or SPECs, in order. `bad`: texts
    that the source must refuse with a UsageError of one printable line that says what is allowed.
    """
    context = SourceContext(
        dict(os.environ if environ is None else environ), directory or Path.cwd()
    )
    mistakes = [*_form_mistakes(source, context)]
    for text, names in good.items():
        mistakes += _good_mistakes(source, text, list(names), context)
    for text in (*bad, NEVER):
        mistakes += _bad_mistakes(source, text, context)
    if mistakes:
        raise SourceContractError("\n".join(mistakes))


def _form_mistakes(source: HostSource, context: SourceContext) -> Iterator[str]:
    for name in ("form", "title"):
        value = getattr(source, name)
        if not value or not value.isprintable():
            yield f"{name}: found {value!r}; expected one printable line"
    state = source.state(context)
    if not isinstance(state, str) or not state.isprintable():
        yield f"state(): found {state!r}; expected one printable line"


def _good_mistakes(
    source: HostSource, text: str, names: list[str], context: SourceContext
) -> Iterator[str]:
    try:
        found = source.find(text, context)
    except Exception as error:
        yield f"find({text!r}) raises {error!r}; expected {names}"
        return
    if not isinstance(found, FoundHosts):
        yield f"find({text!r}) returns {type(found).__name__}; expected FoundHosts"
        return
    if (there := [*(address.name for address in found.hosts), *found.specs]) != names:
        yield f"find({text!r}) returns {there}; expected {names}"
    if len(there) > MOST_KNOWN:
        yield f"find({text!r}) returns {len(there)} hosts; expected at most {MOST_KNOWN}"
    try:
        for address in found.hosts:
            check_name(address)
        for spec in found.specs:
            for part in split(spec):
                check_part(part.removeprefix("!"))
    except UsageError as error:
        yield f"find({text!r}): {error}"
    if any(not isinstance(each, str) for each in source.complete(text, context)):
        yield f"complete({text!r}) yields other types; expected str"


def _bad_mistakes(source: HostSource, text: str, context: SourceContext) -> Iterator[str]:
    try:
        found = source.find(text, context)
    except UsageError as error:
        lines = [str(problem) for problem in error.problems]
        if len(lines) != 1 or not lines[0].isprintable() or "\n" in lines[0]:
            yield f"find({text!r}) raises {lines!r}; expected one printable line"
    except Exception as error:
        yield f"find({text!r}) raises {error!r}; expected UsageError"
    else:
        yield f"find({text!r}) returns {found}; expected UsageError"
