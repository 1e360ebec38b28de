"""Load the record of a run from run.json, or build it from plan and journal."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationError

from tui.journal.rundir import is_running
from tui.library.seal import is_not_as_sealed
from tui.model.bounded import read_file
from tui.model.plain_data import PlainDecoder, is_plain_json
from tui.model.problem import BenchtuiError, Problem
from tui.model.record import Finding, LeftOutRecord, RunRecord, parse_record
from tui.model.rundir import RECORD_FILE
from tui.model.search_record import SearchRecord
from tui.model.step_record import BottleneckRecord
from tui.text.search import headline_text


class _Bottleneck(msgspec.Struct):
    bottleneck: dict[str, Any] | None = None


class _Judgement(msgspec.Struct):
    verdict: str | None = None
    findings: list[dict[str, Any]] = msgspec.field(default_factory=list)
    steps: list[_Bottleneck] = msgspec.field(default_factory=list)


_judged_decoder = PlainDecoder(_Judgement)


class KeptVerdict(msgspec.Struct, frozen=True):
    """Judgement of a run in its record; `bottleneck` is None if the run has several steps."""

    verdict: str | None
    findings: list[Finding]
    bottleneck: BottleneckRecord | None


def kept_verdict(run_dir: Path) -> KeptVerdict | None:
    """Return the verdict in run.json without parsing the rest; None if it cannot be read."""
    try:
        found = _judged_decoder.decode(read_file(run_dir / RECORD_FILE))
        limits = [each.bottleneck for each in found.steps]
        return KeptVerdict(
            found.verdict,
            [Finding.model_validate(each) for each in found.findings],
            BottleneckRecord.model_validate(limits[0]) if len(limits) == 1 and limits[0] else None,
        )
    except (OSError, ValueError):
        return None


def load_record(run_dir: Path) -> RunRecord:
    """Return the record of a run, from run.json or built from the journal.

    For a live run, it is always built from the journal, even if there is a run.json from before the
    run was resumed. Raises BenchtuiError.
    """
    path = run_dir / RECORD_FILE
    if is_running(run_dir):
        return record_so_far(run_dir)
    try:
        text = read_file(path)
    except FileNotFoundError:
        return record_so_far(run_dir)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from error
    try:
        record = parse_record(text)
        record.not_as_sealed = is_not_as_sealed(run_dir, text)
        return record
    except ValidationError as error:
        first = error.errors()[0]
        what = ": ".join(part for part in (".".join(map(str, first["loc"])), first["msg"]) if part)
        raise BenchtuiError(Problem(f"not a run record: {what}", file=str(path))) from error


def record_json(run_dir: Path, record: RunRecord | None = None) -> str:
    """Return run.json with the texts of findings and codes added; keys of newer versions are kept.

    If the file is missing or has unprintable characters: `record`, or the run's record as loaded,
    as JSON with the same texts. Raises BenchtuiError.
    """
    with suppress(FileNotFoundError):
        text = read_file(run_dir / RECORD_FILE)
        if is_plain_json(text):
            return with_texts(text.decode())
    return with_texts((record or load_record(run_dir)).to_json())


def with_texts(record: str) -> str:
    """Return a record as JSON with the texts of findings and of codes, which run.json does not
    contain.
    """
    from tui.judge.wording import message_of, proof_text, with_words
    from tui.model.step_record import ProofRecord, RoundsRecord
    from tui.text.run_texts import rounds_text

    document = with_words(msgspec.json.decode(record))
    proofs = [document.get("proves")]
    for step in document.get("steps") or ():
        _word_step(step)
        proofs.append((step.get("bottleneck") or {}).get("proof"))
    for proof in filter(None, proofs):
        proof["text"] = proof_text(ProofRecord.model_validate(proof))
    for each in (document.get("precondition") or {}).get("rounds") or ():
        each["text"] = rounds_text(RoundsRecord.model_validate(each))
    _word_headlines(document)
    for each in document.get("left_out") or ():
        each["reason"] = LeftOutRecord.model_validate(each).why
    for each in document.get("findings") or ():
        each["message"] = message_of(Finding.model_validate(each))
    return msgspec.json.encode(document).decode() + "\n"


def _word_headlines(document: dict[str, Any]) -> None:
    """Add the texts of the headlines of a run and its points, and of the answer of a search."""
    from tui.model.record import HeadlineRecord
    from tui.record.headline import headline_texts

    search = SearchRecord.model_validate(document["search"]) if document.get("search") else None
    if search is not None and search.answer is not None:
        document["search"]["answer"]["text"] = headline_text(search)
    points = (document.get("matrix") or {}).get("cells") or ()
    for each, of_search in [(document, search), *((point, None) for point in points)]:
        if each.get("headline"):
            texts = headline_texts(HeadlineRecord.model_validate(each["headline"]), of_search)
            each["headline"] |= zip(("text", "short"), texts, strict=True)


def _word_step(step: dict[str, Any]) -> None:
    """Add the texts about host losses, and about figures of an MPI benchmark, to a step."""
    from tui.model.step_record import CoverageRecord, MetadataRecord
    from tui.record.headline import coverage_text, meanings

    covered = [CoverageRecord.model_validate(each) for each in step.get("coverage") or ()]
    step["coverage_text"] = step.get("coverage_text") or coverage_text(covered)
    if step.get("metadata"):
        step["metadata"] |= meanings(MetadataRecord.model_validate(step["metadata"]))


def record_so_far(run_dir: Path) -> RunRecord:
    """Build the record from the current journal. Raises BenchtuiError."""
    # half a second of CPU, saved if a record exists
    from tui.library.build import build_record

    return build_record(run_dir, running=is_running(run_dir))
