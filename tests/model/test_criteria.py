from __future__ import annotations

import re

import pytest

from tui.model.criteria import parse_criterion
from tui.model.plain import OPERATIONS
from tui.workloads.elbencho.options import OBJECT_PHASES, PHASES
from tui.workloads.mdtest import output as mdtest


@pytest.mark.parametrize(("text", "direction", "metric", "percentile", "value", "relative"), [
    ("read.p99 > 2ms", "read", "latency", 99.0, 2e6, False),
    ("p99.5>=500us", "", "latency", 99.5, 5e5, False),
    ("iops < -5%", "", "iops", None, -0.05, True),
    ("write.bw < 1.5GiB/s", "write", "bandwidth", None, 1.5 * 2**30, False),
    ("read.bandwidth < 100 MB/s", "read", "bandwidth", None, 1e8, False),
    ("iops < 300k", "", "iops", None, 3e5, False),
    ("create < 10k", "create", "ops", None, 1e4, False),
    ("stat.ops < -10%", "stat", "ops", None, -0.1, True),
    ("mean > +3 %", "", "latency", None, 0.03, True),
    ("dir-create < 10k", "dir-create", "ops", None, 1e4, False),
    ("tree-remove.ops < -5%", "tree-remove", "ops", None, -0.05, True),
    ("read.max > 20ms", "read", "latency", 100.0, 2e7, False),
])  # fmt: skip
def test_criteria_are_read_as_people_write_them(
    text: str, direction: str, metric: str, percentile: float | None, value: float, relative: bool
) -> None:
    found = parse_criterion(text)
    assert (found.direction, found.metric, found.relative) == (direction, metric, relative)
    assert found.percentile == percentile
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(("text", "said"), [
    ("", "is not a criterion"),
    ("read.p99", "is not a criterion"),
    ("read.p99 > 2", "''; allowed: 'ns'"),
    ("iops < 5ms", "unknown unit 'ms'"),
    ("reed.iops < 5", "unknown direction 'reed' (did you mean 'read'?)"),
    ("dir-creat.ops < 5",
        "unknown direction 'dir-creat' (did you mean 'dir-create'?); allowed: create, "),
    ("bananas < 5", "unknown metric 'bananas'"),
    ("iops < 5\nx y", "is not a criterion"),
])  # fmt: skip
def test_what_is_none_is_refused_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_criterion(text)


@pytest.mark.parametrize(
    "name",
    sorted(
        {
            *mdtest.OPERATIONS.values(),
            *(
                phase.files or phase.direction
                for phases in (PHASES, OBJECT_PHASES)
                for phase in phases.values()
                if phase.direction != "trim"
            ),
        }
    ),
)
def test_every_operation_that_tools_count_may_have_a_criterion(name: str) -> None:
    assert name in OPERATIONS
    assert parse_criterion(f"{name} < 10k").direction == name
