"""Which of the chosen hosts have which role of a suite."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.address import HostAddress
from tui.model.problem import UsageError
from tui.model.roles import chosen_roles, hosts_by_role, parse_role

HOSTS = [
    HostAddress(name=f"h{number}", groups=("clients", "fast") if number < 3 else ("clients",))
    for number in range(1, 6)
]


def split(roles: dict[str, str], hosts: int = 5) -> dict[str, list[str]]:
    return {
        role: [host.name for host in found]
        for role, found in hosts_by_role(roles, HOSTS[:hosts]).items()
    }


@pytest.mark.parametrize(
    ("roles", "hosts", "wanted"),
    [
        ({"w": "2", "r": "rest"}, 5, {"w": ["h1", "h2"], "r": ["h3", "h4", "h5"]}),
        ({"r": "rest", "w": "2"}, 5, {"r": ["h3", "h4", "h5"], "w": ["h1", "h2"]}),
        ({"w": "50%", "r": "rest"}, 5, {"w": ["h1", "h2"], "r": ["h3", "h4", "h5"]}),
        ({"w": "10%", "r": "rest"}, 2, {"w": ["h1"], "r": ["h2"]}),
        ({"w": "h4", "r": "2"}, 5, {"w": ["h4"], "r": ["h1", "h2"]}),
        ({"w": "2", "r": "h[1-2]"}, 5, {"w": ["h3", "h4"], "r": ["h1", "h2"]}),
        ({"w": "@fast", "r": "rest"}, 5, {"w": ["h1", "h2"], "r": ["h3", "h4", "h5"]}),
        ({"w": "h5,h1", "r": "rest"}, 5, {"w": ["h5", "h1"], "r": ["h2", "h3", "h4"]}),
    ],
)
def test_named_hosts_first_then_numbers_and_shares_then_the_rest(
    roles: dict[str, str], hosts: int, wanted: dict[str, list[str]]
) -> None:
    assert split(roles, hosts) == wanted


@pytest.mark.parametrize(
    ("roles", "role"),
    [
        ({"w": "3", "r": "3"}, "r"),
        ({"w": "5", "r": "rest"}, "r"),
        ({"w": "h9", "r": "rest"}, "w"),
        ({"w": "@slow"}, "w"),
    ],
)
def test_a_role_that_gets_no_hosts_is_named(roles: dict[str, str], role: str) -> None:
    with pytest.raises(UsageError, match=f"role {role}: "):
        split(roles)


def test_a_host_cannot_have_two_roles() -> None:
    with pytest.raises(UsageError, match=r"host h1 .* w and r"):
        split({"w": "h[1-2]", "r": "h1"})


@pytest.mark.parametrize(
    "text", ["0", "-1", "0%", "100%", "", " ", "!h1", "slurm:1", "a b", "h[3-1]", "9999"]
)
def test_what_is_no_role_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed|from 1"):
        parse_role(text)


def test_a_role_that_the_suite_has_not_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match=r"'wirters' .*'writers'"):
        chosen_roles({"writers": "1", "readers": "rest"}, {"wirters": "h1"})


NUMBERS, SHARES = st.integers(1, 6).map(str), st.integers(1, 99).map("{}%".format)
PARTS = st.one_of(NUMBERS, SHARES, st.sampled_from(["@fast", "h[2-3]"]))


@given(
    st.dictionaries(st.sampled_from("abcd"), PARTS, min_size=1), st.integers(1, 5), st.booleans()
)
def test_no_host_is_in_two_roles_and_none_is_made_up(
    roles: dict[str, str], hosts: int, rest: bool
) -> None:
    try:
        found = split({**roles, **({"z": "rest"} if rest else {})}, hosts)
    except UsageError:
        return
    every = [name for names in found.values() for name in names]
    assert all(found.values())
    assert len(every) == len(set(every))
    assert set(every) <= {host.name for host in HOSTS[:hosts]}
    if rest:
        assert len(every) == hosts
