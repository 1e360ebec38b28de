"""JSON lines, told apart by `type`: what happens to the run, every second, at the end what came out."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tui.model.event import Event
from tui.model.exporter import Exporter, ExportFile, Second, Source, text_parts
from tui.model.record import RunRecord
from tui.model.utc import format_utc
from tui.results.export.live import moments

_encoder = msgspec.json.Encoder()


def line_of(moment: Second | Event | RunRecord) -> str:
    """Return a moment as a line, newline at the end."""
    return _encoder.encode(_document(moment)).decode() + "\n"


def _document(moment: Second | Event | RunRecord) -> object:
    if isinstance(moment, Event):
        return moment
    if isinstance(moment, RunRecord):
        said = moment.headline.model_dump() if moment.headline is not None else None
        findings = [finding.model_dump() for finding in moment.findings]
        known = {"state": moment.state, "reason": moment.reason, "verdict": moment.verdict}
        return {"type": "record", "run_id": moment.run_id, **known, "headline": said, "findings": findings}
    utc = None if moment.utc is None else format_utc(moment.utc)
    return {"type": "second", **{name: getattr(moment, name) for name in moment.__slots__}, "utc": utc}


def _files(source: Source) -> Iterator[ExportFile]:
    yield ExportFile(f"{source.record.run_id}.jsonl", text_parts(_lines(source)))


def _lines(source: Source) -> Iterator[str]:
    yield from map(line_of, moments(source.run_dir))
    yield line_of(source.record)


JSON_LINES = Exporter("JSON lines: events and every second, an object a line (jq, scripts)", _files, stream=line_of,
                      reads_files=True)  # fmt: skip
