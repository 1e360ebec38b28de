from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.hostspec import MOST_HOSTS, expand, split
from tui.model.problem import UsageError


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("weka-01", ["weka-01"]),
        ("10.0.0.7", ["10.0.0.7"]),
        ("fe80::1%eth0", ["fe80::1%eth0"]),
        ("::1", ["::1"]),
        ("h[1-3]", ["h1", "h2", "h3"]),
        ("h[1,3,5-7]", ["h1", "h3", "h5", "h6", "h7"]),
        ("weka-[08-11]", ["weka-08", "weka-09", "weka-10", "weka-11"]),
        ("weka-[008-010]", ["weka-008", "weka-009", "weka-010"]),
        ("h[8-11]", ["h8", "h9", "h10", "h11"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("h[1-2].lab", ["h1.lab", "h2.lab"]),
        ("h[1,1-2]", ["h1", "h2"]),
    ],
)
def test_a_range_is_its_names_in_order(spec: str, names: list[str]) -> None:
    assert expand(spec) == names


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("h[1-3", "brackets do not match"),
        ("h1]", "brackets do not match"),
        ("h[]", "'' is not a number or a range like 1-8"),
        ("h[a-c]", "'a-c' is not a number or a range like 1-8"),
        ("h[3-1]", "the range 3-1 runs backwards"),
        ("h[1-5000]", "more than 4096 hosts"),
        ("h[1-100][1-100]", "more than 4096 hosts"),
        ("h[1-4000,5000-9000]", "more than 4096 hosts"),
        ("h" + "[1]" * 2000, "more than 8 ranges in one name"),
        ("-oProxyCommand=x", "'-oProxyCommand=x' is not a host name"),
        ("a b", "'a b' is not a host name"),
        ("a\nb", "'a\\nb' is not a host name"),
        ("", "'' is not a host name"),
        ("@clients", "'@clients' is not a host name"),
        ("h" * 300, "is not a host name"),
    ],
)
def test_what_names_no_hosts_is_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        expand(spec)
    assert str(caught.value).startswith("host specification '")
    assert message in str(caught.value)


def test_commas_separate_but_not_in_brackets() -> None:
    assert split("a, h[1,3],@g,local") == ["a", "h[1,3]", "@g", "local"]


def test_an_empty_part_is_refused() -> None:
    with pytest.raises(UsageError, match="host specification 'a,,b': an empty part; allowed is a name, a range"):
        split("a,,b")


@given(first=st.integers(0, 9999), count=st.integers(1, 300), width=st.integers(1, 6))
def test_a_range_has_as_many_names_as_numbers(first: int, count: int, width: int) -> None:
    names = expand(f"h[{first:0{width}d}-{first + count - 1:0{width}d}]")
    assert [int(name[1:]) for name in names] == list(range(first, first + count))
    assert len(set(names)) == count


@given(st.text(alphabet="h1-9,[]a. @", max_size=30))
def test_any_text_is_names_or_a_clean_refusal(spec: str) -> None:
    try:
        for part in split(spec):
            assert 1 <= len(expand(part)) <= MOST_HOSTS
    except UsageError as error:
        assert "host specification" in str(error)
