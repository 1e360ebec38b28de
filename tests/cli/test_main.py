from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tui
from tests.patience import PATIENCE_S
from tui.cli.main import main
from tui.cli.shared.arguments import HIDDEN, VERBS, WIDEST, columns, guard


def start(*arguments: str, home: Path, **options: int) -> subprocess.Popen[bytes]:
    """Start the command in a process of its own, with unbuffered pipes to both outputs."""
    return subprocess.Popen(
        [sys.executable, "-m", "tui", *arguments],
        env={**os.environ, "BENCHTUI_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=options.get("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
    )


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"benchtui {tui.__version__}\n"


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_names_every_verb_and_no_hidden_one(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 0
    out = capsys.readouterr().out
    assert [verb for verb in VERBS if f"\n  {verb} " not in out] == []
    assert [verb for verb in HIDDEN if f"\n  {verb} " in out] == []


def test_help_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([verb, "--help"])
    assert end.value.code == 0
    assert f"usage: benchtui {'[' if verb == 'app' else verb}" in capsys.readouterr().out


def test_an_unknown_verb_is_usage_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "list"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert (
        captured.err
        == "benchtui: unknown verb 'profile' (did you mean 'profiles'?); see benchtui --help\n"
    )


def test_a_job_may_begin_with_its_mix(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["70/30", "8k", "/mnt/a", "--hosts", "local", "--dry-run"]
    assert main(["run", *words]) == 0
    assert "rwmixread=70" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "run 8x /tmp",
            "'8x' is neither a load generator nor part of a job in words, such as 4k random read;"
            " load generators: elbencho, fio, io500, ior, mdtest",
        ),
        (
            "run weka/read-iops 4k",
            "weka/read-iops 4k: to change a parameter of a profile use --set 4k",
        ),
    ],
)
def test_words_that_are_no_job_are_refused(
    words: str, told: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err == f"benchtui: {told}\n"


WRONG = {
    "runs list --jsn": (
        "benchtui: runs list: unknown option --jsn (did you mean '--json'?); see benchtui runs list"
        " --help\n"
    ),
    "run": (
        "benchtui: run: the following arguments are required: PROFILE, KEY=VALUE; see benchtui run"
        " --help\n"
    ),
    "--ssh-config c runs list": (
        "benchtui: the verb must come first: benchtui runs ...; see benchtui --help\n"
    ),
    "--nosuch": "benchtui: unknown option --nosuch; see benchtui --help\n",
    "profiles show": (
        "benchtui: profiles show: the following arguments are required: NAME; see benchtui profiles"
        " show --help\n"
    ),
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_arguments_are_one_line_that_says_where_help_is(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(words.split())
    assert end.value.code == 2
    assert capsys.readouterr() == ("", WRONG[words])


@pytest.mark.parametrize("option", ["--inventory", "--ssh-config"])
def test_a_directory_where_a_file_is_meant_is_named(
    option: str, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hosts", "list", option, str(tmp_path)]) == 2
    assert f"{option} {tmp_path}: is a directory; name the" in capsys.readouterr().err


def test_a_foreseen_error_is_a_line_on_stderr_and_its_exit_code(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "show", "nothing-like-it"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("benchtui: no run 'nothing-like-it'")
    assert captured.err.count("\n") == 1


# the pipe breaks at the end, or at the first line
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", ["--help", "--version", "doctor", "doctor --json", "run --help"]
)
def test_a_reader_that_goes_away_leaves_no_traceback(
    home: Path, arguments: str, unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*arguments.split(), home=home, stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert err == b""


@pytest.mark.parametrize("arguments", ["--help", "run --help"])
def test_an_output_that_takes_nothing_is_a_line_on_stderr(arguments: str, home: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = start(*arguments.split(), home=home, stdout=full.fileno())
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (
        1,
        b"benchtui: cannot write the output: No space left on device\n",
    )


@pytest.mark.parametrize("arguments", ["doctor", "schema run", "hosts list"])
def test_closed_inputs_and_outputs_end_no_verb(home: Path, arguments: str) -> None:
    """Whatever is opened next would take their numbers."""
    command = f'exec "$0" -m tui {arguments} <&- >&-'
    environ = {**os.environ, "BENCHTUI_HOME": str(home)}
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable],
        env=environ,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


# Python's own, and in the locale C
@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_a_letter_that_the_terminal_does_not_have_ends_no_verb(
    errors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii", errors=errors))
    guard()
    print("±1 % caf\udce9")
    sys.stdout.flush()
    assert shown.getvalue() == b"?1 % caf?\n"


def test_the_standard_outputs_pass_colours_and_nothing_else_that_controls_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="utf-8"))
    guard()
    print("\r\x1b[K\x1b[32mok\x1b[0m\tü\x1b]0;N\x07\x9b1m\u202e\x1b[2J\r", flush=True)
    assert shown.getvalue().decode() == "\r\x1b[K\x1b[32mok\x1b[0m\tü ]0;N  1m  [2J \n"


def test_a_path_that_no_reader_saw_controls_no_terminal(tmp_path: Path) -> None:
    running = start("config", "path", home=tmp_path / "\x1b]0;N\x07")
    out, _ = running.communicate(timeout=PATIENCE_S)
    assert out == f"{tmp_path}/ ]0;N /config.yaml\n".encode()


INTERRUPTED_WHILE_IT_LOADS = """
import os, signal, sys
wanted = sys.argv[1]
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from tui.cli.main import entry
sys.argv = ["benchtui", "doctor"]
entry()
"""


@pytest.mark.parametrize("module", ["tui.cli.doctor", "tui.cli.doctor"])
def test_a_ctrl_c_while_modules_are_loaded_is_no_traceback(home: Path, module: str) -> None:
    words = [sys.executable, "-c", INTERRUPTED_WHILE_IT_LOADS, module]
    done = subprocess.run(words, capture_output=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize("wide", ["100000000", "-1", "wide"])
def test_columns_that_no_terminal_has_cost_no_memory(
    wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", wide)
    assert 0 < columns() <= WIDEST


def test_words_that_are_no_text_are_named_and_leave_no_run(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "demo/quick", "--hosts", "local", "--detach", "--note", "caf\udce9"]
    assert main(words) == 2
    assert capsys.readouterr().err.endswith("benchtui: 'caf\\udce9': not UTF-8 text\n")
    assert not (home / "runs").exists() or not list((home / "runs").iterdir())


def test_without_a_terminal_the_screens_say_so(home: Path) -> None:
    process = start(home=home)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert out == b""
    assert b"terminal" in err
    assert err.count(b"\n") == 1


def test_ctrl_c_ends_a_verb_with_130_and_no_traceback(home: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "profile.yaml")  # reading it takes for ever
    process = start("profiles", "check", str(tmp_path / "profile.yaml"), home=home)
    with (tmp_path / "profile.yaml").open("wb"):  # opens when the verb reads
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert b"Traceback" not in err
