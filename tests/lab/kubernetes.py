"""A stand-in for the API server of Kubernetes: pods are listed, got, and entered by `kubectl exec`.

Commands run as a kubelet runs them: with the streams of the WebSocket protocol
`v5.channel.k8s.io`, and on after the client is gone, with their stdin closed.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import os
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any, NamedTuple, Self
from urllib.parse import parse_qs, urlparse

TOOL = "kubectl"
CONTEXT = "the lab"  # a name of a context may have blanks
PROTOCOL = "v5.channel.k8s.io"
STDIN, STDOUT, STDERR, STATUS, CLOSE = 0, 1, 2, 3, 255  # the first byte of a message
BINARY, GOODBYE, PING, PONG = 2, 8, 9, 10  # opcodes of frames
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455
PIECE = 1 << 15


@functools.cache  # asked by several test modules
def missing() -> str:
    """Why kubectl cannot be tested here; empty when it can.

    The one of Debian 12 is 1.20, which execs by SPDY alone.
    """
    if (tool := shutil.which(TOOL)) is None:
        return "needs kubectl"
    words = [tool, "version", "--client", "--output=json"]
    done = subprocess.run(words, capture_output=True, check=False)
    minor = json.loads(done.stdout)["clientVersion"]["minor"]
    return "" if int(minor.rstrip("+")) >= 31 else "needs kubectl 1.31: exec by WebSocket"


class Pod(NamedTuple):
    """A pod of the namespace `storage`; `enter` are the words before a command that runs in it."""

    name: str
    label: str = "app=bench"
    phase: str = "Running"
    metadata: Mapping[str, str] = {}
    enter: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as the API server does."""
        return {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": self.name, "namespace": "storage", **self.metadata},
            "spec": {"containers": [{"name": "main"}]},
            "status": {"phase": self.phase},
        }


class Cluster:
    """A context manager; `environ` has what makes kubectl speak to this one."""

    def __init__(self, root: Path, pods: Iterable[Pod]) -> None:
        self.pods = {pod.name: pod for pod in pods}
        self.environ = {"KUBECONFIG": str(root / "kubeconfig"), "HOME": str(root)}
        self.sockets: set[socket.socket] = set()  # of execs that go on
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        place = {"server": f"http://127.0.0.1:{self._server.server_port}"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": place}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
            "current-context": CONTEXT,
        }
        Path(self.environ["KUBECONFIG"]).write_text(json.dumps(config))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[_ApiServer]:
        return type("ApiServer", (_ApiServer,), {"cluster": self})

    def drop(self) -> int:
        """End every exec that goes on, as an API server that restarts; return how many."""
        dropped = list(self.sockets)
        for each in dropped:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        return len(dropped)


class Exec:
    """A command in a pod, with the streams of one WebSocket."""

    def __init__(self, words: Sequence[str], to_client: BufferedIOBase) -> None:
        self._to_client, self._lock = to_client, threading.Lock()
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._pumps = [
            threading.Thread(target=self._pump, args=each, daemon=True)
            for each in ((STDOUT, self._process.stdout), (STDERR, self._process.stderr))
        ]
        threading.Thread(target=self._tell_end, daemon=True).start()

    def serve(self, from_client: BufferedIOBase) -> None:
        """Pass on what the client sends, until it is gone."""
        assert self._process.stdin is not None
        with self._process.stdin as stdin, contextlib.suppress(OSError, EOFError):
            while True:
                opcode, message = _frame(from_client)
                if opcode == PING:
                    self._send(PONG, message)
                elif opcode == GOODBYE:
                    return
                elif message[:1] == bytes([STDIN]):
                    with contextlib.suppress(OSError, ValueError):  # it may read no more
                        stdin.write(message[1:])
                        stdin.flush()
                elif message == bytes([CLOSE, STDIN]):
                    with contextlib.suppress(OSError):
                        stdin.close()

    def _pump(self, channel: int, stream: IO[bytes]) -> None:
        while data := os.read(stream.fileno(), PIECE):
            self._send(BINARY, bytes([channel]) + data)
        stream.close()

    def _tell_end(self) -> None:
        for pump in self._pumps:
            pump.start()
        code = self._process.wait()
        for pump in self._pumps:
            pump.join()
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        if code:
            causes = [{"reason": "ExitCode", "message": str(code % 256)}]
            told = {"reason": "NonZeroExitCode", "message": f"exit code {code}"}
            status |= {"status": "Failure", **told, "details": {"causes": causes}}
        self._send(BINARY, bytes([STATUS]) + json.dumps(status).encode())
        self._send(GOODBYE, struct.pack("!H", 1000))

    def _send(self, opcode: int, message: bytes) -> None:
        """Send a frame; a client that is gone misses it, and the command goes on."""
        size = len(message)
        head = struct.pack("!BB", 0x80 | opcode, size if size < 126 else 126)
        if size >= 126:
            head += struct.pack("!H", size)
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._to_client.write(head + message)
            self._to_client.flush()


def _frame(stream: BufferedIOBase) -> tuple[int, bytes]:
    """Read a frame of a client: its opcode and its message. Raises EOFError."""
    first, second = _exactly(stream, 2)
    size = second & 0x7F
    if size >= 126:
        size = int.from_bytes(_exactly(stream, 2 if size == 126 else 8), "big")
    mask = _exactly(stream, 4)
    masked = _exactly(stream, size)
    key = (mask * (size // 4 + 1))[:size]
    clear = int.from_bytes(masked, "big") ^ int.from_bytes(key, "big")
    return first & 0x0F, clear.to_bytes(size, "big")


def _exactly(stream: BufferedIOBase, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


class _ApiServer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster: Cluster

    def do_GET(self) -> None:
        asked = urlparse(self.path)
        query = parse_qs(asked.query)
        match asked.path.removeprefix("/api/v1/namespaces/").split("/"):
            case ["storage", "pods", name, "exec"] if name in self.cluster.pods:
                self._exec([*self.cluster.pods[name].enter, *query["command"]])
            case ["storage", "pods", name] if name in self.cluster.pods:
                self._answer(self.cluster.pods[name].as_json())
            case [_, "pods", name, *_]:
                told = {"message": f'pods "{name}" not found', "reason": "NotFound"}
                self._answer({"kind": "Status", "status": "Failure", "code": 404, **told}, 404)
            case [namespace, "pods"]:
                label = query.get("labelSelector", [""])[0]
                there = self.cluster.pods.values() if namespace == "storage" else ()
                found = [pod.as_json() for pod in there if pod.label == label]
                self._answer({"kind": "PodList", "apiVersion": "v1", "items": found})
            case _:
                self._answer(_discovered(asked.path))

    def _exec(self, words: Sequence[str]) -> None:
        if PROTOCOL not in self.headers.get("Sec-WebSocket-Protocol", ""):
            self.send_error(400, f"{PROTOCOL} is spoken here")
            return
        key = self.headers["Sec-WebSocket-Key"] + MAGIC
        proof = base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest())
        self.send_response(101)
        for name, value in (
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", proof.decode()),
            ("Sec-WebSocket-Protocol", PROTOCOL),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        self.cluster.sockets.add(self.connection)
        try:
            Exec(words, self.wfile).serve(self.rfile)
        finally:
            self.cluster.sockets.discard(self.connection)

    def _answer(self, answer: Mapping[str, Any], status: int = 200) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


def _discovered(path: str) -> dict[str, Any]:
    """Return what kubectl asks first: which kinds of things there are."""
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/api/v1":
        verbs = {"name": "pods", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}
        return {"kind": "APIResourceList", "groupVersion": "v1", "resources": [verbs]}
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
