"""A job in a user's words, such as ``4k random read qd16 60s /mnt/weka``, and back. Pure.

The vocabulary comes from the keys that the load generator accepts (`JobTerm`). Of all ways to read
a text, the best ones cover the most words with the fewest claims; a word is understood only if all
best readings agree on it.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui.model.problem import UsageError
from tui.model.quantities import parse_duration, parse_size, plain_size
from tui.workloads.terms import JobTerm, fits, joined_values, split_values

if TYPE_CHECKING:
    from tui.workloads.base import FromTerms, Workload

FILLERS = frozenset(
    ("a", "an", "and", "at", "by", "for", "in", "of", "on", "the", "to", "using", "with",
     "i/o", "i/os", "io", "ios", "perhost", "perjob")
)  # fmt: skip
"""Words without a meaning of their own."""
LONGEST = 6  # words that mean something together, such as "70 % read" or "files per rank 1 k"
SECONDS = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
}
UNITS = {word: unit for unit, words in SECONDS.items() for word in words}
PLACES = ("directory", "path")
ANYWHERE = {"directory": ("/",)}  # for values that are checked without a target
_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([a-z]*)", re.IGNORECASE | re.ASCII)
_PIECES = re.compile(r"[a-z]+\d+", re.IGNORECASE | re.ASCII)
_QUOTED = re.compile(r"""\"[^"]*"|'[^']*'""")
_WORD = re.compile(rf"(?:{_QUOTED.pattern}|\S)+")
_ENDS = re.compile(r"(?<!\\)[,;]+$")
_BETWEEN = re.compile(r"[\s_-]+")
_MANY = {"k": 1000, "m": 1_000_000}


class JobInWords(Struct, frozen=True):
    """What was understood of a text: load generator and its keys as typed in the Job form.

    `unknown`: words not understood, in order. `contrary`: words that contradict each other; none of
    them counts. `understood`: number of other words that describe the load.
    """

    tool: str
    terms: Mapping[str, str]
    unknown: tuple[str, ...] = ()
    contrary: tuple[str, ...] = ()
    understood: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether every word was understood."""
        return not (self.unknown or self.contrary)


class Claim(Struct, frozen=True):
    """One way to read the words from `begin` to `end`: a key with its value, or a part of what
    several words mean together, or neither for a filler.
    """

    begin: int
    end: int
    name: str = ""
    value: str = ""
    part: str = ""


def job_in(text: str) -> JobInWords | None:
    """Return the job that a text describes, for the load generator that it names or the default.

    None if it names several or one that runs profiles only, or says nothing about a job.
    """
    from tui import workloads

    words = words_in(text)
    named = {word.lower() for word in words} & set(workloads.names())
    tools = [each for each in workloads.every() if each.from_terms().job_terms()]
    if not tools or len(named) > 1 or not named <= {each.name for each in tools}:
        return None
    tool = next((each for each in tools if each.name in named), tools[0])
    found = read_words(tool, [word for word in words if word.lower() not in named])
    return found if found.terms else None


def words_in(text: str) -> list[str]:
    """Split a text into words; quotes that are closed keep blanks together, others are kept."""
    words = (_QUOTED.sub(lambda quoted: quoted[0][1:-1], each) for each in _WORD.findall(text))
    return [word for word in words if word.strip()]


def read_words(workload: Workload, words: Sequence[str]) -> JobInWords:
    """Return the job that words describe, for this load generator."""
    reader = _Reader(workload.from_terms(), workload.name)
    words, stops = reader.split(words)
    claims = _agreed(list(dict.fromkeys(reader.claims(words, stops))), len(words))
    said = [each for each in claims if each.name or each.part]
    parts = list(dict.fromkeys(each.part for each in said if each.part))
    together = dict(reader.terms.terms_of_parts(parts)) if parts else {}
    meant = {each: together if each.part else {each.name: each.value} for each in said}
    values: dict[str, set[str]] = {}
    for each in meant.values():
        for name, value in each.items():
            values.setdefault(name, set()).add(value)
    wrong = [
        each
        for each, terms in meant.items()
        if not terms or any(len(values[name]) > 1 for name in terms)
    ]
    right = dict(
        pair for each, terms in meant.items() if each not in wrong for pair in terms.items()
    )
    covered = {at for each in claims for at in range(each.begin, each.end)}
    return JobInWords(
        workload.name,
        {term.name: right[term.name] for term in reader.keys if term.name in right},
        tuple(word for at, word in enumerate(words) if at not in covered),
        tuple(" ".join(words[each.begin : each.end]) for each in wrong),
        sum(each.end - each.begin for each in said if each not in wrong),
    )


def _listed(words: Iterable[str]) -> list[str]:
    """Return words with ``64k, 1m`` as one list."""
    found: list[str] = []
    for word in words:
        if found and found[-1].endswith(",") and _alike(_ENDS.sub("", found[-1]), word):
            found[-1] += word
        else:
            found.append(word)
    return found


def _alike(before: str, after: str) -> bool:
    """Return whether two lists of values have units, all of the same kind."""
    values = [*before.split(","), *_ENDS.sub("", after).split(",")]
    return all(map(_is_size, values)) or all(map(_is_time, values))


def _is_size(text: str) -> bool:
    """Return whether a text is a size with a unit."""
    if not text[-1:].isalpha():
        return False
    try:
        return parse_size(text) > 0
    except ValueError:
        return False


def _is_time(text: str) -> bool:
    """Return whether a text is a duration with a unit, and no size: ``1m`` is 1 MiB."""
    return bool(_time_of(text)) and text[-1:].isalpha() and not _is_size(text)


def _time_of(text: str) -> str:
    """Return a duration with the units that profiles know; empty for other texts."""
    if (found := _NUMBER.fullmatch(text)) and (unit := UNITS.get(found[2].lower())):
        text = f"{found[1]}{unit}"
    try:
        parse_duration(text)
    except ValueError:
        return ""
    return text


def _norm(text: str) -> str:
    """Return a text without case, blanks, dashes and underscores."""
    return _BETWEEN.sub("", text.lower())


class _Reader:
    """Finds everything that words may mean as keys of one load generator."""

    def __init__(self, terms: FromTerms, tool: str) -> None:
        self.terms, self.tool = terms, tool
        self.keys = list(terms.job_terms())
        self.has_sizes = any(term.plain and term.kind == "size" for term in self.keys)

    def split(self, words: Iterable[str]) -> tuple[list[str], set[int]]:
        """Return words without punctuation at their ends, and the positions where it was."""
        found: list[str] = []
        stops = set()
        for word in _listed(words):
            if text := _ENDS.sub("", word):
                found += self.pieces(text)
            stops |= {len(found)} if text != word else set()
        return found, stops

    def pieces(self, word: str) -> list[str]:
        """Split a word such as ``q32t8`` or ``qd16x8`` if each piece means something."""
        pieces = _PIECES.findall(word)
        if len(pieces) < 2 or "".join(pieces) != word:
            return [word]
        return pieces if all(any(self.claims([each])) for each in pieces) else [word]

    def claims(self, words: Sequence[str], stops: Collection[int] = ()) -> Iterator[Claim]:
        """Yield every way to read consecutive words that no stop separates."""
        for begin in range(len(words)):
            stop = min((each for each in stops if each > begin), default=len(words))
            for end in range(begin + 1, min(begin + LONGEST, stop) + 1):
                text = " ".join(words[begin:end])
                if _norm(text) in FILLERS:
                    yield Claim(begin, end)
                if part := self.terms.part_of(text):
                    yield Claim(begin, end, part=part)
                for term in self.keys:
                    for value in self.values(term, words[begin:end]):
                        yield Claim(begin, end, term.name, value)

    def values(self, term: JobTerm, words: Sequence[str]) -> Iterator[str]:
        """Yield the values of a key that these words may mean on their own."""
        if len(words) == 1:
            yield from self.assigned(term, words[0])
        yield from self.standing(term, " ".join(words))
        if text := _value(words):
            yield from self.plain(term, text)
        yield from self.named(term, words)

    def assigned(self, term: JobTerm, word: str) -> Iterator[str]:
        """Yield the value of ``key=value``, or of another name of the key: ``qd=16``."""
        name, equals, text = word.partition("=")
        if not equals:
            return
        if name == term.name:
            yield from [text] if self.takes(term, text) else []
        elif _norm(name) in _labels(term):
            yield from self.labelled(term, text)

    def standing(self, term: JobTerm, text: str) -> Iterator[str]:
        """Yield the value that words stand for without a name: ``buffered``, ``libaio``."""
        norm = _norm(text)
        yield from (value for word, value in term.means if _norm(word) == norm)
        if term.kind == "flag" or self.terms.part_of(text):
            return
        choices = {_norm(each): each for each in term.choices}
        listed = [choices.get(_norm(each), "") for each in text.split(",")]
        yield from [joined_values(listed)] if all(listed) else []

    def plain(self, term: JobTerm, text: str) -> Iterator[str]:
        """Yield the value of a text without a key name, if the key takes such values unnamed."""
        if not term.plain:
            return
        values = split_values(text)
        right = term.kind == "size"
        if term.kind == "duration":
            right = all(map(_is_time, values))
        elif term.kind in PLACES:
            own = term.kind == "path"
            right = all(each[:1] == "/" and fits("device", [each]) == own for each in values)
        yield from self.labelled(term, text) if right else []

    def named(self, term: JobTerm, words: Sequence[str]) -> Iterator[str]:
        """Yield the value of words with a name of the key: ``depth 16``, ``8 jobs``, ``x8``."""
        labels = _labels(term)
        for at in range(1, len(words)):
            first, last = _norm("".join(words[:at])), _norm("".join(words[at:]))
            if first in labels and (text := _value(words[at:])):
                yield from self.labelled(term, text)
            if last in labels and (text := _value(words[:at])) and self.leads(term, text):
                yield from self.labelled(term, text)
        for pattern in _shapes(term):
            if found := pattern.fullmatch(" ".join(words)):
                yield from self.labelled(term, found[1])

    def leads(self, term: JobTerm, text: str) -> bool:
        """Return whether a value may precede a name of its key; a text may only if it is a known
        value.

        Directories and paths may not.
        """
        if term.kind == "text":
            return any(self.standing(term, text))
        return term.kind not in PLACES

    def labelled(self, term: JobTerm, text: str) -> Iterator[str]:
        """Yield the value next to a name of the key, if it is valid for the key."""
        values = text.split(",")
        if term.kind == "size":
            if not any(map(_is_size, values)):
                return
            values = [each.replace(" ", "") for each in values]
            values = [each if self.takes(term, each) else _plain_size(each) for each in values]
        elif term.kind == "duration":
            values = [_time_of(each) for each in values]
        elif term.kind == "count":
            values = [self.count(each) for each in values]
        elif (
            _norm(text) in FILLERS
            or self.terms.part_of(text)
            or (term.kind == "flag" and text.isdecimal())
        ):
            return
        if all(values) and self.takes(term, value := ",".join(values)):
            yield value

    def count(self, text: str) -> str:
        """Return a count; thousands and millions only where no size can be meant."""
        found = _NUMBER.fullmatch(text)
        if found is None or "." in text:
            return ""
        many = 1 if not found[2] else 0 if self.has_sizes else _MANY.get(found[2].lower(), 0)
        return str(int(found[1]) * many) if many else ""

    def takes(self, term: JobTerm, text: str) -> bool:
        """Return whether the Job form accepts this value for the key, checked on its own."""
        return _takes(self.tool, term.name, term.kind, text)


@functools.lru_cache(4096)
def _takes(tool: str, name: str, kind: str, text: str) -> bool:
    from tui import workloads

    values = split_values(text)
    if not all(values) or len(set(values)) < len(values):
        return False
    if kind != "text" and fits(kind, values):  # type: ignore[arg-type]
        return True
    place = {} if kind in ("directory", "path") else ANYWHERE
    try:
        workloads.get(tool).from_terms().job_of_terms({**place, name: values})
    except UsageError:
        return False
    return True


def _plain_size(text: str) -> str:
    try:
        return plain_size(parse_size(text))
    except ValueError:
        return ""


@functools.lru_cache(256)
def _labels(term: JobTerm) -> frozenset[str]:
    """Return the names of a key, normalized; a label that lists several names does not count."""
    names = [term.name, *(each for each in term.words if "#" not in each)]
    return frozenset(map(_norm, [*names, *([term.label] if "," not in term.label else [])])) - {""}


@functools.lru_cache(256)
def _shapes(term: JobTerm) -> tuple[re.Pattern[str], ...]:
    """Return patterns of words in which the value has a fixed place: ``x8``, ``8jobs``."""
    fixed = [each for each in term.words if "#" in each]
    if term.kind == "count":
        fixed += [shape for each in sorted(_labels(term)) for shape in (f"{each}#", f"#{each}")]
    return tuple(
        re.compile(re.escape(each).replace(r"\#", r"(\d[^\s=]*)"), re.IGNORECASE) for each in fixed
    )


def _value(words: Sequence[str]) -> str:
    """Return words as one value: a single word, or a number and its unit; otherwise empty."""
    if len(words) == 1:
        return words[0]
    text = " ".join(words)
    return text if len(words) == 2 and _NUMBER.fullmatch(text) and words[0][-1].isdigit() else ""


def _agreed(claims: Sequence[Claim], length: int) -> list[Claim]:
    """Return the claims that all best readings share.

    Best is a reading that covers the most words, with the fewest claims.
    """
    forward = _best(claims, length)
    flipped = [replace(each, begin=length - each.end, end=length - each.begin) for each in claims]
    back = _best(flipped, length)[::-1]
    score, ways = forward[length]
    found = []
    for each in claims:
        (before, left), (after, right) = forward[each.begin], back[each.end]
        whole = (before[0] + each.end - each.begin + after[0], before[1] - 1 + after[1])
        if whole == score and left * right == ways:
            found.append(each)
    return sorted(found, key=lambda each: each.begin)


def _best(claims: Sequence[Claim], length: int) -> list[tuple[tuple[int, int], int]]:
    """Return score and number of the best readings of the first 0, 1, ... words.

    A score is the number of words covered, and the negative number of claims.
    """
    best = [((0, 0), 1)]
    ending: dict[int, list[Claim]] = {}
    for each in claims:
        ending.setdefault(each.end, []).append(each)
    for end in range(1, length + 1):
        options = [best[end - 1]]
        for each in ending.get(end, ()):
            (covered, count), ways = best[each.begin]
            options.append(((covered + end - each.begin, count - 1), ways))
        score = max(option[0] for option in options)
        best.append((score, sum(ways for each, ways in options if each == score)))
    return best


# -- from a job to words


def size_words(workload: Workload, words: Sequence[str]) -> str:
    """Return advice to give the last of several sizes to another key; empty if none fits."""
    sizes = [word for word in words if _is_size(word)]
    terms = workload.from_terms().job_terms()
    other = next((each for each in terms if each.kind == "size" and not each.plain), None)
    if other is None or len(sizes) < 2:
        return ""
    ways = (f"{sizes[-1]} {each}" for each in (*reversed(other.words), other.label))
    said = next((each for each in ways if _reads(workload, each, {other.name: sizes[-1]})), "")
    return f"; {other.label}: {f'{said} or ' if said else ''}{other.name}={sizes[-1]}"


def words_for(tool: str, terms: Mapping[str, str]) -> str:
    """Return words that `job_in` reads as exactly these keys and values."""
    from tui import workloads

    workload = workloads.get(tool)
    from_terms = workload.from_terms()
    said, covered = [], set[str]()
    for words, names in from_terms.words_of_parts(terms).items():
        if _reads(workload, words, {name: terms[name] for name in names}):
            said.append(words)
            covered |= set(names)
    ahead: list[str] = []
    after: list[str] = []
    for term in from_terms.job_terms():
        if term.name in terms and term.name not in covered:
            place = ahead if term.kind == "size" and term.plain else after
            place.append(_term_words(workload, term, terms[term.name]))
    after.sort(key=lambda words: words.startswith("/"))  # the target last
    default = next(each for each in workloads.every() if each.from_terms().job_terms())
    text = " ".join([*([] if workload is default else [tool]), *ahead, *said, *after])
    found = job_in(text)
    if found is not None and found.is_whole and found.terms == terms:
        return text
    pairs = [shlex.quote(f"{name}={value}") for name, value in terms.items()]
    return " ".join([tool, *pairs])


def _term_words(workload: Workload, term: JobTerm, value: str) -> str:
    """Return words for one key with its value; ``key=value`` if there are no others."""
    word = shlex.quote(value)
    label = "" if "," in term.label else term.label
    ahead = term.kind in ("count", "size")
    options = [
        *([word] if term.plain or value in term.choices else []),
        *(each for each, meaning in term.means if meaning == value),
        *(each.replace("#", word) for each in term.words if "#" in each),
        *([f"{word} {each}" for each in (label, *term.words[-1:])] if ahead else []),
        f"{label} {word}",
    ]
    fine = (each for each in options if _reads(workload, each, {term.name: value}))
    return next(fine, shlex.quote(f"{term.name}={value}"))


def _reads(workload: Workload, text: str, terms: Mapping[str, str]) -> bool:
    """Return whether a text means exactly these keys and values."""
    found = read_words(workload, words_in(text))
    return found.is_whole and found.terms == terms
