"""Summary of a run for lists, its marks (star, title, tags), and sort orders."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict

from tui.journal.rundir import is_run_dir, is_running, write_atomic
from tui.library.record_head import (
    FindingSummary,
    HeadlineHead,
    RecordHead,
    SearchHead,
    SummaryState,
    Verdict,
    figures_of,
    findings_of,
    params_of,
    setup_of,
)
from tui.library.seal import is_not_as_sealed
from tui.model.bounded import MOST_SMALL_BYTES, NO_JSON, read_file
from tui.model.check_names import check_name
from tui.model.operands import Clause
from tui.model.plain_data import PlainDecoder
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import (
    JOURNAL_FILE,
    MARKS_FILE,
    PID_FILE,
    PLAN_FILE,
    RECORD_FILE,
    SEAL_FILE,
    SUMMARY_FILE,
    begun_utc,
)
from tui.text.run_texts import run_text

if TYPE_CHECKING:
    from tui.model.record import RunRecord

LONGEST_TITLE = 200
LONGEST_TAG = 100


class RunMarks(Struct, omit_defaults=True):
    """Content of the marks file. `tags` are all tags of the run; None means the tags given at
    launch.
    """

    starred: bool = False
    title: str = ""
    tags: dict[str, str] | None = None


_decoder = PlainDecoder(RunMarks)


def read_marks(run_dir: Path) -> RunMarks:
    """Return the marks of a run; defaults if the file cannot be read."""
    try:
        # a Path slows lists down
        return _decoder.decode(read_file(f"{run_dir}/{MARKS_FILE}", MOST_SMALL_BYTES))
    except (OSError, *NO_JSON):
        return RunMarks()


def with_tags(record: RunRecord, marks: RunMarks) -> RunRecord:
    """Return the record with the run's current tags."""
    return record if marks.tags is None else record.model_copy(update={"tags": marks.tags})


def change_marks(run_dir: Path, change: Callable[[RunMarks], object]) -> None:
    """Change the marks of a run. Raises BenchtuiError if they cannot be read or written."""
    path = run_dir / MARKS_FILE
    try:
        with _in_turn(run_dir):
            marks = _kept_marks(path)
            change(marks)
            write_atomic(path, msgspec.json.encode(marks) + b"\n")
    except OSError as error:
        raise BenchtuiError(
            Problem(f"cannot be written: {error.strerror}", file=str(path))
        ) from error


def _kept_marks(path: Path) -> RunMarks:
    """Read the marks of a run in order to change them.

    Raises OSError, and BenchtuiError for a file that a change would destroy.
    """
    try:
        return _decoder.decode(read_file(path, MOST_SMALL_BYTES))
    except FileNotFoundError:
        return RunMarks()
    except NO_JSON as error:
        why = f"is damaged ({error}): repair or remove it"
        raise BenchtuiError(Problem(why, file=str(path))) from error


@contextmanager
def _in_turn(run_dir: Path) -> Iterator[None]:
    """Serialise changes to a run, if the file system can lock directories."""
    descriptor = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # NFS has none
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def star(run_dir: Path, *, starred: bool) -> None:
    """Star a run, or remove the star."""

    def change(marks: RunMarks) -> None:
        marks.starred = starred

    change_marks(run_dir, change)


def rename(run_dir: Path, title: str) -> None:
    """Set the title of a run; an empty title removes it. Raises UsageError."""
    clean = " ".join(title.split())
    if len(clean) > LONGEST_TITLE or not clean.isprintable():
        raise UsageError(f"a title must be one line of at most {LONGEST_TITLE} characters")

    def change(marks: RunMarks) -> None:
        marks.title = clean

    change_marks(run_dir, change)


def retag(run_dir: Path, tags: Mapping[str, str]) -> None:
    """Replace all tags of a run."""

    def change(marks: RunMarks) -> None:
        marks.tags = dict(tags)

    change_marks(run_dir, change)


def parse_tags(words: Sequence[str]) -> dict[str, str]:
    """Parse ``NAME`` and ``NAME=VALUE`` words to tags. Raises UsageError."""
    tags = {}
    for word in words:
        name, _, value = word.partition("=")
        if (
            not name
            or any(each in name for each in " ,\"':")
            or not word.isprintable()
            or len(word) > LONGEST_TAG
        ):
            raise UsageError(
                f"{word!r} is not a tag; expected NAME or NAME=VALUE, the name without spaces,"
                f" commas, quotes or colons, at most {LONGEST_TAG} characters in all"
            )
        tags[name] = value
    return tags


def tags_text(tags: Mapping[str, str]) -> str:
    """Return tags as typed: ``lab=a nightly``."""
    return " ".join(f"{name}={value}" if value else name for name, value in tags.items())


# of summary.json; older files have no or other values of these: figures, setup, mark of records
# that are not as sealed, digest, caveats, parameters, points of findings
FORMAT = 12
NAMED_FINDINGS = 2
OF_MARKS = ("starred", "title", "tags")  # fields that the marks file may change
STARTING_S = 30.0  # how long a new run may take until its engine says who it is


NOT_SEALED = "NOT SEALED:"  # before a verdict that is not the sealed one
MARKS = {"valid": "valid", "valid-with-warnings": "!", "invalid": "INVALID"}


class RunSummary(Struct, gc=False):  # no cycles, and lists are long
    """One line in a list of runs.

    `duration_s` of a live run is the time until now. `checks` are the names of the checks that ran;
    None if not judged, or written by a version that did not store them. `directory` and `owner` are
    set for runs in shared directories; `problem` is why a run cannot be read.
    """

    run_id: str
    utc: str | None
    profile: str
    hosts: list[str]
    state: SummaryState
    headline: str = ""  # for people: "read 390k IOPS"
    headline_value: float | None = None
    headline_unit: str = ""  # iops, bytes_per_s, ns
    headline_short: str = ""  # where `headline` is long: "48.2k IOPS ±2.1%"
    # this and the two below: of the step and direction of the headline
    bw_bytes_per_s: float | None = None
    p99_ns: int | None = None
    # means of equal parts of the measured time
    iops_over_time: list[float | None] = field(default_factory=list)
    duration_s: float | None = None
    note: str = ""  # the newest
    tags: dict[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None
    checks: list[str] | None = None
    findings: list[FindingSummary] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # oldest first
    target: str = ""
    reason: Clause | str = ""  # reason of its state
    title: str = ""
    starred: bool = False
    owner: str = ""
    directory: str = ""
    problem: str = ""
    not_as_sealed: bool = False  # seal missing, or verdict, findings or figures differ
    caveats: list[str] = field(default_factory=list)  # of the result of a search: codes
    # digest of how it was measured; empty if unknown
    setup: str = ""
    params: dict[str, str] = field(default_factory=dict)  # as people write them

    @property
    def why(self) -> str:
        """Reason of its state as text."""
        return run_text(self.reason)

    @property
    def shown_verdict(self) -> Verdict | None:
        """Verdict as lists show it: the result of a search with caveats is not plainly valid."""
        return "valid-with-warnings" if self.verdict == "valid" and self.caveats else self.verdict

    @property
    def judged(self) -> str:
        """Verdict and reason: ``valid``, ``! straggler``, ``INVALID host-loss +1``; empty if not
        judged.
        """
        shown = self.shown_verdict
        text = f"{MARKS[shown]} {self.weakened_by}".strip() if shown is not None else ""
        return f"{NOT_SEALED} {text}".rstrip() if self.not_as_sealed else text

    @property
    def weakened_by(self) -> str:
        """Checks with errors or warnings, errors first: ``host-loss, straggler +1``; notes do not
        count. Caveats of a search come before warnings.
        """
        ids = list(dict.fromkeys(each.id for each in self.findings if each.severity == "error"))
        ids += self.caveats if self.verdict != "invalid" else []
        ids += dict.fromkeys(
            each.id for each in self.findings if each.severity == "warning" and each.id not in ids
        )
        more = f" +{len(ids) - NAMED_FINDINGS}" if len(ids) > NAMED_FINDINGS else ""
        return ", ".join(ids[:NAMED_FINDINGS]) + more


class _CachedSummary(Struct):
    """Content of summary.json: the summary, its digest and format, and stamps of the run.json and
    seal it was made from.
    """

    record_bytes: int
    record_mtime_ns: int
    summary: msgspec.Raw
    format: int = 0
    seal_mtime_ns: int = 0
    digest: str = ""  # of the summary: an edited one is computed again


_cached_decoder = msgspec.json.Decoder(_CachedSummary)  # without its text
_summary_decoder = PlainDecoder(RunSummary)
_head_decoder = PlainDecoder(RecordHead)


def summarize(run_dir: Path, *, keep: bool = True) -> RunSummary | None:
    """Return the summary of a run directory; None if it contains no run.

    `keep`: save a summary that had to be computed from the record.
    """
    summary = _derived(run_dir, keep=keep)
    if summary is not None:
        marks = read_marks(run_dir)
        summary.starred, summary.title = marks.starred, marks.title
        summary.tags = summary.tags if marks.tags is None else marks.tags
    return summary


def _derived(run_dir: Path, *, keep: bool) -> RunSummary | None:
    if (run_dir / PID_FILE).exists() and is_running(run_dir):
        return _unfinished(run_dir, "running")
    try:
        stat = (run_dir / RECORD_FILE).stat()
    except (FileNotFoundError, NotADirectoryError):
        if not is_run_dir(run_dir):
            return None
        return _unfinished(run_dir, "running" if is_starting(run_dir) else "interrupted")
    except OSError as error:
        return unreadable(run_dir, f"{RECORD_FILE} cannot be read: {error.strerror}")
    return _cached(run_dir, stat) or (renew_summary if keep else _from_record)(run_dir)


def _cached(run_dir: Path, stat: os.stat_result) -> RunSummary | None:
    try:
        cached = _cached_decoder.decode(read_file(run_dir / SUMMARY_FILE, MOST_SMALL_BYTES))
        kept = (cached.record_bytes, cached.record_mtime_ns, cached.format, cached.seal_mtime_ns)
        fits = kept == (stat.st_size, stat.st_mtime_ns, FORMAT, _sealed_at(run_dir))
        if not fits or cached.digest != _digest(text := bytes(cached.summary)):
            return None
        summary = _summary_decoder.decode(text)
    except (OSError, *NO_JSON):
        return None
    # a directory may have been renamed, and its name is what people type
    summary.run_id = run_dir.name
    return summary


def _digest(summary: bytes) -> str:
    return hashlib.blake2b(summary, digest_size=16).hexdigest()


def contradicted_fields(run_dir: Path, cached: RunSummary | None = None) -> list[str]:
    """Return the fields in which a cached summary differs from run.json.

    The default is the summary in summary.json. Empty if lists would not use it, because it belongs
    to another record.
    """
    if cached is None and (run_dir / RECORD_FILE).is_file():
        cached = _cached(run_dir, (run_dir / RECORD_FILE).stat())
    if cached is None:
        return []
    derived = _from_record(run_dir)
    return [
        name
        for name in RunSummary.__struct_fields__
        if name not in OF_MARKS and getattr(cached, name) != getattr(derived, name)
    ]


def _sealed_at(run_dir: Path) -> int:
    try:
        return os.stat(f"{run_dir}/{SEAL_FILE}").st_mtime_ns  # noqa: PTH116  (a Path costs a list time)
    except OSError:
        return 0


def _from_record(run_dir: Path) -> RunSummary:
    try:
        text = read_file(run_dir / RECORD_FILE)
        head = _head_decoder.decode(text)
        headline = head.headline or HeadlineHead()
        said, short = _headline_texts(headline, head.search)
        caveats = _caveats(head.search)
    except (OSError, *NO_JSON) as error:
        why = (
            f"cannot be read: {error.strerror}"
            if isinstance(error, OSError)
            else f"not a run record: {error}"
        )
        return unreadable(run_dir, f"{RECORD_FILE} {why}")
    return RunSummary(
        run_id=run_dir.name,
        utc=head.created_utc,
        profile=head.profile.tag,
        hosts=[host.name for host in head.hosts],
        state=head.state,
        headline=said,
        headline_short=short,
        headline_value=headline.value,
        headline_unit=headline.unit,
        duration_s=head.duration_s,
        note=head.notes[-1].text if head.notes else "",
        tags=head.tags,
        verdict=head.verdict,
        checks=[*map(check_name, head.checks)] if head.checks is not None else None,
        findings=findings_of(head),
        notes=[note.text for note in head.notes],
        target=head.target or "",
        reason=head.reason,
        not_as_sealed=is_not_as_sealed(run_dir, text),
        caveats=caveats,
        setup=setup_of(head),
        params=params_of(head),
        **asdict(figures_of(head.steps, headline)),
    )


def _headline_texts(headline: HeadlineHead, search: dict[str, Any] | None) -> tuple[str, str]:
    """Return the headline as text and in few characters. Raises ValueError for a bad search."""
    from tui.record.headline import headline_texts  # a list from cached summaries needs none

    if search is None or headline.text is not None:
        return headline_texts(headline, None)
    from tui.model.search_record import SearchRecord  # its models take long to load

    return headline_texts(headline, SearchRecord.model_validate(search))


def unreadable(run_dir: Path, why: str) -> RunSummary:
    """Return the summary of a run that cannot be read."""
    return RunSummary(run_dir.name, _utc_of_id(run_dir.name), "", [], "unreadable", problem=why)


def _caveats(search: dict[str, Any] | None) -> list[str]:
    """Return the caveats of a search as codes. Raises ValueError for a bad search."""
    return msgspec.convert(search, SearchHead).caveats if search is not None else []


def renew_summary(run_dir: Path) -> RunSummary:
    """Derive the summary from run.json, save it if it can be, and return it."""
    summary = _from_record(run_dir)
    if not summary.problem:
        with suppress(OSError):  # a store that cannot be written can still be listed
            write_summary(run_dir, summary)
    return summary


def write_summary(run_dir: Path, summary: RunSummary) -> None:
    """Save the summary of the current run.json, so that lists need not read the record."""
    stat = (run_dir / RECORD_FILE).stat()
    text = msgspec.json.encode(summary)
    cached = _CachedSummary(
        stat.st_size,
        stat.st_mtime_ns,
        msgspec.Raw(text),
        FORMAT,
        _sealed_at(run_dir),
        _digest(text),
    )
    write_atomic(run_dir / SUMMARY_FILE, msgspec.json.encode(cached))


def is_starting(run_dir: Path) -> bool:
    """Return whether a run is so new that its engine may not have reported yet."""
    begun = (run_dir / PID_FILE).exists() or (run_dir / JOURNAL_FILE).exists()
    age_s = datetime.now(UTC).timestamp() - run_dir.stat().st_mtime
    return not begun and 0 <= age_s < STARTING_S


def _unfinished(run_dir: Path, state: SummaryState) -> RunSummary:
    from tui.model.plan import parse_plan  # most lists have no such run

    utc = _utc_of_id(run_dir.name)
    summary = RunSummary(run_dir.name, utc, "", [], state)
    with suppress(OSError, *NO_JSON):
        plan = parse_plan(read_file(run_dir / PLAN_FILE))
        summary.profile, summary.hosts = plan.profile.tag, [host.name for host in plan.hosts]
        summary.note, summary.tags, summary.target = (
            plan.note or "",
            dict(plan.tags),
            plan.target or "",
        )
        summary.notes = [plan.note] if plan.note else []
        summary.params = {name: text for name, text in plan.texts.items() if text != "***"}
    if state == "running" and utc is not None:
        summary.duration_s = max(
            0.0, (datetime.now(UTC) - datetime.fromisoformat(utc)).total_seconds()
        )
    return summary


def _utc_of_id(run_id: str) -> str | None:
    begun = begun_utc(run_id)
    return None if begun is None else begun.isoformat().replace("+00:00", "Z")


WORST_FIRST = ("invalid", "valid-with-warnings", "valid", None)
FURTHEST_FIRST = (
    "running",
    "interrupted",
    "unreadable",
    "failed",
    "aborted",
    "partial",
    "complete",
)
LESS_IS_BETTER = ("ns",)  # units of headlines


class Order(Struct, frozen=True):
    """A sort order; with `falling`, the largest comes first."""

    key: Callable[[RunSummary], Any]
    falling: bool = False


def by_name(of: Callable[[RunSummary], str]) -> Order:
    """Return an order by text; runs with an empty text come last."""
    return Order(lambda run: (not of(run), of(run).lower()))


def most_first(of: Callable[[RunSummary], float | None]) -> Order:
    """Return a sort order by a numeric value, largest first; runs without the figure come last."""
    return Order(lambda run: (of(run) is None, -(of(run) or 0.0)))


def _headline(run: RunSummary) -> tuple[bool, str, float]:
    value = run.headline_value
    if value is None:
        return True, "", 0.0
    return False, run.headline_unit, value if run.headline_unit in LESS_IS_BETTER else -value


ORDERS: dict[str, Order] = {
    "started": Order(lambda run: (run.utc or "", run.run_id), falling=True),
    "profile": by_name(lambda run: run.profile),
    "tags": by_name(lambda run: tags_text(run.tags)),
    "target": by_name(lambda run: run.target),
    "title": by_name(lambda run: run.title),
    "state": Order(
        lambda run: (
            FURTHEST_FIRST.index(run.state) if run.state in FURTHEST_FIRST else len(FURTHEST_FIRST)
        )
    ),
    "verdict": Order(lambda run: WORST_FIRST.index(run.shown_verdict)),
    "hosts": Order(lambda run: len(run.hosts), falling=True),
    "headline": Order(_headline),  # the best of each unit first
    "bandwidth": most_first(lambda run: run.bw_bytes_per_s),
    "p99": Order(lambda run: (run.p99_ns is None, run.p99_ns or 0)),
    "time": Order(lambda run: run.duration_s or 0.0, falling=True),
    "star": Order(lambda run: not run.starred),
    "owner": Order(lambda run: run.owner.lower()),  # our own first
}


def ordered(runs: Sequence[RunSummary], name: str, *, reverse: bool = False) -> list[RunSummary]:
    """Return runs in the order of this name in `ORDERS`; equal ones keep their order. Raises
    KeyError.
    """
    order = ORDERS[name]
    return sorted(runs, key=order.key, reverse=order.falling != reverse)
