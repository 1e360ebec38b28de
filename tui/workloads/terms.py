"""Jobs without a profile: ``key=value`` terms that a load generator accepts, and the profile they
make.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui.model.problem import UsageError, did_you_mean

if TYPE_CHECKING:
    from tui.model.profile import ParamKind

JOB_LINE = "# A job without a profile: "
"""First line of such a profile; the command line that runs the job follows."""
MADE_FROM = "# Made from: "
"""First line of a job saved as a profile; the command line follows."""
COMMA = re.compile(r"(?<!\\),")  # "\," is a comma within a value
GivenTerms = Mapping[str, Sequence[str]]
"""Values by key, as typed; several values of a key make a sweep."""


class JobTerm(Struct, frozen=True):
    """One key of a job: its kind, default (empty if none) and a line of help.

    `label` is its name in the form, `choices` are words accepted in addition to its kind.

    The others are for jobs in words, such as ``4k random read qd16``. `words` are more names of the
    key; ``#`` in one marks the place of the value: ``x#``. `plain`: a value of this kind without
    a name is meant for this key. `means` are words that each stand for a value.
    """

    name: str
    kind: ParamKind
    default: str
    help: str
    label: str = ""
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    plain: bool = False
    means: tuple[tuple[str, str], ...] = ()


class TermParam(Struct, frozen=True):
    """A parameter of the profile with its values; the first is the default, several make a
    sweep.
    """

    kind: ParamKind
    values: Sequence[str]
    help: str = ""


class TermJob(Struct, frozen=True):
    """The profile made from terms.

    Its name ends in `slug`, `body` is the load generator's section, `more` are other keys such as
    headline, prepare or drop_caches. `fixed` are values of terms that are not parameters. `title`
    states parameters too; that of a saved profile states only `fixed`.
    """

    slug: str
    title: str
    params: Mapping[str, TermParam]
    body: Mapping[str, Any]
    more: Mapping[str, Any]
    fixed: Mapping[str, str] = {}


def was_made(text: str) -> bool:
    """Return whether a profile was made from terms, saved or not."""
    return any(line.startswith((JOB_LINE, MADE_FROM)) for line in text.split("\n", 2)[:2])


TARGETS = frozenset({"directory", "filename"})
"""Keys that say where the load goes: no default suits all storage, so they are asked for first."""


def asked_first(names: Iterable[str]) -> list[str]:
    """Return the keys in the order in which they are asked for."""
    return sorted(names, key=lambda name: name not in TARGETS)


def other_names(terms: Sequence[JobTerm], known: Collection[str]) -> Mapping[str, str]:
    """Return the keys by their other names (``ramp=``, ``jobs=``, ``queue_depth=``).

    `known`: names of keys, which mean themselves. A name that several keys share is left out.
    """
    found: dict[str, set[str]] = {}
    for term in terms:
        for words in (term.label, *term.words):
            name = words.lower().replace(" ", "_")
            if name.isidentifier() and name not in known:
                found.setdefault(name, set()).add(term.name)
    return {name: next(iter(of)) for name, of in found.items() if len(of) == 1}


def command_in(text: str | None) -> list[str]:
    """Return the words of the command line in the text of a job's profile; empty for any other
    profile, including one saved from a job.
    """
    first = (text or "").partition("\n")[0]
    return shlex.split(first.removeprefix(JOB_LINE)) if first.startswith(JOB_LINE) else []


def unknown_term(
    tool: str, name: str, known: Sequence[str], common: Sequence[JobTerm]
) -> UsageError:
    """Return the error for a key that a load generator does not accept."""
    names = ", ".join(term.name for term in common)
    return UsageError(
        f"{tool}: unknown term '{name}'{did_you_mean(name, known)}; common terms: {names}"
    )


def split_values(text: str) -> tuple[str, ...]:
    r"""Split a list at commas; ``\,`` is a literal comma."""
    return tuple(part.strip().replace("\\,", ",") for part in COMMA.split(text))


def joined_values(values: Iterable[str]) -> str:
    """Join values to a text that `split_values` can split."""
    return ",".join(value.replace(",", "\\,") for value in values)


def fits(kind: ParamKind, values: Sequence[str]) -> bool:
    """Return whether all values are valid for a kind of parameter."""
    from tui.model.profile import Param, parse_param

    try:
        for value in values:
            parse_param(Param(default=value, kind=kind), value)
    except ValueError:
        return False
    return True
