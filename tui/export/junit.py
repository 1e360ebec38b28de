"""A run as JUnit XML: its state, checks and thresholds as test cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.analysis.criteria import criteria_of, judge
from tui.judge.catalogue import BY_ID
from tui.judge.wording import message_of, reasons_of
from tui.model.exporter import Exporter, ExportFile, ExportSource
from tui.model.record import Finding, RunRecord
from tui.record.headline import told_headline
from tui.text.junit import Case, Suite, junit_xml
from tui.text.run_texts import run_text


def _files(source: ExportSource) -> Iterator[ExportFile]:
    yield ExportFile(
        f"{source.record.run_id}.junit.xml", [junit_xml([suite_of(source.record)]).encode()]
    )


def suite_of(record: RunRecord) -> Suite:
    """Return a run as a test suite.

    A case fails if its check found an error, and is skipped if the check did not run; its output
    lists the findings. The profile's thresholds are also cases, unless they are relative to another
    run.
    """
    by_check: dict[str, list[Finding]] = {}
    for finding in record.findings:
        by_check.setdefault(finding.id, []).append(finding)
    made = list(dict.fromkeys([*(record.checks or ()), *by_check]))
    left = {
        name: why for name, why in reasons_of(record.checks_not_made).items() if name not in made
    }
    cases = [
        _state(record),
        *(_judged(name, by_check.get(name, ())) for name in made),
        *(Case(_title(name), "skipped", why, group="checks") for name, why in left.items()),
        *(each.case for each in judge([], [record], criteria_of([record]))),
    ]
    properties = {
        "run_id": record.run_id,
        "profile": record.profile.tag,
        "verdict": record.verdict or "not judged",
        "headline": told_headline(record),
        "hosts": ", ".join(host.name for host in record.hosts),
    }
    return Suite(record.profile.tag, cases, record.created_utc, record.duration_s, properties)


def _state(record: RunRecord) -> Case:
    good = record.state in ("complete", "imported", "baseline")
    return Case(
        "the run is complete",
        "passed" if good else "failed",
        run_text(record.reason) or record.state,
        group="run",
    )


def _judged(name: str, found: Sequence[Finding]) -> Case:
    detail = "\n".join(f"{finding.severity}: {message_of(finding)}" for finding in found)
    errors = [message_of(finding) for finding in found if finding.severity == "error"]
    if errors:
        return Case(_title(name), "failed", errors[0], group="checks", detail=detail)
    return Case(_title(name), "passed", group="checks", detail=detail)


def _title(name: str) -> str:
    check = BY_ID.get(name)
    return f"{name} {check.title}" if check is not None else name


JUNIT = Exporter(
    "checks as test cases",
    _files,
    tools="Jenkins, GitLab, GitHub",
    details="JUnit XML of the state, the checks and the thresholds of the profile",
)
