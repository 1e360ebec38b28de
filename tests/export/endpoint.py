"""A real HTTP server that takes what a stream pushes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from line_protocol_parser import parse_line


@dataclass
class Endpoint:
    """A database's address: it keeps what it takes, and answers with the next of `answers`, 204 in
    the end.
    """

    url: str
    answers: list[int] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def points(self) -> list[Any]:
        return [parse_line(line) for text in self.taken for line in text.splitlines()]


@contextmanager
def serving() -> Iterator[Endpoint]:
    """Serve an endpoint on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status = found.answers.pop(0) if found.answers else 204
            found.headers.append(dict(self.headers))
            if status == 204:
                found.taken.append(body)
            self.send_response(status)
            self.end_headers()
            if status != 204:
                self.wfile.write(b"not you\nmore")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Endpoint(f"http://127.0.0.1:{server.server_port}/write?db=bench")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
