"""Facts of several hosts beside each other."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.facts import FactGroup, compare, hosts_text
from tui.model.hostfacts import Fact

GIB = 1 << 30


def alike(count: int, odd: dict[str, Any], **facts: Any) -> dict[str, dict[str, Fact]]:
    """Hosts h1... with the same facts, and one after them that has others."""
    return {**{f"h{n}": dict(facts) for n in range(1, count + 1)}, "odd": {**facts, **odd}}


def test_what_all_have_is_common_and_what_one_has_is_a_difference() -> None:
    found = compare(alike(7, {"governor": "powersave"}, governor="performance", kernel="Linux 6.1"))
    assert found.common == {"kernel": "Linux 6.1"}
    (governor,) = found.differing
    assert governor.matters
    assert governor.groups == (
        FactGroup("performance", tuple(f"h{n}" for n in range(1, 8))),
        FactGroup("powersave", ("odd",)),
    )
    assert governor.text == "governor: performance on 7 hosts; powersave on odd"


def test_of_a_tool_the_version_comes_first() -> None:
    tool: dict[str, Fact] = {
        "fio_path": "/usr/bin/fio",
        "fio_sha256": "2e546a182978",
        "fio_version": "fio-3.33",
    }
    other: dict[str, Fact] = {
        "fio_path": "/opt/fio",
        "fio_sha256": "db791dc92528",
        "fio_version": "fio-3.28",
    }
    assert [each.title for each in compare({"a": tool, "b": other}).differing] == [
        "fio",
        "fio at",
        "SHA-256 of fio",
    ]


def test_what_each_host_has_of_its_own_is_no_difference() -> None:
    found = compare(
        {"a": {"hostname": "a", "boot_id": "1", "mem_available_bytes": 1}, "b": {"hostname": "b"}}
    )
    assert (found.common, found.differing) == ({}, ())


def test_memory_within_two_per_cent_is_the_same() -> None:
    assert compare({"a": {"mem_bytes": 512 * GIB}, "b": {"mem_bytes": 503 * GIB}}).differing == ()
    (memory,) = compare({"a": {"mem_bytes": 512 * GIB}, "b": {"mem_bytes": 384 * GIB}}).differing
    assert memory.text == "memory: 512 GiB on a; 384 GiB on b"


def test_tables_are_compared_by_column_and_by_the_number_of_rows_not_by_names() -> None:
    links = [
        {"name": "ens1", "mtu": 9000, "speed_mbit": 25000},
        {"name": "ens2", "mtu": 9000, "speed_mbit": 25000},
    ]
    other = [{"name": "eth0", "mtu": 1500, "speed_mbit": 25000}]
    found = compare(alike(2, {"nics": other}, nics=links))
    assert found.common == {"nics.speed_mbit": 25000}
    assert [each.text for each in found.differing] == [
        "links: 2 on h1, h2; 1 on odd",
        "link MTU: 9000 on h1, h2; 1500 on odd",
    ]


def test_a_column_with_several_values_names_them_all() -> None:
    links = [{"name": "a", "speed_mbit": 100000}, {"name": "b", "speed_mbit": 1000}]
    assert compare({"h": {"nics": links}}).common == {
        "nics": 2,
        "nics.speed_mbit": "1 Gbit/s, 100 Gbit/s",
    }


def test_of_mount_options_those_are_shown_that_differ() -> None:
    mount = {"path": "/m", "options": ["rw", "hard", "nconnect=8", "rsize=1048576"]}
    other = {"path": "/m", "options": ["rw", "hard", "rsize=262144"]}
    (options,) = compare(alike(1, {"mounts": [other]}, mounts=[mount])).differing
    assert options.text == "mount options: nconnect=8, rsize=1048576 on h1; rsize=262144 on odd"
    fewer = {"path": "/m", "options": ["rw", "hard"]}
    (options,) = compare({"h1": {"mounts": [mount]}, "odd": {"mounts": [fewer]}}).differing
    assert options.text.endswith("without on odd")


def test_a_list_that_is_empty_on_one_host_is_none_there() -> None:
    found = compare({"a": {"vulnerable": ["mds"], "kernel": "x"}, "b": {"kernel": "x"}})
    assert [each.text for each in found.differing] == ["without mitigation: mds on a; none on b"]


def test_a_column_that_a_driver_does_not_tell_is_unknown_and_no_bond_is_none() -> None:
    bond = {"name": "bond0", "speed_mbit": 25000, "bond_mode": "802.3ad"}
    speed, mode = sorted(
        compare({"a": {"nics": [bond]}, "b": {"nics": [{"name": "e"}]}}).differing, key=str
    )[::-1]
    assert not speed.differs and speed.text == "link speed: 25 Gbit/s on a; unknown on b"
    assert mode.differs and mode.text == "link bond mode: 802.3ad on a; none on b"


def test_settings_are_compared_one_by_one() -> None:
    found = compare(alike(1, {"sysctls": {"a": "1", "b": "3"}}, sysctls={"a": "1", "b": "2"}))
    assert found.common == {"sysctls.a": "1"}
    assert [each.text for each in found.differing] == ["sysctl: b: 2 on h1; 3 on odd"]


def test_no_limit_is_a_value_and_unknown_is_none() -> None:
    limited: dict[str, Fact] = {
        "cgroup_cpus": 2.5,
        "turbo": "on",
        "unknown": [{"name": "governor", "reason": "no file"}],
    }
    free: dict[str, Fact] = {
        "governor": "performance",
        "turbo": "on",
        "unknown": [{"name": "sockets", "reason": "no file"}],
    }
    governor, limit = compare({"limited": limited, "free": free}).differing
    assert not governor.differs
    assert [group.value for group in governor.groups] == ["performance", None]
    assert limit.differs
    assert limit.text == "CPU limit: 2.5 on limited; none on free"


def test_usable_cpus_are_reported_where_they_are_fewer() -> None:
    found = compare(alike(2, {"cpus_usable": 4}, cpus=64, cpus_usable=64))
    assert [each.text for each in found.differing] == ["usable CPUs: 64 on h1, h2; 4 on odd"]
    assert "cpus_usable" not in compare({"h": {"cpus": 64, "cpus_usable": 64}}).common


def test_a_checksum_matters_and_is_shown_short() -> None:
    (tool,) = compare({"a": {"fio_sha256": "ab" * 32}, "b": {"fio_sha256": "cd" * 32}}).differing
    assert tool.matters and tool.text == "SHA-256 of fio: abababababab on a; cdcdcdcdcdcd on b"


def test_hosts_without_facts_are_left_out() -> None:
    assert compare({"a": {"kernel": "x"}, "gone": {}}).hosts == ("a",)


def test_a_host_is_odd_when_as_many_others_agree() -> None:
    found = compare(alike(2, {"governor": "powersave"}, governor="performance"))
    assert [each.name for each in found.odd_of("odd")] == ["governor"]
    assert found.odd_of("h1") == []
    pair = compare(alike(1, {"governor": "powersave"}, governor="performance"))
    assert pair.odd_of("h1") and pair.odd_of("odd")


def test_many_hosts_are_a_number() -> None:
    assert hosts_text(["a", "b"]) == "a, b"
    assert hosts_text([f"h{n}" for n in range(9)]) == "9 hosts"


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
)
FACTS = st.dictionaries(
    st.sampled_from(
        [
            "kernel",
            "cpus",
            "nics",
            "mounts",
            "sysctls",
            "boot_options",
            "fio_version",
            "unknown",
            "odd.name",
        ]
    ),
    SCALARS
    | st.lists(
        st.dictionaries(
            st.sampled_from(["mtu", "options", "name"]), SCALARS | st.lists(st.text(max_size=3))
        )
    )
    | st.dictionaries(st.text(max_size=3), SCALARS, max_size=3),
    max_size=6,
)


@given(st.dictionaries(st.text(max_size=3), FACTS, max_size=5))
def test_each_host_is_in_one_group_of_each_difference(hosts: dict[str, Any]) -> None:
    found = compare(hosts)
    assert not {each.name for each in found.differing} & set(found.common)
    for each in found.differing:
        assert sorted(host for group in each.groups for host in group.hosts) == sorted(found.hosts)
        sizes = [len(group.hosts) for group in each.known]
        assert sizes == sorted(sizes, reverse=True)
        assert each.text
