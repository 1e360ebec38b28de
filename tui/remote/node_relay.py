"""Node side of a trunk: a starter that starts shells, and a relay between it and srun.

The source of this module is sent to nodes, after that of `frames`, so it needs Python 3.6 and the
standard library only. The starter has a step to itself: Slurm kills all processes of a step that
ends, and srun cancels a step on all nodes if one node fails. The relay's step may therefore end at
any time; the starter's ends after the last process started in it.

Kinds of frames to a node: `o` open a shell, `w` bytes for its stdin, `b` define a block of bytes,
`r` write a block, `e` end of stdin, `g` granted bytes, `d` drop, `p` ping, `q` leave when idle.
From a node: `h` hello, `1` and `2` stdout and stderr (empty: end of file), `x` exit status,
`g` granted bytes of stdin, `f` failure to start, `a` alive.
"""

import contextlib
import os
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from tui.remote.frames import GRANT_BYTES, PIECE_BYTES, WINDOW_BYTES, Framer, GarbledError, Joiner

ALIVE_S = 2.5
SILENCE_S = 30.0  # without a ping, after which the relay ends
LINGER_S = 60.0  # of a starter without relay and shells
MOST_BLOCKS_BYTES = 8 << 20
ONE = (
    "NNODES",
    "NPROCS",
    "NTASKS",
    "STEP_NUM_NODES",
    "STEP_NUM_TASKS",
    "TASKS_PER_NODE",
    "STEP_TASKS_PER_NODE",
)
FIRST = ("NODEID", "PROCID", "GTIDS")


def say(word: str) -> None:
    """Print a notice for the jump host: ``!WORD NODE``."""
    print(f"!{word} {node_name()}", flush=True)


def node_name() -> str:
    """Return the name that Slurm has for this node."""
    return os.environ.get("SLURMD_NODENAME", "")


def socket_name(token: str) -> str:
    """Return the starter's socket name: an abstract one, which disappears with the process."""
    return f"\0{token}-{node_name()}"  # several nodes may be one machine


def of_one_node() -> None:
    """Change Slurm's variables to those of a step on this node alone, because MPI libraries read
    them.
    """
    os.environ.update(("SLURM_" + name, "1") for name in ONE)
    os.environ.update(("SLURM_" + name, "0") for name in FIRST)
    os.environ.update(SLURM_STEP_NODELIST=node_name(), SLURM_JOB_NODELIST=node_name())
    os.environ.pop("SLURM_NTASKS_PER_NODE", None)


def is_ours(peer: socket.socket) -> bool:
    """Return whether the other end of a Unix socket belongs to this user."""
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(uid == os.getuid())


def relay(token: str) -> None:
    """Copy between srun and the starter on this node until either ends or srun is silent; then end
    this process.

    Without a starter of this user, reports that and returns.
    """
    starter = socket.socket(socket.AF_UNIX)
    try:
        starter.connect(socket_name(token))
    except OSError:
        say("no-starter")
        return
    if not is_ours(starter):
        say("no-starter")
        return
    starter.sendall(os.environ["SLURM_NODEID"].encode() + b"\n")
    threading.Thread(target=copy_down, args=(starter,), daemon=True).start()
    with contextlib.suppress(OSError):
        while True:
            data = starter.recv(65536)
            if not data:
                say("gone")
                break
            while data:
                data = data[os.write(1, data) :]
    os._exit(0)


def copy_down(starter: socket.socket) -> None:
    """Copy from srun to the starter; end the process at end of file or after a long silence."""
    with contextlib.suppress(OSError):
        while select.select([0], [], [], SILENCE_S)[0]:
            data = os.read(0, 65536)
            if not data:
                break
            starter.sendall(data)
    os._exit(0)


class Shell:
    """One /bin/sh and what its pipes hold.

    `hold` reports the end of its last descendant.
    """

    def __init__(self) -> None:
        self.hold, held = os.pipe()
        try:
            self.process = subprocess.Popen(
                ["/bin/sh"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=(held,),
                start_new_session=True,
            )
        except BaseException:
            os.close(self.hold)
            raise
        finally:
            os.close(held)
        pipes = (self.process.stdin, self.process.stdout, self.process.stderr)
        self.pipes = {b"%d" % at: pipe for at, pipe in enumerate(pipes) if pipe is not None}
        for pipe in self.pipes.values():
            os.set_blocking(pipe.fileno(), False)
        self.waiting = bytearray()  # for its stdin
        self.ends = False  # its stdin, after that
        self.unsaid = 0  # bytes of stdin written since the last grant
        self.room = {b"1": WINDOW_BYTES, b"2": WINDOW_BYTES}


class Link:
    """A connected relay, and the shells opened through it."""

    def __init__(self, peer: socket.socket) -> None:
        self.peer = peer
        self.name = b""  # unknown until the relay's first line
        self.read = bytearray()
        self.unsent = bytearray()
        self.shells = {}  # type: dict[int, Shell]
        self.blocks = {}  # type: dict[int, bytes]
        self.block_bytes = 0
        self.framer = Framer(b"")
        self.joiners = {}  # type: dict[bytes, Joiner]

    def put(self, channel: int, kind: bytes, data: bytes = b"") -> None:
        """Queue a frame."""
        self.unsent += self.framer.lines(channel, kind, data)


class Starter:
    """Starts shells for relays of this user that know the token."""

    def __init__(self, listening: socket.socket) -> None:
        self.listening = listening
        self.link = None  # type: Link | None
        self.watched = selectors.DefaultSelector()
        self.held = set()  # type: set[int]
        self.processes = []  # type: list[subprocess.Popen[bytes]]
        self.leaving = False
        self.alone_since = time.monotonic()
        self.alive_at = 0.0
        self.watched.register(listening.fileno(), selectors.EVENT_READ, self.accept)

    def serve(self) -> None:
        """Serve until asked to leave, or until no relay has been connected for LINGER_S.

        Continues while a process started here is running.
        """
        while self.held or not (self.leaving or self.is_forgotten()):
            for key, _ in self.watched.select(1.0):
                if self.watched.get_map().get(key.fd) is key:  # not closed by another's action
                    key.data()
            self.reap()
            self.tell_alive()
            self.flush()

    def is_forgotten(self) -> bool:
        """Return whether no relay has been connected for too long."""
        return self.link is None and time.monotonic() - self.alone_since > LINGER_S

    def accept(self) -> None:
        """Accept a relay, which replaces the previous one."""
        peer, _ = self.listening.accept()
        if not is_ours(peer):
            peer.close()
            return
        self.hang_up()
        peer.setblocking(False)
        self.link = Link(peer)
        self.leaving = False
        self.watched.register(peer.fileno(), selectors.EVENT_READ, self.hear)

    def hang_up(self) -> None:
        """Drop the relay and close the pipes of its shells."""
        link, self.link = self.link, None
        if link is None:
            return
        self.watched.unregister(link.peer.fileno())
        link.peer.close()
        for shell in link.shells.values():
            self.drop(shell)
        self.alone_since = time.monotonic()

    def hear(self) -> None:
        """Read what the relay sends."""
        link = self.link
        if link is None:
            return
        try:
            data = link.peer.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.hang_up()
            return
        link.read += data
        *lines, rest = bytes(link.read).split(b"\n")
        link.read = bytearray(rest)
        try:
            for line in lines:
                self.handle_line(link, line)
        except GarbledError:
            self.hang_up()

    def handle_line(self, link: Link, line: bytes) -> None:
        """Act on one line; ignore those for other nodes."""
        if not link.name:
            link.name = b"~" + line
            link.framer = Framer(line)
            link.put(0, b"h", node_name().encode())
            return
        name, _, rest = line.partition(b" ")
        if name not in (link.name, b"~*"):
            return
        frame = link.joiners.setdefault(name, Joiner()).frame(rest)
        if frame is not None:
            self.handle_frame(link, *frame)

    def handle_frame(self, link: Link, channel: int, kind: bytes, data: bytes) -> None:
        """Act on one frame. Raises GarbledError."""
        if kind == b"b":
            link.block_bytes += len(data)
            if link.block_bytes > MOST_BLOCKS_BYTES:
                raise GarbledError("too many blocks")
            link.blocks[channel] = data
        elif kind == b"q":
            self.leaving = True
        elif kind == b"o":
            self.open(link, channel)
        elif channel in link.shells:
            self.handle_shell_frame(link, channel, kind, data)

    def open(self, link: Link, channel: int) -> None:
        """Start a shell."""
        try:
            shell = link.shells[channel] = Shell()
        except (OSError, subprocess.SubprocessError) as error:
            link.put(channel, b"f", str(error).encode("utf-8", "replace")[:200])
            return
        self.held.add(shell.hold)
        self.watched.register(shell.hold, selectors.EVENT_READ, lambda: self.release(shell.hold))
        self.processes.append(shell.process)
        for kind in (b"1", b"2"):
            self.watch(shell, kind, lambda kind=kind: self.pass_on(channel, shell, kind))

    def watch(self, shell: Shell, kind: bytes, action: "object") -> None:
        """Watch a pipe of a shell."""
        event = selectors.EVENT_WRITE if kind == b"0" else selectors.EVENT_READ
        number = shell.pipes[kind].fileno()
        if number not in self.watched.get_map():
            self.watched.register(number, event, action)

    def rest(self, shell: Shell, kind: bytes) -> None:
        """Stop watching a pipe of a shell."""
        pipe = shell.pipes.get(kind)
        if pipe is not None and pipe.fileno() in self.watched.get_map():
            self.watched.unregister(pipe.fileno())

    def shut(self, shell: Shell, kind: bytes) -> None:
        """Close a pipe of a shell."""
        self.rest(shell, kind)
        pipe = shell.pipes.pop(kind, None)
        if pipe is not None:
            pipe.close()

    def release(self, hold: int) -> None:
        """Forget a shell whose last descendant has ended."""
        self.watched.unregister(hold)
        os.close(hold)
        self.held.discard(hold)

    def drop(self, shell: Shell) -> None:
        """Close a shell's pipes: the shell ends; a load that it started keeps running."""
        for kind in list(shell.pipes):
            self.shut(shell, kind)

    def handle_shell_frame(self, link: Link, channel: int, kind: bytes, data: bytes) -> None:
        """Act on one frame for a shell."""
        shell = link.shells[channel]
        if kind == b"d":
            del link.shells[channel]
            self.drop(shell)
        elif kind == b"g":
            shell.room[data[:1]] += int(data[1:])
            if data[:1] in shell.pipes:
                self.watch(
                    shell, data[:1], lambda kind=data[:1]: self.pass_on(channel, shell, kind)
                )
        elif kind in (b"w", b"r"):
            shell.waiting += link.blocks[int(data)] if kind == b"r" else data
            self.feed(channel, shell)
        elif kind == b"e":
            shell.ends = True
            self.feed(channel, shell)

    def feed(self, channel: int, shell: Shell) -> None:
        """Write waiting bytes to a shell's stdin, as many as it accepts; close it after the last
        byte.
        """
        pipe = shell.pipes.get(b"0")
        taken = len(shell.waiting)
        if pipe is not None and shell.waiting:
            try:
                taken = os.write(pipe.fileno(), shell.waiting[:65536])
            except BlockingIOError:
                taken = 0
            except OSError:  # it has ended: its output gives the reason
                self.shut(shell, b"0")
        del shell.waiting[:taken]
        shell.unsaid += taken
        if shell.unsaid >= GRANT_BYTES and self.link is not None:
            self.link.put(channel, b"g", b"%d" % shell.unsaid)
            shell.unsaid = 0
        if shell.waiting and b"0" in shell.pipes:
            self.watch(shell, b"0", lambda: self.feed(channel, shell))
        elif shell.ends:
            self.shut(shell, b"0")
        else:
            self.rest(shell, b"0")

    def pass_on(self, channel: int, shell: Shell, kind: bytes) -> None:
        """Send a shell's output, up to the number of bytes that the jump host has granted."""
        pipe, link = shell.pipes.get(kind), self.link
        if pipe is None or link is None:
            return
        if shell.room[kind] <= 0:
            self.rest(shell, kind)
            return
        try:
            data = os.read(pipe.fileno(), min(PIECE_BYTES, shell.room[kind]))
        except BlockingIOError:
            return
        shell.room[kind] -= len(data)
        link.put(channel, kind, data)
        if not data:
            self.shut(shell, kind)

    def reap(self) -> None:
        """Report the exit status of shells that have ended and whose output was sent."""
        self.processes = [each for each in self.processes if each.poll() is None]
        link = self.link
        for channel, shell in list(link.shells.items()) if link is not None else ():
            code = shell.process.returncode
            if link is not None and code is not None and not {b"1", b"2"} & set(shell.pipes):
                link.put(channel, b"x", b"%d" % (code if code >= 0 else 128 - code))
                del link.shells[channel]
                self.drop(shell)

    def tell_alive(self) -> None:
        """Send a sign of life if the last one is ALIVE_S old."""
        now = time.monotonic()
        if self.link is not None and self.link.name and now - self.alive_at >= ALIVE_S:
            self.alive_at = now
            self.link.put(0, b"a")

    def flush(self) -> None:
        """Send waiting bytes to the relay, as many as it accepts."""
        link = self.link
        if link is None:
            return
        try:
            while link.unsent:
                del link.unsent[: link.peer.send(link.unsent[:65536])]
        except BlockingIOError:
            pass
        except OSError:
            self.hang_up()
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.unsent else 0)
        if self.watched.get_key(link.peer.fileno()).events != events:
            self.watched.modify(link.peer.fileno(), events, self.hear)


def start(token: str) -> None:
    """Run the starter: announce that it is ready, detach from srun, then serve relays."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(socket_name(token))
    listening.listen(4)
    wake, waker = os.pipe()
    for end in (wake, waker):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    of_one_node()
    starter = Starter(listening)
    starter.watched.register(wake, selectors.EVENT_READ, lambda: os.read(wake, 4096))
    say("ready")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    starter.serve()


def main(mode: str, token: str) -> None:
    """Run as starter or relay."""
    (start if mode == "start" else relay)(token)


if __name__ == "__main__":
    main(*sys.argv[1:])
