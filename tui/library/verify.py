"""Verify a run, saved or packed: files, journal against raw output, record against journal. Unpack
runs.
"""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec

import tui
from tui.journal.fold import fold_all
from tui.journal.progress import plan_as_run
from tui.journal.reader import read_events
from tui.journal.rundir import load_plan, write_atomic
from tui.journal.state import RunState
from tui.library.build import build_record
from tui.library.load import load_record, with_texts
from tui.library.manifest import check, damaged, fingerprint
from tui.library.pack import PackedRun, read_pack
from tui.library.raw_output import raw_differences
from tui.library.runs import INDEX_FILE, Index, stamp_of
from tui.library.seal import FIGURES, VERDICT, check_seal, parts_not_as_sealed
from tui.library.summary import contradicted_fields
from tui.metrics.units import plural
from tui.model.bounded import NO_JSON, read_file
from tui.model.event import RunStarted
from tui.model.plain import printable, printable_lines
from tui.model.plain_data import format_utc, parse_utc
from tui.model.plan import Plan
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.record import RunRecord
from tui.model.rundir import (
    JOURNAL_FILE,
    ORIGIN_FILE,
    RECORD_FILE,
    SEAL_FILE,
    SUMMARY_FILE,
    begun_utc,
    own_begun_utc,
)

SAME = 1e-9  # rounding of another machine's floating point
SHOWN, SHOWN_TEXTS = 60, 3
EARLY_S, LATE_S = 2.0, 600.0  # of the start of a run, by the time in its ID: engines start slowly
# keys of older records, and what they are called now
FORMER_KEYS = {"limiter": "bottleneck", "remark": "caveat", "doubts": "contradictions"}
# sentences that benchtui words itself, by the end of their path
WORDED = re.compile(
    r"(\A|\.)(reason|meaning|shift_text|latency_meaning|binding|bottleneck|hold|why"
    r"|intended_reason|caveat|predicted|coverage_text|(bottleneck|answer|headline|proof"
    r"|limits\[\d+\]|rounds\[\d+\])\.(text|short)"
    r"|search(\.answer)?\.(notes|not_tried|contradictions)\[\d+\])\Z"
)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
CLOCK = re.compile(r"\b(?:(\d+):)?(\d+):(\d\d)\b")  # 1:02:03
SPAN = re.compile(r"\b(?:(\d+) h )?(\d+) min(?: (\d+) s)?\b")  # 2 min 3 s
# lists of texts to which a newer version may add some
GROWING = ("search.not_tried", "search.answer.not_tried")
# texts that were replaced by others with figures, by their path
FORMER_TEXTS = {"search.answer.hold": "not requested"}
# how messages of imports began, and how they begin now
FORMER_BEGINNINGS = {
    "only known as printed, with few digits: ": "rounded in the output, to few digits: "
}


def differences(
    kept: Any, derived: Any, path: str = "", reworded: list[str] | None = None
) -> Iterator[str]:
    """Yield ``steps[0].iops: 4 in run.json, 5 when derived`` for each value of `kept` that differs.

    Ignores values that only the derived record has, because a newer version added them. If
    `reworded` is a list, the paths of texts that differ only in wording are added to it instead.
    """
    if isinstance(kept, dict) and isinstance(derived, dict):
        for name, value in kept.items():
            key = name if name in derived else FORMER_KEYS.get(name, printable(name))
            place = f"{path}.{key}" if path else key
            if key not in derived:
                yield f"{place}: in run.json, but cannot be derived"
            else:
                yield from differences(value, derived[key], place, reworded)
    elif isinstance(kept, list) and isinstance(derived, list):
        if len(kept) > len(derived) or (len(kept) < len(derived) and path not in GROWING):
            yield f"{path}: {len(kept)} in run.json, {len(derived)} when derived"
        for place, (one, other) in enumerate(zip(kept, derived, strict=False)):
            yield from differences(one, other, f"{path}[{place}]", reworded)
    elif not _same(kept, derived):
        if path in FORMER_TEXTS and kept == FORMER_TEXTS[path]:
            return
        if reworded is not None and WORDED.search(path) and _is_reworded(path, kept, derived):
            reworded.append(path)
            return
        yield f"{path}: {_shown(kept)} in run.json, {_shown(derived)} when derived"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or not isinstance(one, int | float):
        return type(one) is type(other) and (bool(one == other) or _reads_as(one, other))
    if not isinstance(other, int | float):
        return False
    try:
        return math.isclose(one, other, rel_tol=SAME, abs_tol=SAME)
    except OverflowError:  # a whole number that no float holds
        return one == other


def _reads_as(kept: Any, derived: Any) -> bool:
    """Return whether a text that an older version saved with control characters displays like the
    derived one, or differs only in how such texts began.
    """
    if not isinstance(kept, str):
        return False
    now = [
        f"{new}{kept.removeprefix(old)}"
        for old, new in FORMER_BEGINNINGS.items()
        if kept.startswith(old)
    ]
    return derived in (printable(kept), printable_lines(kept), *now)


def _is_reworded(path: str, kept: Any, derived: Any) -> bool:
    """Return whether two texts have the same numbers; a newer headline may add the held load."""
    before, now = _numbers(kept), _numbers(derived)
    return before == now or (path == "headline.text" and bool(before) and before < now)


def _numbers(text: Any) -> Counter[str]:
    """Return the numbers of a text, with durations in seconds: ``1:05`` and ``1 min 5 s`` are
    equal.
    """
    if not isinstance(text, str):
        return Counter([repr(text)])
    return Counter(NUMBER.findall(SPAN.sub(_seconds, CLOCK.sub(_seconds, text))))


def _seconds(match: re.Match[str]) -> str:
    hours, minutes, seconds = (int(each or 0) for each in match.groups())
    return str(3600 * hours + 60 * minutes + seconds)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def leaves(document: Any) -> int:
    """Return the number of values in a document."""
    if isinstance(document, dict):
        return sum(map(leaves, document.values()))
    return sum(map(leaves, document)) if isinstance(document, list) else 1


RANK = {None: 0, "valid": 1, "valid-with-warnings": 2, "invalid": 3}
JUDGEMENTS = (
    "findings",
    "checks",
    "checks_not_made",
    "steps_not_checked",
    "hosts_not_checked",
    "verdict",
)


@dataclass
class Verified:
    """Result of a verification: counts and differences.

    `underived`: why nothing could be recomputed; empty if it was.
    """

    run_id: str
    differs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    underived: str = ""
    sealed_by: str = ""  # whose key, in words; empty: the run has no seal
    files: int = 0
    results: int = 0  # results and samples that were read again from the raw output
    values: int = 0  # values of run.json that were derived again
    judged_alike: bool = False  # verdict and findings were compared with derived ones

    @property
    def exit_code(self) -> int:
        """0 if authentic, 1 if anything differs, 3 if it cannot be recomputed."""
        return 1 if self.differs else 3 if self.underived else 0


def verify_run(run_dir: Path, own_key: Path | None = None) -> Verified:
    """Compare the record of a finished run with all data it was built from.

    `own_key`: key that seals runs on this machine. Raises BenchtuiError.
    """
    record = load_record(run_dir)
    found = Verified(printable(run_dir.name), files=len(record.provenance.artefacts))
    found.differs += damaged(run_dir, record.provenance.artefacts)
    try:
        found.sealed_by, changed = check_seal(run_dir, own_key)
    except OSError as error:
        raise BenchtuiError(
            f"{run_dir.name}: {error.filename}: cannot be read: {error.strerror}"
        ) from error
    found.differs += changed
    _compare_with_journal(run_dir, record, found)
    _compare_with_seal(run_dir, found)
    if changed or not found.sealed_by:
        found.differs += _begun_at_another_time(record)
    found.differs += _contradicted_caches(run_dir)
    return found


def _compare_with_journal(run_dir: Path, record: RunRecord, found: Verified) -> None:
    if not (run_dir / RECORD_FILE).exists():
        found.underived = f"it has no {RECORD_FILE} to compare with its journal"
    elif (run_dir / JOURNAL_FILE).exists():
        _derive_again(run_dir, found)
    elif record.state == "imported" and record.provenance.imported is not None:
        _import_again(run_dir, record, found)
    elif record.state == "imported":
        found.underived = (
            "imported by a version that did not save how its files were read; the files are"
            " unchanged"
        )
    else:
        found.underived = "it has no journal"


def _compare_with_seal(run_dir: Path, found: Verified) -> None:
    """Compare verdict, findings and figures with the sealed ones, whatever this version checks."""
    if not (run_dir / SEAL_FILE).exists():
        found.notes.append(
            f"not sealed (no {SEAL_FILE}): matching changes to several files would go unnoticed"
        )
        return
    if not (run_dir / RECORD_FILE).exists():
        return
    try:
        parts = parts_not_as_sealed(run_dir, read_file(run_dir / RECORD_FILE))
    except (OSError, *NO_JSON):
        found.differs.append(f"{RECORD_FILE}: cannot be compared with {SEAL_FILE}")
        return
    derived = {VERDICT: found.judged_alike, FIGURES: bool(found.values)}
    fits = not found.differs
    for part in parts:
        text = f"{RECORD_FILE}: {part} differ from the sealed ones"
        if fits and derived[part]:
            found.notes.append(f"{text}: this version derives them from the sealed journal")
        else:
            found.differs.append(text)


def _begun_at_another_time(record: RunRecord) -> Iterator[str]:
    """Yield a start of the run that does not fit the time in its ID.

    The ID is made just before the engine starts, whose first event has the start time; later
    engines of the run keep it. Only a clock that is set in between moves them apart, so an intact
    seal, which covers both, is believed. Imports are dated by their output.
    """
    named, created = own_begun_utc(record.run_id), record.created_utc
    begun = parse_utc(created) if created is not None else None
    if named is None or begun is None or record.state == "imported":
        return
    if not -EARLY_S <= (begun - named).total_seconds() <= LATE_S:
        yield (
            f"created_utc: {created} in {RECORD_FILE}, but the run ID {record.run_id} is of"
            f" {format_utc(named)}"
        )


def _contradicted_caches(run_dir: Path) -> Iterator[str]:
    """Yield caches for lists that contradict the record."""
    index = Index.read(run_dir.parent / INDEX_FILE)
    stamp = stamp_of(str(run_dir))
    indexed = index.find(run_dir.name, stamp) if stamp is not None else None
    found = {SUMMARY_FILE: contradicted_fields(run_dir)}
    if indexed is not None:
        found[INDEX_FILE] = contradicted_fields(run_dir, indexed)
    for name, fields in found.items():
        if fields:
            yield f"{name}: differs from {RECORD_FILE} in {', '.join(fields)}; remove this cache"


def _as_run(run_dir: Path, plan: Plan) -> Plan:
    """Return the plan as executed, including the points of a search from the journal."""
    if plan.search is None:
        return plan
    return plan_as_run(
        plan, fold_all(RunState(), read_events(run_dir / JOURNAL_FILE, stamps=True)).search
    )


def _derive_again(run_dir: Path, found: Verified) -> None:
    try:
        plan = load_plan(run_dir)
        found.results, differs = raw_differences(run_dir, _as_run(run_dir, plan))
        derived = build_record(run_dir)
        kept = _decoded(read_file(run_dir / RECORD_FILE))
        started = next(
            (
                event
                for event in read_events(run_dir / JOURNAL_FILE)
                if isinstance(event, RunStarted)
            ),
            None,
        )
    except OSError as error:
        raise BenchtuiError(
            f"{run_dir.name}: {error.filename}: cannot be read: {error.strerror}"
        ) from error
    found.differs += [
        *_of_another_run(run_dir.name, str(kept.get("run_id")), plan, started),
        *differs,
    ]
    _compare_values(kept, derived, found)


def _of_another_run(
    name: str, recorded: str, plan: Plan, started: RunStarted | None
) -> Iterator[str]:
    """Yield parts of a run directory that belong to another run: record, journal, plan.

    A renamed directory does not count.
    """
    if recorded != name and begun_utc(name) is not None:
        yield f"run_id: {recorded} in {RECORD_FILE}, but the directory belongs to {name}"
    if started is None:
        yield f"{JOURNAL_FILE}: has no run ID"
        return
    if started.run_id != recorded:
        yield f"run_id: {recorded} in {RECORD_FILE}, {started.run_id} in {JOURNAL_FILE}"
    if started.profile != plan.profile.tag:
        yield f"{JOURNAL_FILE}: has profile {started.profile}, but the plan has {plan.profile.tag}"
    hosts = [host.name for host in plan.hosts]
    if set(started.hosts) != set(hosts):
        yield (
            f"{JOURNAL_FILE}: has hosts {', '.join(started.hosts)}, but the plan has "
            f"{', '.join(hosts)}"
        )


def _import_again(run_dir: Path, record: RunRecord, found: Verified) -> None:
    """Read the files of an imported run as at import; changed files are skipped."""
    from tui.library.imported import read_again

    if found.differs:
        return
    try:
        found.results, derived = read_again(run_dir, record)
        kept = _decoded(read_file(run_dir / RECORD_FILE))
    except UsageError as error:
        found.differs += [f"cannot be imported again: {problem}" for problem in error.problems]
        return
    except OSError as error:
        raise BenchtuiError(
            f"{run_dir.name}: {error.filename}: cannot be read: {error.strerror}"
        ) from error
    derived.run_id = str(kept.get("run_id"))
    derived.notes = record.notes
    derived.provenance.benchtui_version = record.provenance.benchtui_version
    _fail_contradicted(record, derived)
    _compare_values(kept, derived, found)


def _fail_contradicted(record: RunRecord, derived: RunRecord) -> None:
    """Mark the steps as failed whose contradictions an earlier version kept as errors."""
    for before, step in zip(record.steps, derived.steps, strict=False):
        wrong = [each for each in before.errors if each.is_contradiction]
        if not wrong or all(each.id != "own-figures" for each in derived.findings):
            continue
        step.errors, step.state = [*step.errors, *wrong], before.state
        if step.metadata is not None and before.metadata is not None:
            step.metadata.final = before.metadata.final
        for host in step.tasks.keys() & before.tasks.keys():
            step.tasks[host].final = before.tasks[host].final


def _decoded(text: bytes | str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


def _compare_values(kept: dict[str, Any], derived: RunRecord, found: Verified) -> None:
    """Compare every saved value with the derived one, and add the differences to `found`."""
    text = derived.to_json()
    again = _with_kept_texts(kept, _decoded(text), _decoded(with_texts(text)))
    if kept.get("checks") != again["checks"]:
        _other_checks(kept, derived, found)
        kept = {name: value for name, value in kept.items() if name not in JUDGEMENTS}
    found.judged_alike = "verdict" in kept
    found.values = leaves(kept)
    version = (kept.get("provenance") or {}).get("benchtui_version")
    reworded = None if version == tui.__version__ else list[str]()
    found.differs += differences(kept, again, reworded=reworded)
    if reworded:
        found.notes.append(
            f"{plural(len(reworded), 'text')} of version {version} worded differently by"
            f" {tui.__version__}, with equal numbers: {', '.join(reworded[:SHOWN_TEXTS])}"
        )


def _with_kept_texts(kept: Any, again: Any, worded: Any) -> Any:
    """Return a derived value in which a code becomes a text wherever an older version kept one: the
    kept text or, if their numbers differ, this version's.

    `worded`: the derived value with this version's texts for codes.
    """
    if isinstance(kept, str) and isinstance(worded, str) and not isinstance(again, str):
        return kept if _numbers(kept) == _numbers(worded) else worded
    if isinstance(kept, dict) and isinstance(again, dict) and isinstance(worded, dict):
        former = {FORMER_KEYS.get(name, name): value for name, value in kept.items()}
        return {
            name: _with_kept_texts(former.get(name), value, worded[name])
            for name, value in again.items()
        }
    if isinstance(kept, list) and isinstance(again, list) and isinstance(worded, list):
        both = zip_longest(kept[: len(again)], again, worded)
        return [_with_kept_texts(*each) for each in both]
    return again


def _other_checks(kept: dict[str, Any], derived: RunRecord, found: Verified) -> None:
    """Compare only the verdict, if the run was judged by other checks.

    It must not be better than this version's verdict.
    """
    verdict = kept.get("verdict")
    found.notes.append(
        "judged with different checks from this version's: figures were compared, findings were not"
    )
    if verdict is not None and RANK.get(verdict, 0) < RANK[derived.verdict]:
        weakened = sorted({each.id for each in derived.findings if each.severity != "info"})
        found.differs.append(
            f"verdict: {verdict} in run.json, {derived.verdict} by the checks of this version"
            f" ({', '.join(weakened)})"
        )


def signer_of(packed: PackedRun, file: Path, signer: Path | None) -> str:
    """Return the signer of a packed run; empty if it is not signed.

    Raises BenchtuiError if the signature does not match or, with `signer`, if the run is not signed
    or signed by another.
    """
    try:
        if packed.signature is None:
            if signer is not None:
                raise BenchtuiError("not signed")
            return ""
        if signer is None:
            return f"{fingerprint(packed.text, packed.signature)}, not checked against any --signer"
        return check(packed.text, packed.signature, signer)
    except UsageError:
        raise
    except BenchtuiError as error:
        raise BenchtuiError(Problem(str(error), file=str(file))) from error


def unpack(file: Path, runs_dir: Path, signer: Path | None = None) -> tuple[Path, str]:
    """Unpack a run into `runs_dir`; return its directory and signer, which is empty if not signed.

    Raises BenchtuiError, also if the run exists there.
    """
    try:
        runs_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=runs_dir) as folder:
            made = Path(folder, "run")
            made.mkdir(mode=0o700)
            packed = read_pack(file, made)
            signed = signer_of(packed, file, signer)
            run_dir = runs_dir / packed.manifest.run_id
            if run_dir.exists() or run_dir.is_symlink():
                raise UsageError(Problem("a run of this name exists", file=str(run_dir)))
            write_atomic(made / ORIGIN_FILE, _origin(file, packed, signed))
            made.rename(run_dir)
    except OSError as error:
        raise BenchtuiError(
            Problem(f"cannot be written: {error.strerror}", file=str(runs_dir))
        ) from error
    return run_dir, signed


def _origin(file: Path, packed: PackedRun, signed: str) -> bytes:
    origin = {
        "file": file.name,
        "manifest_sha256": hashlib.sha256(packed.text).hexdigest(),
        "signed_by": signed,
        "packed_utc": packed.manifest.packed_utc,
        "unpacked_utc": format_utc(datetime.now(UTC)),
    }
    return msgspec.json.encode(origin) + b"\n"


def verify_pack(
    file: Path, signer: Path | None = None, own_key: Path | None = None
) -> tuple[Verified, str]:
    """Verify the run in a packed file; return the result and the signer. Raises BenchtuiError."""
    with _scratch() as folder:
        made = folder / "run"
        made.mkdir()
        packed = read_pack(file, made)
        signed = signer_of(packed, file, signer)
        run_dir = made.rename(folder / packed.manifest.run_id)
        return verify_run(run_dir, own_key), signed


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="benchtui-verify-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
