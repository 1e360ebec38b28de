"""What the engine says of a measured step to those who judge it as a point of a search."""

from __future__ import annotations

from msgspec.structs import replace

from tests.app.journal_maker import plan_of
from tui.engine.run.search import failed_ios, split_of
from tui.model.event import HostResult
from tui.model.plan import JobLoad


def result(errors: list[int], failed: int | None) -> HostResult:
    return HostResult(t=0.0, host="h1", step=0, dirs={}, errors=errors, failed_ios=failed)


def test_errors_of_a_point_are_the_ios_that_failed_on_all_hosts() -> None:
    assert failed_ios([result([5], 1300), result([5, 28], 2), result([], 0)]) == 1302


def test_kinds_of_errors_are_counted_where_nobody_counted_the_ios() -> None:
    assert failed_ios([result([5, 28], None), result([], None)]) == 2


def test_offered_rate_is_split_over_directions_as_all_jobs_together_offer_it() -> None:
    jobs = [
        JobLoad("mix", ("read", "write"), rate_iops={"read": 350.0, "write": 150.0}),
        JobLoad("log", ("write",), rate_iops={"write": 200.0}),
    ]
    step = replace(plan_of(["h1"], ["read"], 10.0).steps[0], jobs=jobs)
    assert split_of(step) == {"read": 350.0, "write": 350.0}
    assert split_of(replace(step, jobs=[])) == {}
