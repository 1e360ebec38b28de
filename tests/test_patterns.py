"""No regular expression of ours takes more than in proportion to what it reads: CPU time at two
lengths, compared.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isinf
from typing import Any

import pytest

from tests.patterns import Used, attack, attacks, used

SHORT, LONG = 1_000, 8_000  # characters; eight times as many
GROWTH = 24.0  # a square would be 64
LEAST_S = 0.003  # what is over sooner says nothing
GIVEN_UP_S = 0.4
TRIES = 5  # the least of them counts: what else runs makes a try slower, never faster


class StuckError(Exception):
    """An expression that does not come to an end."""


@contextmanager
def given_up_after(seconds: float) -> Iterator[None]:
    def over(*_: object) -> None:
        raise StuckError

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def cpu_s(ask: Callable[[Any], object], text: Any) -> float:
    begin = time.thread_time()
    try:
        with given_up_after(GIVEN_UP_S):
            ask(text)
    except StuckError:
        return float("inf")
    return time.thread_time() - begin


def grows(each: Used, begin: str, pump: str) -> bool:
    ask = getattr(each.pattern, each.method)
    texts: list[Any] = [attack(begin, pump, length) for length in (SHORT, LONG)]
    if isinstance(each.pattern.pattern, bytes):
        texts = [text.encode("latin-1", "replace") for text in texts]
    long_s = cpu_s(ask, texts[1])
    if long_s <= LEAST_S:
        return False
    short_s = min(cpu_s(ask, texts[0]) for _ in range(TRIES))
    if isinf(short_s):
        return True
    return min(long_s, *(cpu_s(ask, texts[1]) for _ in range(TRIES - 1))) > GROWTH * max(
        short_s, LEAST_S / GROWTH
    )


@pytest.mark.slow
def test_no_expression_grows_faster_than_what_it_reads() -> None:
    tried = {
        each: [told for told in attacks(each.pattern) if grows(each, *told)] for each in used()
    }
    assert {f"{each.where} {each.method}": found for each, found in tried.items() if found} == {}


def test_expressions_are_found_as_they_are_used() -> None:
    found = {(each.where, each.method) for each in used()}
    assert ("workloads/mdtest/output.py:_ROW", "match") in found
    assert len(found) > 200


def test_an_expression_of_a_table_is_asked_as_the_loop_over_it_asks() -> None:
    assert {
        each.method for each in used() if each.where == "workloads/fio/text_output.py:LATENCY"
    } == {"fullmatch"}


def test_a_name_of_two_modules_is_asked_as_each_of_them_asks() -> None:
    assert {each.method for each in used() if each.where == "workloads/fio/logs.py:NAME"} == {
        "fullmatch"
    }


@pytest.mark.slow
def test_an_expression_that_backtracks_is_reported() -> None:
    bad = Used("here", re.compile(r"(?:[\d.]+\s*)+$"), "match")
    square = Used("here", re.compile(r"\s*x"), "search")
    for each in (bad, square):
        assert any(grows(each, begin, pump) for begin, pump in attacks(each.pattern))
