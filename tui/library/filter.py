"""Filter runs by words and key:value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from msgspec import Struct

from tui.library.summary import RunSummary
from tui.model.check_names import check_name
from tui.model.problem import UsageError, did_you_mean

Test = Callable[[RunSummary], bool]
TOKEN = re.compile(r'(?=\S)(?P<no>-)?(?:(?P<key>[a-z]+):)?(?:"(?P<quoted>[^"]*)"?|(?P<word>\S*))')
HELP = """\
words, all of which must occur in a run, and:
  tag:NAME[=VALUE]  profile:TAG  host:NAME  target:TEXT  title:TEXT  note:TEXT
  finding:ID  owner:NAME
  verdict:valid|clean|warnings|invalid|none; valid is clean or warnings, none is not judged
  state:complete|partial|aborted|failed|imported|running|...  is:starred  is:mine  date:DAY
  since:WHEN  until:WHEN, where WHEN is today, yesterday, 7d, 12h, 2w, 2026-11-20,
  2026-11 or 2026-11-20T10:15, in UTC as the list shows it
* and ? stand for any text, commas separate alternatives, - before a part negates it,
quotes keep spaces"""
WITH_WARNINGS = "valid-with-warnings"
VERDICTS: dict[str, tuple[str | None, ...]] = {
    "valid": ("valid", WITH_WARNINGS), "clean": ("valid",), "warnings": (WITH_WARNINGS,),
    "invalid": ("invalid",),
    "none": (None,), WITH_WARNINGS: (WITH_WARNINGS,),
}  # fmt: skip
STATES = (
    "complete", "partial", "aborted", "failed", "imported", "baseline", "running", "interrupted",
    "unreadable",
)  # fmt: skip
AGO = re.compile(r"(\d{1,6})([hdw])")
HOURS = {"h": 1, "d": 24, "w": 168}
DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)Z?)?)?)?")
STAMP = "%Y-%m-%dT%H:%M:%S"


class Filter(Struct, frozen=True):
    """Conditions that a run must meet."""

    tests: tuple[Test, ...] = ()

    def __call__(self, run: RunSummary) -> bool:
        """Return whether a run meets all conditions."""
        return all(test(run) for test in self.tests)


def parse(text: str, now: datetime | None = None) -> Filter:
    """Parse a filter. Raises UsageError for an unknown key or value."""
    now = now or datetime.now(UTC)
    return Filter(tuple(_test(match, now) for match in TOKEN.finditer(text)))


def _test(match: re.Match[str], now: datetime) -> Test:
    key, word = match["key"], match["quoted"] if match["quoted"] is not None else match["word"]
    test = _word(word) if key is None else _keyed(key, word, now)
    return (lambda run: not test(run)) if match["no"] and (word or key) else test


def _keyed(key: str, value: str, now: datetime) -> Test:
    if key not in KEYS:
        raise UsageError(
            f"unknown filter key '{key}:'{did_you_mean(key, KEYS)}; known: {', '.join(KEYS)}"
        )
    if not value:
        return lambda _: True  # still being typed
    return KEYS[key](value, now)


def _word(word: str) -> Test:
    wanted = word.lower()
    return lambda run: wanted in haystack(run)


def haystack(run: RunSummary) -> str:
    """Return the text in which words are searched."""
    tags = (f"{name}={value}" if value else name for name, value in run.tags.items())
    texts = (
        run.run_id,
        run.profile,
        run.title,
        run.state,
        run.headline,
        run.target,
        run.owner,
        run.weakened_by,
    )
    return "\n".join((*texts, *run.notes, *run.hosts, *tags)).lower()


def _texts(of: Callable[[RunSummary], list[str]]) -> Callable[[str, datetime], Test]:
    """Return a key that matches parts of texts; a value with ``*`` or ``?`` must match a whole
    text.
    """

    def make(value: str, _: datetime) -> Test:
        wanted = [_matcher(part) for part in value.lower().split(",") if part]
        return lambda run: any(fits(text.lower()) for text in of(run) for fits in wanted)

    return make


def _matcher(part: str) -> Callable[[str], bool]:
    if "*" in part or "?" in part:
        return lambda text: fnmatchcase(text, part)
    return lambda text: part in text


def _tag(value: str, _: datetime) -> Test:
    wanted = [part.lower().partition("=") for part in value.split(",") if part]

    def holds(run: RunSummary) -> bool:
        tags = {name.lower(): text.lower() for name, text in run.tags.items()}
        return any(_tag_fits(tags, name, text, exact=bool(equals)) for name, equals, text in wanted)

    return holds


def _tag_fits(tags: dict[str, str], name: str, text: str, *, exact: bool) -> bool:
    return any(
        fnmatchcase(known, name) and (not exact or fnmatchcase(of_known, text))
        for known, of_known in tags.items()
    )


def _choice(
    what: str, known: Mapping[str, tuple[str | None, ...]], of: Callable[[RunSummary], str | None]
) -> Callable[[str, datetime], Test]:
    def make(value: str, _: datetime) -> Test:
        wanted: set[str | None] = set()
        for part in filter(None, value.lower().split(",")):
            if part not in known:
                meant = did_you_mean(part, known)
                raise UsageError(f"unknown {what} '{part}'{meant}; known: {', '.join(known)}")
            wanted.update(known[part])
        return lambda run: of(run) in wanted

    return make


def _is(value: str, _: datetime) -> Test:
    kinds: dict[str, Test] = {"starred": lambda run: run.starred, "mine": lambda run: not run.owner}
    if value not in kinds:
        raise UsageError(
            f"unknown 'is:{value}'{did_you_mean(value, kinds)}; known: {', '.join(kinds)}"
        )
    return kinds[value]


# -- dates


def _since(value: str, now: datetime) -> Test:
    begin, _ = span_of(value, now)
    return lambda run: run.utc is not None and run.utc >= begin


def _until(value: str, now: datetime) -> Test:
    _, end = span_of(value, now)
    return lambda run: run.utc is not None and run.utc < end


def _on(value: str, now: datetime) -> Test:
    begin, end = span_of(value, now)
    if begin == end:  # so long ago, until now
        return _since(value, now)
    return lambda run: run.utc is not None and begin <= run.utc < end


def span_of(text: str, now: datetime) -> tuple[str, str]:
    """Return start and end of a date as UTC stamps, which compare as text.

    ``7d`` is a single moment in the past. Raises UsageError.
    """
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"today": today, "yesterday": today - timedelta(days=1)}
    if text in days:
        return _stamps(days[text], days[text] + timedelta(days=1))
    try:
        if ago := AGO.fullmatch(text):
            moment = now - timedelta(hours=int(ago[1]) * HOURS[ago[2]])
            return _stamps(moment, moment)
        if date := DATE.fullmatch(text):
            return _stamps(*_calendar([int(part) for part in date.groups() if part is not None]))
    except (ValueError, OverflowError):
        pass
    raise UsageError(
        f"'{text}' is not a date; allowed: today, yesterday, 7d, 12h, 2w, 2026-11-20,"
        " 2026-11, 2026-11-20T10:15"
    )


def _calendar(parts: list[int]) -> tuple[datetime, datetime]:
    """Return start and end of the year, month, day or minute that these numbers give."""
    year, month, day, hour, minute = [*parts, *(1, 1, 1, 0, 0)[len(parts) :]]
    begin = datetime(year, month, day, hour, minute, tzinfo=UTC)
    if len(parts) == 1:
        return begin, begin.replace(year=year + 1)
    if len(parts) == 2:
        return begin, (begin + timedelta(days=31)).replace(day=1)
    return begin, begin + (timedelta(days=1) if len(parts) == 3 else timedelta(minutes=1))


def _stamps(begin: datetime, end: datetime) -> tuple[str, str]:
    return begin.strftime(STAMP), end.strftime(STAMP)


def _finding(value: str, now: datetime) -> Test:
    named = ",".join(check_name(part) for part in value.split(","))
    return _texts(lambda run: [found.id for found in run.findings])(named, now)


KEYS: dict[str, Callable[[str, datetime], Test]] = {
    "tag": _tag,
    "profile": _texts(lambda run: [run.profile]),
    "host": _texts(lambda run: run.hosts),
    "target": _texts(lambda run: [run.target]),
    "title": _texts(lambda run: [run.title]),
    "note": _texts(lambda run: run.notes),
    "finding": _finding,
    "owner": _texts(lambda run: [run.owner]),
    "verdict": _choice("verdict", VERDICTS, lambda run: run.shown_verdict),
    "state": _choice("state", {state: (state,) for state in STATES}, lambda run: run.state),
    "is": _is,
    "date": _on,
    "since": _since,
    "until": _until,
}
