"""`benchtui config`: the user's settings, what they change, and what is said of bad ones."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tui.cli.main import main
from tui.cli.open_app import appearance
from tui.cli.shared.common import paths, run_store
from tui.cli.shared.settings import change, comment_out, read_settings
from tui.model.problem import UsageError
from tui.model.settings import KEYS, Settings, new_file, parse_settings


@pytest.fixture
def file(home: Path) -> Path:
    return Path(os.environ["BENCHTUI_HOME"]) / "config.yaml"


def test_a_new_file_says_nothing_and_every_line_of_it_counts_without_its_mark() -> None:
    assert parse_settings(new_file(), "f") == Settings()
    lines = [
        line.removeprefix("#")
        for line in new_file().splitlines()
        if line.startswith("#") and line[1] != " "
    ]
    found = parse_settings("\n".join(lines), "f")
    assert len(lines) == len(KEYS)
    assert (found.theme, found.hosts, found.tags) == ("dark", ("@clients",), {"cluster": "lab"})


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (
            "theme: dark\nthem: x\n",
            "f:2:1",
            "unknown key 'them' (did you mean 'theme'?); allowed: theme, symbols",
        ),
        ("theme: blue\n", "f:1:8", "theme: 'blue' is not allowed; expected dark, light, ansi"),
        ("refresh: true\n", "f:1:10", "refresh: true is not allowed; expected 1, 2, 4"),
        ("hosts:\n  a: b\n", "f:2:3", "hosts: a mapping is not allowed"),
        ("hosts: h[1-\n", "f:1:8", "hosts: host specification 'h[1-': brackets do not match"),
        (
            "hosts: ['@clients', 'a b']\n",
            "f:1:8",
            "hosts: host specification 'a b': 'a b' is not a host name",
        ),
        ("tags: [a]\n", "f:1:7", "tags: a list is not allowed; expected a mapping"),
        ("runs: here\n", "f:1:7", "expected an absolute path"),
        ("runs: ~no-such-user/runs\n", "f:1:7", "runs: '~no-such-user/runs' is not allowed"),
        ("theme: [\n", "f:", "broken YAML"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place_and_what_is_allowed(
    text: str, place: str, said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        parse_settings(text, "f")
    assert str(caught.value).startswith(place)
    assert said in str(caught.value)
    assert len(caught.value.problems) == 1


def test_setting_and_unsetting_keep_what_people_wrote(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "# mine\ntheme: light  # for the beamer\n\n# hosts of the lab\nhosts:\n- a\n- b\n"
    )
    change(file, "theme", "dark")
    change(file, "refresh", "2")
    read = read_settings(file)
    assert (read.theme, read.hosts, read.refresh) == ("dark", ("a", "b"), 2)
    assert read.given == {"theme", "hosts", "refresh"}
    comment_out(file, "hosts")
    assert read_settings(file).hosts == ()
    for comment in ("# mine", "# for the beamer", "# hosts of the lab"):
        assert comment in file.read_text()


@pytest.mark.parametrize("key", ["programs", "hosts", "tags"])
def test_an_empty_value_is_refused_and_names_unset(
    home: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", key, ""]) == 2
    assert f"benchtui config unset {key}" in capsys.readouterr().err
    assert not (home / "config.yaml").exists()


def test_nothing_is_written_when_the_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected"):
        change(tmp_path / "config.yaml", "theme", "blue")
    assert list(tmp_path.iterdir()) == []


def test_the_verb_makes_shows_and_changes_the_file(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    assert main(["config", "edit"]) == 0
    assert file.read_text() == new_file()
    assert main(["config", "set", "hosts", "a", "h[1-3]"]) == 0
    assert main(["config", "set", "tags", "cluster=lab", "build=7"]) == 0
    assert file.read_text().count("\n") == new_file().count("\n")
    monkeypatch.setenv("BENCHTUI_THEME", "ansi")
    capsys.readouterr()
    assert main(["config", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["hosts"] == ["a", "h[1-3]"]
    assert found["tags"] == {"cluster": "lab", "build": "7"}
    assert found["theme"] == "ansi"


def test_runs_are_planned_with_hosts_and_tags_of_the_settings_and_kept_where_they_say(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text("hosts: [local]\ntags: {cluster: lab, build: 7}\nruns: /somewhere/else\n")
    assert main(["run", "demo/quick", "--dry-run", "--json", "--tag", "build=8"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [host["name"] for host in plan["hosts"]] == ["local"]
    assert plan["tags"] == {"cluster": "lab", "build": "8"}
    assert paths().runs == Path("/somewhere/else")


def test_the_screens_look_as_option_environment_and_settings_say_in_this_order(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(theme="light", symbols="ascii")
    monkeypatch.delenv("BENCHTUI_THEME", raising=False)
    monkeypatch.delenv("BENCHTUI_SYMBOLS", raising=False)
    assert appearance(None, None, settings)["theme"] == "light"
    monkeypatch.setenv("BENCHTUI_THEME", "ansi")
    assert appearance(None, "block", settings)["theme"] == "ansi"
    assert appearance("dark", "block", settings)["theme"] == "dark"
    assert appearance(None, "block", settings)["symbols"] == "block"


def test_broken_settings_stop_verbs_in_one_line_and_doctor_says_what_to_do(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text("theme: blue\n")
    assert main(["runs", "list"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["doctor"]) == 1
    assert "benchtui config edit" in capsys.readouterr().out


INVENTORY = "hosts:\n  alpha: {address: 127.0.0.1}\n"


def test_the_file_says_which_inventory_and_ssh_configuration_and_options_win(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lab.yaml").write_text(INVENTORY)
    (tmp_path / "other.yaml").write_text(INVENTORY.replace("alpha", "beta"))
    (tmp_path / "ssh").write_text("Host gamma\n")
    assert main(["config", "set", "inventory", str(tmp_path / "lab.yaml")]) == 0
    assert main(["config", "set", "ssh_config", str(tmp_path / "ssh")]) == 0
    capsys.readouterr()
    assert main(["hosts", "list"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {
        "alpha",
        "gamma",
        "local",
    }
    assert main(["hosts", "list", "--inventory", str(tmp_path / "other.yaml")]) == 0
    assert "beta" in capsys.readouterr().out


def test_an_inventory_of_the_file_that_is_not_there_is_named(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", "inventory", "/nowhere/inventory.yaml"]) == 0
    capsys.readouterr()
    assert main(["hosts", "list"]) == 2
    assert capsys.readouterr().err == (
        "benchtui: benchtui config inventory: /nowhere/inventory.yaml: no such inventory file\n"
    )


@pytest.mark.parametrize(("option", "lease_s"), [([], 300.0), (["--lease", "90s"], 90.0)])
def test_the_lease_of_the_file_holds_without_an_option(
    file: Path, option: list[str], lease_s: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", "lease", "5m"]) == 0
    capsys.readouterr()
    assert main(["run", "demo/quick", "--hosts", "local", "--dry-run", "--json", *option]) == 0
    assert json.loads(capsys.readouterr().out).get("lease_s", 60.0) == lease_s


def test_shared_directories_of_the_file_come_after_those_of_the_environment(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["config", "set", "shared", "/srv/a", "/srv/b"]) == 0
    monkeypatch.setenv("BENCHTUI_SHARED_RUNS", "/srv/c")
    assert [str(each) for each in run_store([Path("/srv/d")]).shared] == [
        "/srv/d",
        "/srv/c",
        "/srv/a",
        "/srv/b",
    ]


@pytest.mark.parametrize(
    "text", ["lease: 0", "lease: soon", "lease: true", "shared: [here]", "ssh_config: x"]
)
def test_a_value_of_the_new_keys_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"allowed|not a duration"):
        parse_settings(text, "f")


def test_one_value_is_printed_alone_and_as_json_with_where_it_is_from(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["config", "set", "theme", "light"]) == 0
    capsys.readouterr()
    assert main(["config", "get", "theme"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, str(file) in shown.err) == ("light\n", True)
    monkeypatch.setenv("BENCHTUI_THEME", "ansi")
    assert main(["config", "get", "theme", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "key": "theme",
        "value": "ansi",
        "source": "environ",
    }


def test_a_key_that_is_set_to_its_default_is_of_the_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", "mouse", "true"]) == 0
    capsys.readouterr()
    assert main(["config", "get", "mouse", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"key": "mouse", "value": True, "source": "file"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lease", "60s"),
        ("refresh", "1"),
        ("runs", "{home}/runs"),
        ("inventory", "{home}/inventory.yaml"),
    ],
)
def test_a_key_that_is_not_set_is_printed_as_what_holds(
    file: Path, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    assert main(["config", "get", name]) == 0
    shown = capsys.readouterr()
    assert shown.out == value.format(home=file.parent) + "\n" and "default" in shown.err
    assert main(["config", "get", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (str(found["value"]), found["source"]) == (value.format(home=file.parent), "default")


def test_a_lease_of_the_file_is_not_the_default(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", "lease", "5m"]) == 0
    capsys.readouterr()
    assert main(["config", "get", "lease", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"key": "lease", "value": "5m", "source": "file"}
