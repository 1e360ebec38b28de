"""The seconds of which everything is known of several hosts together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.journal.intervals import Amounts, Clock
from tui.journal.latencies import JointLatencies
from tui.journal.views import FRESH_S, Changes, Group, Leaf
from tui.model.event import DirectionSample

TIMES = st.floats(0, 20).map(lambda t: round(t, 2))


@given(spans=st.lists(st.lists(st.tuples(TIMES, TIMES), max_size=3), max_size=5))
def test_span_of_a_group_ends_with_its_last_fresh_host(
    spans: list[list[tuple[float, float]]],
) -> None:
    group, whole = Group(Clock()), list[tuple[int, int]]()
    for intervals in spans:
        leaf = Leaf(Clock(), JointLatencies(), Changes())
        group.leaves.append(leaf)
        for begin, length in intervals:
            leaf.over_time.add(begin, begin + length, Amounts.of(DirectionSample(ios=1, bytes=1)))
        whole += [leaf.span] if leaf.span is not None else []
    newest = max((end for _, end in whole), default=0)
    ends = [end for _, end in whole if end >= newest - FRESH_S]
    wanted = (min(begin for begin, _ in whole), min(ends)) if whole else None
    assert group.span == wanted
