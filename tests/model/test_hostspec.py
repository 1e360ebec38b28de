from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.hostspec import MOST_HOSTS, destinations, expand, split
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
        ("rack[1-2]n[1-2]", ["rack1n1", "rack1n2", "rack2n1", "rack2n2"]),
        ("h[1-6/2]", ["h1", "h3", "h5"]),
        ("h[01-06/3]", ["h01", "h04"]),
        ("h{1..4}", ["h1", "h2", "h3", "h4"]),
        ("h{08..12..2}", ["h08", "h10", "h12"]),
        ("h{a,b}.lab", ["ha.lab", "hb.lab"]),
        ("{a,b}[1-2]", ["a1", "a2", "b1", "b2"]),
    ],
)
def test_a_range_is_its_names_in_order(spec: str, names: list[str]) -> None:
    assert expand(spec) == names


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("h[1-3", "brackets do not match"),
        ("h1]", "brackets do not match"),
        ("h[]", "an empty part in the brackets"),
        ("h[a-c]", "'a-c' is not a number or a range like 1-8"),
        ("h{1..4", "brackets do not match"),
        ("h{a..c}", "'a..c' is not a word or a range like 1..8"),
        ("h[1-6/0]", "the step of 1-6/0 is 0"),
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


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("bench@h1:2222", [("h1:2222", "h1", "bench", 2222)]),
        ("h[1-2]:22", [("h1:22", "h1", None, 22), ("h2:22", "h2", None, 22)]),
        ("root@h1", [("h1", "h1", "root", None)]),
        ("::1", [("::1", "::1", None, None)]),
        ("[::1]:2222", [("[::1]:2222", "::1", None, 2222)]),
        ("root@[fe80::1%eth0]", [("fe80::1%eth0", "fe80::1%eth0", "root", None)]),
    ],
)
def test_user_and_port_are_typed_beside_a_name(spec: str, found: list[tuple[object, ...]]) -> None:
    assert destinations(spec) == found


@pytest.mark.parametrize(
    "spec", ["h1:", "h1:0", "h1:65536", "h1:x", "@h1", "a b@h1", "[::1]22", "-l@h1"]
)
def test_what_is_no_user_or_port_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="host specification"):
        destinations(spec)


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("h{a,b},!h3,-", ["h{a,b}", "!h3", "-"]),
        ("slurm:@p,nodes=8,time=30m,!n3", ["slurm:@p,nodes=8,time=30m", "!n3"]),
        ("h1,command:printf a,b", ["h1", "command:printf a,b"]),
        ("ansible:inv.ini:web,a=b", ["ansible:inv.ini:web,a=b"]),
    ],
)
def test_a_source_keeps_its_options_and_a_command_all_that_follows(
    spec: str, parts: list[str]
) -> None:
    assert split(spec) == parts


def test_an_empty_part_is_refused() -> None:
    with pytest.raises(
        UsageError, match="host specification 'a,,b': empty part; allowed: a name, a range"
    ):
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
