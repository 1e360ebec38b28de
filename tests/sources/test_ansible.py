"""Inventories as Ansible's documentation shows them, by the built-in reader and by
ansible-inventory.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tui.model.address import HostAddress
from tui.model.operands import clause
from tui.model.problem import UsageError
from tui.sources.ansible.source import TOOL, AnsibleSource, host_of, read_here, through_tool
from tui.sources.base import SourceContext

FIRST_INI = """\
mail.example.com

[webservers]
foo.example.com
bar.example.com

[dbservers]
one.example.com
two.example.com
three.example.com
"""
FIRST_YAML = """\
ungrouped:
  hosts:
    mail.example.com:
webservers:
  hosts:
    foo.example.com:
    bar.example.com:
dbservers:
  hosts:
    one.example.com:
    two.example.com:
    three.example.com:
east:
  hosts:
    foo.example.com:
    one.example.com:
    two.example.com:
west:
  hosts:
    bar.example.com:
    three.example.com:
prod:
  children:
    east:
test:
  children:
    west:
"""
RANGES_INI = """\
[webservers]
www[01:50].example.com
[stride]
www[01:50:2].example.com
[databases]
db-[a:f].example.com
"""
RANGES_YAML = """\
webservers:
  hosts:
    www[01:50:2].example.com:
"""
VARIABLES_INI = """\
badwolf.example.com:5309
jumper ansible_port=5555 ansible_host=192.0.2.50

[targets]
localhost              ansible_connection=local
other1.example.com     ansible_connection=ssh        ansible_user=myuser
other2.example.com     ansible_connection=ssh        ansible_user=myotheruser # a comment

[atlanta]
host1 http_port=80 maxRequestsPerChild=808
host2 http_port=303 maxRequestsPerChild=909 ansible_user="with'quote"

[atlanta:vars]
ntp_server=ntp.atlanta.example.com
ansible_port=2200
ansible_user = fromgroup
proxy=proxy.atlanta.example.com
"""
CHILDREN_INI = """\
[atlanta]
host1
host2
[raleigh]
host2
host3
[southeast:children]
atlanta
raleigh
[southeast:vars]
some_server=foo.southeast.example.com
ansible_port=1111
[raleigh:vars]
ansible_port=2222
[usa:children]
southeast
[usa:vars]
ansible_user=usa
ansible_port=3333
[all:vars]
ansible_user=anybody
ansible_ssh_private_key_file=/keys/all
"""
CHILDREN_YAML = """\
usa:
  children:
    southeast:
      children:
        atlanta:
          hosts:
            host1:
            host2:
        raleigh:
          hosts:
            host2: {ansible_host: 192.0.2.2}
            host3:
      vars:
        some_server: foo.southeast.example.com
        halon_system_timeout: 30
        ansible_user: southern
    northeast:
    northwest:
    southwest:
"""
INVENTORIES = {
    "first.ini": FIRST_INI,
    "first.yaml": FIRST_YAML,
    "ranges": RANGES_INI,
    "ranges.yml": RANGES_YAML,
    "variables": VARIABLES_INI,
    "children.ini": CHILDREN_INI,
    "children.yml": CHILDREN_YAML,
}
DYNAMIC = """#!/bin/sh
cat <<'END'
{"web": {"hosts": ["a1", "a2"], "vars": {"ansible_user": "w"}, "children": ["inner"]}, "inner": {"hosts": ["a3"]},
 "_meta": {"hostvars": {"a1": {"ansible_host": "192.0.2.7"}, "a2": {}, "a3": {"ansible_port": 99}}}}
END
"""


@pytest.fixture
def context(tmp_path: Path) -> SourceContext:
    """A machine without Ansible, as far as a source can tell."""
    (tmp_path / "bin").mkdir()
    for name, text in INVENTORIES.items():
        (tmp_path / name).write_text(text)
    return SourceContext({"PATH": f"{tmp_path / 'bin'}:/bin:/usr/bin"}, tmp_path)


def found(context: SourceContext, text: str) -> dict[str, HostAddress]:
    return {host.name: host for host in AnsibleSource().find(text, context).hosts}


def refusal(context: SourceContext, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        AnsibleSource().find(text, context)
    (problem,) = caught.value.problems
    return str(problem)


@pytest.mark.parametrize("file", ["first.ini", "first.yaml"])
def test_hosts_are_those_of_the_file_or_of_one_group_or_host(
    context: SourceContext, file: str
) -> None:
    assert len(found(context, file)) == 6
    assert list(found(context, f"{file}:dbservers")) == [
        "one.example.com",
        "two.example.com",
        "three.example.com",
    ]
    assert list(found(context, f"{file}:ungrouped")) == ["mail.example.com"]
    assert list(found(context, f"{file}:foo.example.com")) == ["foo.example.com"]


def test_groups_hold_the_hosts_of_groups_below_them(context: SourceContext) -> None:
    assert list(found(context, "first.yaml:prod")) == [
        "foo.example.com",
        "one.example.com",
        "two.example.com",
    ]
    assert set(found(context, "children.ini:usa")) == {"host1", "host2", "host3"}
    assert found(context, "children.ini")["host2"].groups == (
        "atlanta",
        "raleigh",
        "southeast",
        "usa",
    )


def test_ranges_have_numbers_letters_and_steps(context: SourceContext) -> None:
    hosts = found(context, "ranges:webservers")
    assert (len(hosts), next(iter(hosts)), list(hosts)[-1]) == (
        50,
        "www01.example.com",
        "www50.example.com",
    )
    assert list(found(context, "ranges:stride"))[:2] == ["www01.example.com", "www03.example.com"]
    assert list(found(context, "ranges:databases"))[-1] == "db-f.example.com"
    assert len(found(context, "ranges.yml")) == 25


def test_variables_say_how_a_host_is_reached(context: SourceContext) -> None:
    hosts = found(context, "variables")
    assert hosts["badwolf.example.com"].port == 5309
    assert (hosts["jumper"].address, hosts["jumper"].port) == ("192.0.2.50", 5555)
    assert hosts["localhost"].transport == "local"
    assert hosts["other2.example.com"].user == "myotheruser"
    assert (hosts["host1"].user, hosts["host1"].port) == ("fromgroup", 2200)
    assert hosts["host2"].user == "with'quote"


def test_the_variable_of_the_innermost_group_wins(context: SourceContext) -> None:
    hosts = found(context, "children.ini")
    assert {name: (host.port, host.user, host.identity) for name, host in hosts.items()} == {
        "host1": (1111, "usa", "/keys/all"),
        "host2": (2222, "usa", "/keys/all"),
        "host3": (2222, "usa", "/keys/all"),
    }


def test_folders_of_variables_win_over_the_inventory(context: SourceContext) -> None:
    for path, text in {
        "group_vars/all.yml": "ansible_user: everybody\nansible_port: 1\n",
        "group_vars/raleigh/ports.yaml": "ansible_port: 2\n",
        "host_vars/host3": "---\nansible_port: 3\n",
        "group_vars/stranger.yml": "ansible_port: 4\n",
    }.items():
        (context.directory / path).parent.mkdir(parents=True, exist_ok=True)
        (context.directory / path).write_text(text)
    hosts = found(context, "children.ini")
    assert [(host.user, host.port) for host in hosts.values()] == [
        ("everybody", 1),
        ("everybody", 2),
        ("everybody", 3),
    ]


def test_a_folder_is_all_its_files(context: SourceContext) -> None:
    folder = context.directory / "folder"
    folder.mkdir()
    (folder / "01").write_text("[web]\na1\n")
    (folder / "02.yml").write_text("web: {hosts: {a2: }, vars: {ansible_user: u}}\n")
    (folder / "old~").write_text("[web]\nold\n")
    assert {name: host.user for name, host in found(context, "folder:web").items()} == {
        "a1": "u",
        "a2": "u",
    }


def test_a_program_prints_an_inventory(context: SourceContext) -> None:
    script = context.directory / "dynamic"
    script.write_text(DYNAMIC)
    script.chmod(0o755)
    hosts = found(context, "dynamic:web")
    assert {name: (host.address, host.port) for name, host in hosts.items()} == {
        "a1": ("192.0.2.7", None),
        "a2": (None, None),
        "a3": (None, 99),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[web]\nh[1:3\n", ":2: 'h[1:3': not a range; allowed: [1:50], [01:50:2] or [a:f]"),
        ("[web]\nh[3:1]\n", ":2: '[3:1]': the range runs backwards"),
        ("[web]\nh[1:99999999]\n", ":2: '[1:99999999]': more than 16384 hosts"),
        ("[web]\nh1 user\n", ":2: 'user' after a host: expected NAME=VALUE"),
        ("[web]\nh1 a='b\n", ":2: no closing quotation: close the quote, or quote the whole value"),
        (
            "[web:child]\nh1\n",
            (
                ":1: unknown section [web:child] (did you mean 'children'?); allowed: :hosts,"
                " :children, :vars"
            ),
        ),
        ("[web]\n[db:children]\nwbe\n", ":3: unknown group 'wbe' (did you mean 'web'?)"),
        ("[web]\nh1\n[wbe:vars]\na=b\n", ":3: unknown group 'wbe' (did you mean 'web'?)"),
        ("[a:children]\nb\n[b:children]\na\n", ": group 'a' contains itself"),
        (
            "[leaf]\nh1\n[a:children]\nb\n[b:children]\na\nleaf\n",
            ": group 'b' contains itself",
        ),
        ("[web]\nh1 ansible_port=x\n", ": host 'h1': port 'x' is not a number from 1 to 65535"),
        ("[web]\nh1 ansible_host='{{ ip }}'\n", ": host 'h1': address is a template"),
        (
            "[web]\nh1 ansible_connection=winrm\n",
            ": host 'h1': ansible_connection 'winrm' is not supported",
        ),
    ],
)
def test_a_mistake_in_a_file_is_pointed_at(context: SourceContext, text: str, told: str) -> None:
    (context.directory / "inv").write_text(text)
    assert refusal(context, "inv").startswith(f"{context.directory / 'inv'}{told}")


def test_a_mistake_in_yaml_is_pointed_at(context: SourceContext) -> None:
    (context.directory / "i.yml").write_text("web:\n  host:\n    h1:\n")
    assert ":2:3: unknown key 'host' (did you mean 'hosts'?)" in refusal(context, "i.yml")
    (context.directory / "i.yml").write_text("plugin: aws_ec2\n")
    assert "needs ansible-inventory" in refusal(context, "i.yml")


def test_an_unknown_group_has_the_nearest_name(context: SourceContext) -> None:
    assert "no group or host 'webserver' (did you mean 'webservers'?)" in refusal(
        context, "first.ini:webserver"
    )


def test_options_of_ssh_that_are_not_applied_are_reported(context: SourceContext) -> None:
    (context.directory / "inv").write_text("h1 ansible_ssh_common_args='-J gate'\n")
    told = clause("option-not-applied", source="inv", option="ansible_ssh_common_args")
    assert AnsibleSource().find("inv", context).notes == (told,)


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which(TOOL) is None, reason="needs ansible-inventory (pip install ansible-core)"
)
@pytest.mark.parametrize("file", [*INVENTORIES, "with_files", "dynamic", "folder"])
def test_the_built_in_reader_agrees_with_ansible_inventory(
    context: SourceContext, file: str
) -> None:
    script = context.directory / "dynamic"
    script.write_text(DYNAMIC)
    script.chmod(0o755)
    (context.directory / "folder").mkdir()
    (context.directory / "folder/01").write_text(CHILDREN_INI)
    (context.directory / "folder/02.yml").write_text(CHILDREN_YAML)
    if file == "with_files":
        (context.directory / file).write_text(CHILDREN_INI)
        for path in ("group_vars/all.yml", "group_vars/raleigh.yml", "host_vars/host1.yml"):
            (context.directory / path).parent.mkdir(exist_ok=True)
            (context.directory / path).write_text(f"ansible_user: of_{Path(path).stem}\n")
    tool = shutil.which(TOOL)
    assert tool is not None
    here = read_here(context.directory / file, context)
    there = through_tool(tool, context.directory / file, context._replace(environ=dict(os.environ)))
    assert {name: host_of(name, here) for name in here.hosts} == {
        name: host_of(name, there) for name in there.hosts
    }
