"""Profiles from ``key=value`` terms, as in `benchtui run TOOL key=value` and the Job form. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.model.problem import Problem, UsageError, did_you_mean
from tui.workloads.terms import JOB_LINE

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import Catalogue, LoadedProfile
    from tui.workloads.base import Workload
    from tui.workloads.terms import GivenTerms, TermJob, TermParam

COMMA = re.compile(r"(?<!\\),")  # "\," is a comma within a value
NO_TAG = re.compile(r"[^a-z0-9._-]+")
LONGEST_SLUG = 40
_PLAIN = re.compile(r"[A-Za-z/$][\w./$+-]*|0|[1-9]\d{0,14}|\d{1,15}[a-zA-Z]{1,3}", re.ASCII)
_YAML_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))


def parse_terms(workload: Workload, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the values by key of ``bs=4k,64k numjobs=8``; several values make a sweep.

    Raises UsageError.
    """
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(
                f"{workload.name}: '{word}': expected KEY=VALUE{_meant(workload, word)}"
            )
        if name in found:
            raise UsageError(
                f"{workload.name}: {name}= is given twice; separate values with commas: {name}=A,B"
            )
        found[name] = split_values(text)
        if not all(found[name]):
            raise UsageError(
                f"{workload.name}: {word}: empty value; expected {name}=VALUE or {name}=V1,V2"
            )
        if again := next((each for each in found[name] if found[name].count(each) > 1), None):
            raise UsageError(
                f"{workload.name}: {word}: {again} given twice; use --repeat for repetitions"
            )
    return found


def split_values(text: str) -> tuple[str, ...]:
    r"""Split a list at commas; ``\,`` is a literal comma."""
    return tuple(part.strip().replace("\\,", ",") for part in COMMA.split(text))


def joined_values(values: Iterable[str]) -> str:
    """Join values to a text that `split_values` can split."""
    return ",".join(value.replace(",", "\\,") for value in values)


def _meant(workload: Workload, word: str) -> str:
    """Return a suggestion for an invalid term: one that accepts the word as its value, or has a
    similar name.
    """
    terms = workload.from_terms()
    takes = next((term.name for term in terms.job_terms() if word in term.choices), None)
    return f" (did you mean {takes}={word}?)" if takes else did_you_mean(word, terms.term_names())


def command_of(tool: str, given: GivenTerms) -> str:
    """Return the command line that runs the same job."""
    terms = (f"{name}={joined_values(values)}" for name, values in given.items())
    return shlex.join(["benchtui", "run", tool, *terms])


def made_profile(
    workload: Workload, given: GivenTerms, tag: str | None = None, repeat: int = 1
) -> str:
    """Return the YAML profile of these terms; the default tag is derived from them.

    `repeat`: repetitions of each point.

    Raises UsageError.
    """
    job = workload.from_terms().job_of_terms(given)
    slug = NO_TAG.sub("-", job.slug.lower()).strip("-._")[:LONGEST_SLUG] or "job"
    profile: dict[str, Any] = {
        "profile": tag or f"{workload.name}/{slug}",
        "title": _lasting_title(workload.name, job) if tag else job.title,
        "tool": workload.name,
        "params": {name: _param(param) for name, param in job.params.items()},
        **_sweep(job),
        **({"repeat": repeat} if repeat > 1 else {}),
        workload.name: job.body,
        **job.more,
    }
    head = f"{'# Made from: ' if tag else JOB_LINE}{command_of(workload.name, given)}"
    return "\n".join([head, *_lines(profile, 0)]) + "\n"


def _lasting_title(tool: str, job: TermJob) -> str:
    """Return a title without the parameters: they can be changed in the saved profile."""
    return " ".join((tool, *(f"{name}={value}" for name, value in job.fixed.items())))


def make_profile(
    catalogue: Catalogue, tool: str, words: Sequence[str], tag: str | None = None
) -> LoadedProfile:
    """Return the loaded profile of these terms, without a file; the default tag is derived from
    them.

    Raises UsageError.
    """
    from tui import workloads

    workload = workloads.get(tool)
    text = made_profile(workload, parse_terms(workload, words), tag)
    try:
        return catalogue.load_text(text, Path(tool))
    except UsageError as error:  # line numbers of generated text are useless
        raise UsageError([Problem(f"{tool}: {each.message}") for each in error.problems]) from None


def _param(param: TermParam) -> dict[str, Any]:
    return {
        "default": param.values[0],
        "kind": param.kind,
        **({"help": param.help} if param.help else {}),
    }


def _sweep(job: TermJob) -> dict[str, Any]:
    swept = {
        name: list(param.values) for name, param in job.params.items() if len(param.values) > 1
    }
    return {"sweep": {"grid": swept}} if swept else {}


# -- YAML as people write it: nested mappings in blocks, the innermost on one line


def _lines(mapping: Mapping[str, Any], depth: int) -> Iterable[str]:
    """Yield a mapping as YAML lines, one key per line."""
    indent = "  " * depth
    for name, value in mapping.items():
        if (
            depth == 0
            and isinstance(value, Mapping)
            and any(isinstance(each, Mapping) for each in value.values())
        ):
            yield from ("", f"{name}:")
            yield from _lines(value, depth + 1)
        else:
            yield f"{indent}{name}: {_flow(value)}"


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _scalar(str(value))


def _scalar(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)
