"""Every finding of these tests must have a text that fits its operands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tui.judge.check import Check, CheckResult
from tui.judge.wording import message_of
from tui.model.record import Finding
from tui.model.step_record import Scalar
from tui.text import form


@pytest.fixture(autouse=True)
def _told(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[Finding] = []
    usual = Check._finding

    def finding(check: Check, found: CheckResult, scope: dict[str, Scalar]) -> Finding:
        made.append(usual(check, found, scope))
        return made[-1]

    monkeypatch.setattr(Check, "_finding", finding)
    yield
    unknown: list[str] = []

    def by_name(code: str, _: object) -> str:
        unknown.append(code)
        return code

    monkeypatch.setattr(form, "_by_name", by_name)
    assert all(map(message_of, made)) and unknown == []
