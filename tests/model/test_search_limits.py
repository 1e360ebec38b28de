"""Limits of a search as people write them."""

from __future__ import annotations

import pytest

from tui.model.profile_parts import parse_limit
from tui.model.search import Limit


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("read.p99.9 < 2ms", Limit("read.p99.9 < 2ms", "read", "latency", 99.9, 2e6)),
        (" mean<500us ", Limit("mean<500us", "", "latency", None, 5e5)),
        ("errors = 0", Limit("errors = 0", "", "errors", None, 0.0)),
        ("errors < 10", Limit("errors < 10", "", "errors", None, 9.0)),
        ("errors <= 10", Limit("errors <= 10", "", "errors", None, 10.0)),
    ],
)
def test_limits_are_read(text: str, limit: Limit) -> None:
    assert parse_limit(text) == limit


@pytest.mark.parametrize(
    "text", ["read.errors = 0", "errors < 0.5", "errors = 1.5", "errors < 0", "errors < 1ms"]
)
def test_errors_are_a_whole_count_of_all_directions(text: str) -> None:
    with pytest.raises(ValueError, match="whole number, without a direction"):
        parse_limit(text)
