from __future__ import annotations

import time

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.address import HostAddress
from tui.model.inventory import InventoryFile, inventory_json_schema, load_inventory
from tui.model.problem import UsageError

WHOLE = """\
defaults: {user: bench, port: 2222, identity: ~/.ssh/bench}
hosts:
  weka-[01-03]:
    groups: [clients]
  v[1-2]: {address: "10.0.0.[11-12]"}
  gw: {address: gw.example.net, port: 22, user: root, groups: [edge]}
  plain:
groups:
  all: ["@clients", "v[1-2]", gw]
  here: [local, plain]
"""


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_inventory(text, "i.yaml")
    return str(caught.value)


def test_a_range_is_as_many_hosts() -> None:
    assert list(load_inventory(WHOLE, "i").hosts) == [
        "weka-01",
        "weka-02",
        "weka-03",
        "v1",
        "v2",
        "gw",
        "plain",
    ]


def test_a_range_of_addresses_goes_with_a_range_of_hosts() -> None:
    inventory = load_inventory(WHOLE, "i")
    assert [inventory.address(name).address for name in ("v1", "v2")] == ["10.0.0.11", "10.0.0.12"]


def test_a_host_takes_the_defaults_where_it_says_nothing() -> None:
    inventory = load_inventory(WHOLE, "i")
    assert inventory.address("plain") == HostAddress(
        name="plain", port=2222, user="bench", identity="~/.ssh/bench", groups=("here",)
    )
    assert (inventory.address("gw").port, inventory.address("gw").user) == (22, "root")


def test_a_group_holds_what_it_lists_and_who_claims_it() -> None:
    groups = load_inventory(WHOLE, "i").groups
    assert groups["clients"] == ["weka-01", "weka-02", "weka-03"]
    assert groups["edge"] == ["gw"]
    assert groups["all"] == ["weka-01", "weka-02", "weka-03", "v1", "v2", "gw"]
    assert groups["here"] == ["local", "plain"]


@pytest.mark.parametrize(
    "text", ["", "\n", "# nothing yet\n", "hosts:\n", "hosts:\n  # a:\ngroups:\ndefaults:\n"]
)
def test_an_inventory_may_be_empty(text: str) -> None:
    assert load_inventory(text, "i").hosts == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "hosts:\n  a: {adress: x}\n",
            (
                "i.yaml:2:7: unknown key 'adress' (did you mean 'address'?); "
                "allowed: port, user, identity, exec, role, processes, address, groups"
            ),
        ),
        (
            "host: {}\n",
            (
                "i.yaml:1:1: unknown key 'host' (did you mean 'hosts'?); allowed: defaults,"
                " hosts, groups"
            ),
        ),
        ("hosts: [a]\n", "i.yaml:1:8: hosts: found a list; allowed: a mapping"),
        ("hosts:\n  a: 5\n", "i.yaml:2:6: hosts.a: found 5; allowed: a mapping"),
        (
            "hosts:\n  a: {port: ssh}\n",
            "i.yaml:2:13: hosts.a.port: found 'ssh'; allowed: a whole number",
        ),
        ("hosts:\n  a: {port: 0}\n", "i.yaml:2:13: hosts.a.port: found 0; allowed: 1 or more"),
        (
            "hosts:\n  a: {port: 70000}\n",
            "i.yaml:2:13: hosts.a.port: found 70000; allowed: 65535 or less",
        ),
        (
            "hosts:\n  a: {user: -lroot}\n",
            (
                "i.yaml:2:13: hosts.a.user: found '-lroot'; must match one word that does not start with a dash"
            ),
        ),
        (
            "hosts:\n  a: {identity: ''}\n",
            "i.yaml:2:17: hosts.a.identity: found ''; must not be empty",
        ),
        (
            "hosts:\n  h[1-3: {}\n",
            (
                "i.yaml:2:3: host specification 'h[1-3': brackets do not match; allowed: a name,"
                " a range like h[1-4], weka-[01-08,12] or h[1-9/2], user@host:port,"
                " a group like @clients, a source like ansible:FILE, !NAME to exclude, or local"
            ),
        ),
        ("hosts:\n  h[1-2]:\n  h2:\n", "i.yaml:3:3: host 'h2' is defined twice"),
        (
            "hosts:\n  a:\n  a:\n",
            "i.yaml:3:3: duplicate key 'a', first on line 2",
        ),
        ("hosts:\n  local:\n", "i.yaml:2:3: host 'local' is always this machine"),
        (
            "hosts:\n  h[1-2]: {address: x}\n",
            "i.yaml:2:21: 'h[1-2]' names 2 hosts, but its address names 1",
        ),
        (
            "hosts:\n  abc:\ngroups: {g: [abd]}\n",
            "i.yaml:3:14: group 'g': unknown host 'abd' (did you mean 'abc'?)",
        ),
        (
            "groups: {clients: ['@client']}\n",
            "i.yaml:1:20: unknown group 'client' (did you mean 'clients'?)",
        ),
        ("groups: {a: ['@b'], b: ['@a']}\n", "i.yaml:1:25: group 'a' contains itself"),
        (
            "groups: {'x y': []}\n",
            (
                "i.yaml:1:10: groups: found the key 'x y'; must match letters, digits, _ ."
                " and -, such as clients"
            ),
        ),
        ("groups: {a: b}\n", "i.yaml:1:13: groups.a: found 'b'; allowed: a list, a mapping"),
    ],
)
def test_a_mistake_is_pointed_at(text: str, message: str) -> None:
    assert refusal(text) == message


def test_all_mistakes_come_at_once_in_the_order_of_the_file() -> None:
    lines = refusal("hosts:\n  a: {prot: 1}\n  b: {port: x}\nunknown: 1\n").splitlines()
    assert [line.split(": ")[0] for line in lines] == ["i.yaml:2:7", "i.yaml:3:13", "i.yaml:4:1"]


def test_groups_of_groups_of_groups_are_looked_into_once() -> None:
    lines = ["hosts: {h: }", "groups:", "  g0: [h]"]
    lines += [f"  g{n}: [{', '.join([repr(f'@g{n - 1}')] * 10)}]" for n in range(1, 30)]
    started = time.process_time()
    assert load_inventory("\n".join(lines), "i").groups["g29"] == ["h"]
    assert time.process_time() - started < 10


def test_the_schema_takes_what_the_loader_takes() -> None:
    schema = inventory_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(
        {"hosts": {"a": None, "b": {"address": "x", "port": 22}}, "groups": {"g": ["a"]}}, schema
    )
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"hosts": {"a": {"adress": "x"}}}, schema)


def test_the_schema_explains_every_key() -> None:
    for definition in [inventory_json_schema(), *inventory_json_schema()["$defs"].values()]:
        for name, key in definition["properties"].items():
            assert key.get("description"), name
    assert set(InventoryFile.model_fields) == {"defaults", "hosts", "groups"}


@given(st.text(alphabet="hosts grup:{}[]@-,1\n'", max_size=60))
def test_any_text_is_an_inventory_or_a_clean_refusal(text: str) -> None:
    try:
        load_inventory(text, "i.yaml")
    except UsageError as error:
        assert all(str(problem).startswith("i.yaml:") for problem in error.problems)


def test_a_storage_node_says_which_processes_to_watch() -> None:
    text = "defaults: {processes: {OSD: ceph-osd}}\nhosts:\n  s[1-2]: {role: server}\n  c1:\n"
    inventory = load_inventory(text, "i")
    assert (inventory.address("s2").role, inventory.address("s2").processes) == (
        "server",
        (("OSD", "ceph-osd"),),
    )
    assert inventory.address("c1").role == "client"


@pytest.mark.parametrize(
    ("processes", "said"),
    [("{OSD: 'a('}", "regular expression"), ("{'a b': x}", "processes"), ("{OSD: ''}", "OSD")],
)
def test_a_pattern_that_is_none_is_refused_with_its_place(processes: str, said: str) -> None:
    message = refusal(f"hosts:\n  s1: {{processes: {processes}}}\n")
    assert said in message and message.startswith("i.yaml:2:")


@pytest.mark.parametrize(
    "text",
    [
        "hosts:\n" + "".join(f"  h{number}-[1-4096]: {{}}\n" for number in range(3000)),
        "hosts:\n  h[1-4096]: {}\ngroups:\n"
        + "".join(f"  g{number}: ['h[1-4096]']\n" for number in range(3000)),
        "hosts:\n  h[1-4096]: {}\ngroups:\n  a: ['h[1-4096]']\n"
        + "".join(f"  g{number}: ['@a', '@a', '@a', '@a']\n" for number in range(2000)),
    ],
    ids=["hosts", "groups", "groups in groups"],
)
def test_an_inventory_is_limited_as_a_whole(text: str) -> None:
    with pytest.raises(UsageError) as told:
        load_inventory(text, "inventory.yaml")
    assert len(told.value.problems) == 1 and "more than" in str(told.value)


def test_of_many_unknown_hosts_in_groups_some_are_named() -> None:
    with pytest.raises(UsageError) as told:
        load_inventory("hosts:\n  a: {}\ngroups:\n  g: ['x[1-4096]']\n", "inventory.yaml")
    assert len(told.value.problems) == 50


def test_a_host_knows_its_groups_in_the_order_of_the_file() -> None:
    found = load_inventory(
        "hosts:\n  a: {}\n  b: {}\ngroups:\n  y: [a, b]\n  x: [a, a]\n", "inventory.yaml"
    )
    assert (found.address("a").groups, found.address("b").groups) == (("y", "x"), ("y",))


def test_a_key_that_would_turn_text_round_is_named_printable() -> None:
    with pytest.raises(UsageError) as told:
        load_inventory("hosts:\n  h1: {gr\u202eps: []}\n", "inventory.yaml")
    assert str(told.value).isprintable()
