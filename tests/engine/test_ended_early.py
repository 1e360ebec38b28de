"""A point that says enough is ended: what its tool says of that is no news, on any host."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tui.engine.session.task import TaskOutput


@pytest.mark.parametrize(
    ("ended_by_us", "told"), [(True, ["disk full"]), (False, ["fio ends early", "disk full"])]
)
def test_that_a_tool_ends_early_is_told_unless_we_ended_it(
    ended_by_us: bool, told: list[str]
) -> None:
    said: list[str] = []
    session = SimpleNamespace(say=lambda severity, text: said.append(text))
    task = cast(Any, SimpleNamespace(ended_by_us=ended_by_us, session=session, _tool="fio"))
    TaskOutput.journal(task, [("info", "fio ends early"), ("error", "disk full")])
    assert said == told
