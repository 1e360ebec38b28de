from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.agent import ssh_agent
from tests.samples.events import DATA
from tui.cli import doctor, doctor_checks
from tui.cli.doctor import CHECKS, attempt, render
from tui.cli.doctor_checks import DoctorCheck, Surroundings
from tui.cli.main import main
from tui.library.build import write_record
from tui.model.paths import Paths
from tui.model.settings import Settings

OLD_RUN, CUT_RUN = "20261119T080000Z-test-mix-0001", "20261120T080000Z-test-mix-0002"


@pytest.fixture
def user(tmp_path: Path) -> Surroundings:
    """A user with an empty home and the usual programs."""
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    (tmp_path / ".ssh").mkdir(mode=0o700)
    return Surroundings(environ, Paths.from_environ(environ), tmp_path)


def with_environ(user: Surroundings, **values: str) -> Surroundings:
    environ = {**user.environ, **values}
    return Surroundings(environ, Paths.from_environ(environ), user.home)


def new_key(path: Path, passphrase: str = "") -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[str]:
    """A real ssh-agent without keys; its socket."""
    with ssh_agent(tmp_path / "agent.sock") as path:
        yield str(path)


# --- the verb ---------------------------------------------------------------------------------------------------


def test_doctor_ends_with_0_where_runs_can_be_kept(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor"]) == 0
    assert "Ready" in capsys.readouterr().out.splitlines()[-1]


def test_doctor_ends_with_1_where_no_run_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BENCHTUI_HOME", str(tmp_path / "file"))
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert re.search(
        r"^\S fail +data +\S+ cannot be created: \S+ is not a writable directory$",
        out,
        re.MULTILINE,
    )
    assert "Not ready: data" in out.splitlines()[-1]


def test_json_is_one_document_with_every_check(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "benchtui.doctor/1"
    assert document["ok"] is True
    assert len(document["checks"]) == len(CHECKS)
    assert {check["status"] for check in document["checks"]} <= {"ok", "warn", "fail"}


def test_every_check_has_a_name_of_its_own(user: Surroundings) -> None:
    names = [attempt(check, user).name for check in CHECKS]
    assert len(set(names)) == len(names)


def test_everything_that_is_not_ok_says_what_to_do(user: Surroundings) -> None:
    (user.home / "file").write_text("")
    own = str(user.home / "file" / "below")
    bare = with_environ(user, PATH="/nonexistent", LANG="C", EDITOR="", BENCHTUI_HOME=own)
    doubtful = [found for check in CHECKS if (found := attempt(check, bare)).status != "ok"]
    assert {"data", "config", "fio here", "characters", "editor", "ssh keys", "host keys"} <= {
        c.name for c in doubtful
    }
    assert [found.name for found in doubtful if not found.advice] == []


def test_the_screen_fits_80_by_24_where_all_is_well() -> None:
    lines = render(
        [DoctorCheck(f"check {n}", "ok", "as it should be") for n in range(len(CHECKS))]
    ).splitlines()
    assert len(lines) <= 23  # and the prompt
    assert max(map(len, lines)) <= 80


def test_a_status_is_a_word_not_only_a_colour_or_a_symbol() -> None:
    checks = [
        DoctorCheck("a", "ok", "x"),
        DoctorCheck("b", "warn", "y", "do z"),
        DoctorCheck("c", "fail", "w", "do v"),
    ]
    text = render(checks, fancy=False)
    assert text.splitlines() == [
        "+ ok    a           x",
        "! warn  b           y",
        "                    -> do z",
        "x fail  c           w",
        "                    -> do v",
        "",
        "Not ready: c; 1 warning: b",
    ]


def test_output_is_ascii_for_a_terminal_that_has_no_more(home: Path) -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "BENCHTUI_HOME": str(home)}
    command = [sys.executable, "-m", "tui", "doctor"]
    done = subprocess.run(
        command, env=environ, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert done.stderr == b""


def test_a_check_that_cannot_be_made_is_a_warning_and_stops_nothing(user: Surroundings) -> None:
    def no_luck(_: Surroundings) -> DoctorCheck:
        raise PermissionError(13, "Permission denied", "/some/where")

    assert attempt(no_luck, user).status == "warn"
    assert "/some/where" in attempt(no_luck, user).message


# --- folders ----------------------------------------------------------------------------------------------------


def test_folders_that_are_not_there_yet_are_fine(user: Surroundings) -> None:
    for check in (
        doctor_checks.config,
        doctor_checks.data,
        doctor_checks.space,
        doctor_checks.runs,
    ):
        assert check(user).status == "ok"
    assert doctor_checks.data(user).message == "~/.local/share/benchtui/runs (created when needed)"


def test_runs_that_others_can_read_are_a_warning(user: Surroundings) -> None:
    user.paths.runs.mkdir(parents=True)
    user.paths.runs.chmod(0o750)
    found = doctor_checks.data(user)
    assert (found.status, found.advice) == ("warn", f"chmod 700 {user.paths.runs}")
    user.paths.runs.chmod(0o700)
    assert doctor_checks.data(user).status == "ok"


def test_a_config_folder_that_others_can_write_is_a_warning(user: Surroundings) -> None:
    user.paths.config.mkdir(parents=True)
    user.paths.config.chmod(0o755)
    assert doctor_checks.config(user).status == "ok"
    user.paths.config.chmod(0o775)
    assert doctor_checks.config(user).status == "warn"


def test_a_data_folder_that_cannot_be_made_fails(user: Surroundings) -> None:
    (user.home / "file").write_text("")
    found = doctor_checks.data(with_environ(user, BENCHTUI_HOME=str(user.home / "file" / "below")))
    assert found.status == "fail"
    assert "BENCHTUI_HOME" in found.advice


def test_runs_are_counted_with_their_size(user: Surroundings) -> None:
    run = user.paths.runs / OLD_RUN
    shutil.copytree(DATA / "mix", run)
    write_record(run)
    found = doctor_checks.runs(user)
    assert found.status == "ok"
    assert found.message.startswith("1 run, ")
    assert "iB" in found.message
    assert found.message.endswith("0 running")


def test_a_run_whose_engine_died_is_named(user: Surroundings) -> None:
    run = user.paths.runs / CUT_RUN
    shutil.copytree(DATA / "mix", run)
    (run / "run.json").unlink(missing_ok=True)
    (run / "engine.pid").write_text("1 1 not-this-boot\n")
    found = doctor_checks.runs(user)
    assert found.status == "warn"
    assert CUT_RUN in found.message
    assert CUT_RUN in found.advice


def test_paths_of_the_settings_that_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHTUI_HOME", str(tmp_path))
    text = "inventory: /nowhere/lab.yaml\nssh_config: /nowhere/ssh\nshared: [/nowhere/runs, /tmp]\n"
    (tmp_path / "config.yaml").write_text(text)
    assert main(["doctor", "--json"]) == 1
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    for name, status, path in (
        ("inventory", "fail", "/nowhere/lab.yaml"),
        ("ssh config", "fail", "/nowhere/ssh"),
        ("shared", "warn", "/nowhere/runs"),
    ):
        assert found[name]["status"] == status and path in found[name]["message"]
    assert "/tmp" not in found["shared"]["message"]


def test_groups_of_the_inventory_that_no_source_can_resolve_are_named(
    user: Surroundings, tmp_path: Path
) -> None:
    path = tmp_path / "lab.yaml"
    lab = replace(user, settings=Settings(inventory=path))
    for groups, status, told in (
        ("{lab: {from: local}, io: {from: 'slurm:@io,nodes=2'}}", "ok", str(path.name)),
        ("{lab: {from: 'file:/nowhere/hosts'}}", "warn", "@lab: file:/nowhere/hosts"),
        ("{io: {from: 'slurm:@io,nods=2'}}", "warn", "unknown option 'nods'"),
        ("[", "fail", str(path)),
    ):
        path.write_text(f"groups: {groups}\n")
        found = doctor_checks.inventory(lab)
        assert (found.status, told in found.message) == (status, True), found


def test_the_configuration_of_the_settings_is_the_one_that_is_looked_at(
    user: Surroundings, tmp_path: Path
) -> None:
    new_key(tmp_path / "lab key")
    path = tmp_path / "lab-config"
    path.write_text(f'Host a b\n  IdentityFile "{tmp_path / "lab key"}"\n')
    path.chmod(0o600)
    lab = replace(user, settings=Settings(ssh_config=path))
    assert "lab-config, 2 named hosts" in doctor.ssh_config(lab).message
    assert "~/lab key" in doctor.ssh_login(lab).message


# --- ssh --------------------------------------------------------------------------------------------------------


def test_no_ssh_config_is_fine(user: Surroundings) -> None:
    assert doctor.ssh_config(user).status == "ok"


def test_hosts_of_the_ssh_config_are_counted_without_patterns(user: Surroundings) -> None:
    text = "Host *\n  User x\nHost h1 h2\n  StrictHostKeyChecking no\nhost=jump\nHost !h3 web-*\n"
    (user.home / ".ssh" / "config").write_text(text)
    (user.home / ".ssh" / "config").chmod(0o600)
    found = doctor.ssh_config(user)
    assert found.status == "ok"
    assert "3 named hosts" in found.message
    assert "ignored: StrictHostKeyChecking" in found.message


def test_an_ssh_config_in_another_encoding_is_a_warning(user: Surroundings) -> None:
    (user.home / ".ssh" / "config").write_bytes(b"# caf\xe9\nHost h1\n")
    assert "byte 5 is not UTF-8" in doctor.ssh_config(user).message


def test_no_agent_and_no_key_is_a_warning(user: Surroundings) -> None:
    found = doctor.ssh_login(user)
    assert found.status == "warn"
    assert "ssh-keygen" in found.advice


def test_a_key_file_without_passphrase_is_enough(user: Surroundings) -> None:
    new_key(user.home / ".ssh" / "id_ed25519")
    found = doctor.ssh_login(user)
    assert found.status == "ok"
    assert "id_ed25519" in found.message


def test_a_key_file_that_the_configuration_names_is_enough(
    user: Surroundings, tmp_path: Path
) -> None:
    new_key(tmp_path / "lab key")
    config = user.home / ".ssh" / "config"
    config.write_text(
        f'Host a\n  IdentityFile ~/.ssh/gone\nHost b\n  IdentityFile "{tmp_path / "lab key"}"\n'
    )
    found = doctor.ssh_login(user)
    assert (found.status, "~/lab key" in found.message, "gone" in found.message) == (
        "ok",
        True,
        False,
    )


def test_a_key_file_with_passphrase_needs_an_agent(user: Surroundings, agent: str) -> None:
    new_key(user.home / ".ssh" / "id_ed25519", passphrase="secret")
    assert "(1 with a passphrase)" in doctor.ssh_login(user).message
    assert doctor.ssh_login(user).status == "warn"
    new_key(user.home / "other")
    environ = {**user.environ, "SSH_AUTH_SOCK": agent}
    subprocess.run(
        ["ssh-add", "-q", str(user.home / "other")],
        env=environ,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    found = doctor.ssh_login(with_environ(user, SSH_AUTH_SOCK=agent))
    assert found.status == "ok"
    assert "agent with 1 key" in found.message


def test_an_agent_that_is_gone_is_named(user: Surroundings, tmp_path: Path) -> None:
    found = doctor.ssh_login(with_environ(user, SSH_AUTH_SOCK=str(tmp_path / "gone")))
    assert found.status == "warn"
    assert f"the agent at {tmp_path / 'gone'} does not answer" in found.message


def test_an_agent_that_never_answers_does_not_hang_the_doctor(
    user: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "AGENT_DEADLINE_S", 0.2)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "mute"))
        mute.listen()
        assert (
            "does not answer"
            in doctor.ssh_login(with_environ(user, SSH_AUTH_SOCK=str(tmp_path / "mute"))).message
        )


def test_a_key_that_others_can_read_is_a_warning(user: Surroundings) -> None:
    key = user.home / ".ssh" / "id_ed25519"
    new_key(key)
    key.chmod(0o644)
    assert doctor.ssh_login(user).advice == f"chmod 600 {key}"


def test_known_hosts_are_counted_where_they_lie(user: Surroundings) -> None:
    (user.home / ".ssh" / "known_hosts").write_text(
        "# mine\nh1 ssh-ed25519 AAAA\n\nh2 ssh-ed25519 AAAA\n"
    )
    user.paths.config.mkdir(parents=True)
    user.paths.known_hosts.write_text("h3 ssh-ed25519 AAAA\n")
    found = doctor.known_hosts(user)
    assert found.status == "ok"
    assert "2 in ~/.ssh/known_hosts, 1 in ~/.config/benchtui/known_hosts" in found.message


# --- this machine -----------------------------------------------------------------------------------------------


def test_the_installed_fio_is_shown_with_its_version(user: Surroundings) -> None:
    found = doctor_checks.load_generator(user)
    printed = subprocess.run(
        ["fio", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert found.message == f"{printed}, {shutil.which('fio')}"


@pytest.mark.parametrize(
    ("version", "status"), [("3.17", "warn"), ("3.18", "ok"), ("4.0", "ok"), ("2.99", "warn")]
)
def test_fio_must_be_3_18(user: Surroundings, tmp_path: Path, version: str, status: str) -> None:
    (tmp_path / "fio").write_text(f"#!/bin/sh\necho fio-{version}\n")
    (tmp_path / "fio").chmod(0o755)
    assert doctor_checks.load_generator(with_environ(user, PATH=str(tmp_path))).status == status


def test_a_machine_without_fio_can_still_run_on_others(user: Surroundings) -> None:
    found = doctor_checks.load_generator(with_environ(user, PATH="/nonexistent"))
    assert found.status == "warn"
    assert "'local'" in found.message


# --- terminal ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({"LANG": "en_US.UTF-8"}, "ok"),
        ({"LANG": "C.utf8"}, "ok"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, "warn"),  # LC_ALL wins
        ({"LANG": "de_DE@euro"}, "warn"),
        ({}, "warn"),
    ],
)
def test_characters_follow_the_locale(
    user: Surroundings, environ: dict[str, str], status: str
) -> None:
    assert doctor_checks.characters(with_environ(user, **environ)).status == status


@pytest.mark.parametrize(
    ("environ", "colours"),
    [
        ({"TERM": "xterm-256color"}, "256 colours"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "16 million colours"),
        ({"TERM": "linux"}, "16 colours"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "no colours (NO_COLOR)"),
    ],
)
def test_colours_follow_the_environment(
    user: Surroundings, environ: dict[str, str], colours: str
) -> None:
    assert doctor_checks.colours(with_environ(user, **environ)) == colours


@pytest.mark.parametrize(
    ("editor", "status"),
    [("sh -x", "ok"), ("no-such-editor", "warn"), ("'unclosed", "warn"), ("", "ok")],
)
def test_the_editor_must_be_a_program(
    user: Surroundings, tmp_path: Path, editor: str, status: str
) -> None:
    (tmp_path / "vi").write_text("#!/bin/sh\n")
    (tmp_path / "vi").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert doctor_checks.editor(with_environ(user, EDITOR=editor, PATH=path)).status == status


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux on this machine")
@pytest.mark.parametrize(("delay", "status"), [("500", "warn"), ("10", "ok")])
def test_a_slow_escape_key_in_tmux_is_a_warning(
    user: Surroundings, tmp_path: Path, delay: str, status: str
) -> None:
    conf, server = tmp_path / "conf", str(tmp_path / "t")
    conf.write_text(f"set -sg escape-time {delay}\n")
    environ = {**user.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    tmux = ["tmux", "-S", server, "-f", str(conf)]
    subprocess.run([*tmux, "new-session", "-d", "cat"], env=environ, check=True)
    try:
        assert doctor_checks.tmux(with_environ(user, TMUX=f"{server},0,0")).status == status
    finally:
        subprocess.run([*tmux, "kill-server"], env=environ, check=True)
