"""Profiles from ``key=value`` terms, as in `benchtui run TOOL key=value` and the Job form. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui.engine.inputs.job_words import job_in, read_words, size_words, words_in
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.workloads.terms import (
    JOB_LINE,
    MADE_FROM,
    asked_first,
    joined_values,
    other_names,
    split_values,
)

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import Catalogue, LoadedProfile
    from tui.workloads.base import Workload
    from tui.workloads.terms import GivenTerms, TermJob, TermParam

NO_TAG = re.compile(r"[^a-z0-9._-]+")
LONGEST_SLUG = 40
EXAMPLE = "4k random read"
_GLUED = re.compile(r"(\d+)x", re.IGNORECASE | re.ASCII)  # a typo for 10s or x10: neighbouring keys
_PLAIN = re.compile(r"[A-Za-z/$][\w./$+-]*|0|[1-9]\d{0,14}|\d{1,15}[a-zA-Z]{1,3}", re.ASCII)
_YAML_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))


def parse_terms(workload: Workload, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the values by key of ``bs=4k,64k numjobs=8``, or of ``4k,64k x8``; several values make
    a sweep.

    Raises UsageError.
    """
    found: dict[str, tuple[str, ...]] = {}
    words = list(words)
    plain = [word for word in words if not _is_pair(word)]
    terms = workload.from_terms()
    called = other_names(terms.job_terms(), terms.term_names())
    for given, text in [*_in_words(workload, plain), *_pairs(filter(_is_pair, words))]:
        name = called.get(given.lower(), given)
        if name in found:
            raise UsageError(
                f"{workload.name}: {name}= is given twice; separate values with commas: {name}=A,B"
            )
        found[name] = split_values(text)
        if not all(found[name]):
            raise UsageError(
                f"{workload.name}: {name}={text}: empty value; expected {name}=VALUE or"
                f" {name}=V1,V2"
            )
        if again := next((each for each in found[name] if found[name].count(each) > 1), None):
            raise UsageError(
                f"{workload.name}: {name}={text}: {again} given twice; use --repeat for repetitions"
            )
    return found


def _is_pair(word: str) -> bool:
    """Return whether a word is ``key=value``; a path may contain an equals sign."""
    return "=" in word[1:] and not word.startswith("/")


def _pairs(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    for word in words:
        name, _, text = word.partition("=")
        yield name, text


def _split(words: Iterable[str]) -> list[str]:
    """Return the words within arguments; an argument that is a path is one word."""
    return [each for word in words for each in ([word] if word[:1] == "/" else words_in(word))]


def _in_words(workload: Workload, words: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Return the keys and values that words without an equals sign mean. Raises UsageError."""
    terms = workload.from_terms()
    if not terms.job_terms():
        return []  # making the job says why there is none
    split = _split(words)
    job = read_words(workload, split)
    if job.unknown:
        word = job.unknown[0]
        raise UsageError(
            f"{workload.name}: '{word}' is not understood; expected KEY=VALUE, or a job in words"
            f" such as {EXAMPLE}{_meant(workload, word)}"
        )
    if job.contrary:
        told = ", ".join(job.contrary)
        raise UsageError(
            f"{workload.name}: {told} contradict each other; separate values with commas:"
            f" 4k,64k{size_words(workload, job.contrary)}"
        )
    return job.terms.items()


def _meant(workload: Workload, word: str) -> str:
    """Return a suggestion for a word that is not understood."""
    if (found := _GLUED.fullmatch(word)) and read_words(workload, [f"x{found[1]}"]).is_whole:
        return f"; did you mean {found[1]}s or x{found[1]}?"
    common = workload.from_terms().job_terms()
    return did_you_mean(word, [*(each for term in common for each in term.choices),
                               *(term.name for term in common)])  # fmt: skip


def tool_of_words(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return load generator and terms of a job whose words do not begin with a load generator.

    None if the first word says nothing about a job.
    """
    from tui import workloads

    split = _split(words)
    plain = [each for each in split if not _is_pair(each)]
    job = job_in(shlex.join(plain))
    if job is None or plain[0] != split[0] or plain[0] in job.unknown:
        return None
    return job.tool, [each for each in split if each.lower() not in workloads.names()]


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
        "params": {name: _param(job.params[name]) for name in asked_first(job.params)},
        **_sweep(job),
        **({"repeat": repeat} if repeat > 1 else {}),
        workload.name: job.body,
        **job.more,
    }
    head = f"{MADE_FROM if tag else JOB_LINE}{command_of(workload.name, given)}"
    return f"{head}\n{yaml_of(profile)}"


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
        return catalogue.load_made(text, tool)
    except UsageError as error:
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


def yaml_of(profile: Mapping[str, Any]) -> str:
    """Return a profile as YAML."""
    return "\n".join(_lines(profile, 0)) + "\n"


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
