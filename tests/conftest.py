"""Fixtures that several test folders share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import leftovers
from tests.e2e import forked
from tests.lab.sshd import SSHD, SshdLab

FAULTS = Path(__file__).parent / "faults"
# the others take minutes: `make soak`
QUICK_FAULTS = ("test_resume.py", "test_soak_short.py", "test_stop.py")
LEFT = pytest.StashKey[list[str]]()
# by default a fifth of the time of a test of the app goes into looking for garbage, and an eighth
# of collecting tests
GARBAGE = (50_000, 20, 50)

# what of an environment would steer programs under test; several processes hand on the size of
# their terminal
OF_THIS_TERMINAL = (
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "TMUX",
    "STY",
    "SSH_CONNECTION",
    "SSH_AUTH_SOCK",
)
OF_THIS_USER = ("LANGUAGE", "EDITOR", "VISUAL", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "BENCHTUI_HOME",
    "BENCHTUI_THEME",
                "BENCHTUI_SYMBOLS", "BENCHTUI_SHARED_RUNS",
                "BENCHTUI_STREAM_AUTHORIZATION")  # fmt: skip
PROXIES = ("http_proxy", "https_proxy", "all_proxy")

# the same examples every time: what passes here passes on every machine, however busy; `make soak`
# looks for new ones
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("suite", PATIENT, derandomize=True, max_examples=50)
settings.register_profile("search", PATIENT, max_examples=200, print_blob=True)
settings.load_profile("suite")


def is_worker(config: pytest.Config) -> bool:
    """Whether this is one of several processes that share the tests of a session."""
    return hasattr(config, "workerinput")


@pytest.hookimpl(trylast=True)  # pytest's own directory for temporary files is made by then
def pytest_configure(config: pytest.Config) -> None:
    """Mark what the session starts.

    Programs under test answer Ctrl-C, even where the session itself ignores it.
    """
    gc.set_threshold(*GARBAGE)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in (*OF_THIS_TERMINAL, *OF_THIS_USER, *PROXIES, *(name.upper() for name in PROXIES)):
        os.environ.pop(name, None)
    if not is_worker(config):
        leftovers.begin(base_of(config) / "tmp")


def pytest_collection_finish() -> None:
    """Thousands of tests that were collected are no garbage: nobody has to look through them
    again.
    """
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session that leaves something of its own on this machine."""
    forked.stop()
    gc.collect()
    gc.freeze()  # pytest looks for garbage five times more
    if is_worker(session.config) or session.config.option.collectonly:
        return
    session.config.stash[LEFT] = found = leftovers.left(base_of(session.config))
    if found and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name what the session has left."""
    for line in config.stash.get(LEFT, []):
        terminalreporter.line(f"left behind by the tests: {line}", red=True)


def base_of(config: pytest.Config) -> Path:
    """The directory that holds all temporary files of the session, those of its workers too."""
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    return factory.getbasetemp()


# files that several processes share are handed out in this order: those that take longest first,
# and last the many that take no time, so that no process has a long one left when the others are
# done
WAIT = ("faults", "e2e", "engine", "remote", "sources", "profiles")
COMPUTE = ("app", "cli")
FIRST = (*WAIT, *COMPUTE)
# so many that wait for hosts leave enough of a processor for one that computes
BESIDE = 3


def turn_of(item: pytest.Item) -> int:
    """When a test has its turn, by its folder.

    What is end to end in other folders comes with e2e.
    """
    folder = "e2e" if item.get_closest_marker("e2e") else item.path.parent.name
    return FIRST.index(folder) if folder in FIRST else len(FIRST)


def mixed(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield tests by file: after every few files that wait for hosts, one that computes."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in sorted(items, key=turn_of):
        files.setdefault(item.path, []).append(item)
    wait = [tests for tests in files.values() if turn_of(tests[0]) < len(WAIT)]
    compute = iter([tests for tests in files.values() if turn_of(tests[0]) >= len(WAIT)])
    for number, tests in enumerate(wait, 1):
        yield from tests
        if number % BESIDE == 0:
            yield from next(compute, [])
    for tests in compute:
        yield from tests


@pytest.hookimpl(tryfirst=True)  # before the slow ones are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the fault tests that are too slow for every change; what takes longest comes first."""
    items[:] = list(mixed(items))
    for item in items:
        if item.path.parent == FAULTS and item.path.name not in QUICK_FAULTS:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshdLab]:
    """Four real sshd instances, h1..h4, with known keys in `lab.ssh_config`."""
    if not Path(SSHD).exists():
        pytest.skip("no sshd on this machine")
    with SshdLab(tmp_path_factory.mktemp("lab")) as started:
        yield started


@pytest.fixture(scope="session", autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Locks of this test session alone: this machine may be under somebody's benchmark, or under
    another session.
    """
    before = os.environ.get("BENCHTUI_LOCKS")
    os.environ["BENCHTUI_LOCKS"] = str(tmp_path_factory.mktemp("locks"))
    yield
    if before is None:
        del os.environ["BENCHTUI_LOCKS"]
    else:
        os.environ["BENCHTUI_LOCKS"] = before


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A BENCHTUI_HOME of this test alone, empty."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("BENCHTUI_HOME", str(path))
    return path
