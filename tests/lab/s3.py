"""A real S3 server (moto) on 127.0.0.1 that checks signatures, behind a proxy for HTTP and one for
HTTPS, that a test may have fail or wait. The certificate is signed by itself: no host trusts it.

moto asks for no signature until the user and the bucket are made: that many requests are let
through.
"""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import urlencode

from tests.leftovers import mark
from tests.patience import PATIENCE_S

MOTO = os.environ.get("BENCHTUI_MOTO_SERVER") or shutil.which("moto_server")
BUCKET = "bench"
POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'
UNSIGNED = (
    "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/{}/aws4_request, SignedHeaders=host,"
    " Signature=x"
)
SETTING_UP = 4  # requests

KEPT = ("Content-Length", "Content-Range", "Content-Type", "ETag", "Last-Modified")
Answer = tuple[int, bytes, Mapping[str, str]]
"""Status, body and the headers that loads read."""

Fault = Callable[[str, int], int | None]
"""What to answer, by method and number (from 1) of a request: a status, or None for what the store
answers.
"""


def fio_with_http() -> str | None:
    """Return a fio that has the http engine: BENCHTUI_HTTP_FIO, or the one on PATH."""
    found = os.environ.get("BENCHTUI_HTTP_FIO") or shutil.which("fio")
    if found is None:
        return None
    answer = subprocess.run(
        [found, "--enghelp=http"], capture_output=True, timeout=PATIENCE_S, check=False
    )
    return found if answer.returncode == 0 else None


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self, handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        if context:  # the handshake is done by the thread of the connection
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        self._serving = threading.Thread(target=self.serve_forever, daemon=True)
        self._serving.start()

    def handle_error(self, *_: object) -> None:
        """Say nothing: a load that is stopped breaks its connections."""

    def end(self) -> None:
        """Answer no more requests."""
        self.shutdown()
        self.server_close()
        self._serving.join(PATIENCE_S)


def self_signed() -> ssl.SSLContext:
    """Return the TLS of a server with a new certificate for 127.0.0.1 that it signed itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = Path(folder) / "key.pem", Path(folder) / "certificate.pem"
        files = ["-keyout", str(key), "-out", str(certificate), "-nodes", "-days", "2"]
        name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        subprocess.run(
            ["openssl", "req", "-x509", *kind, *files, *name], capture_output=True, check=True
        )
        context.load_cert_chain(certificate, key)
    return context


class S3Lab:
    """The server, its proxy and the keys of its one user.

    `seen` counts requests by method and answered status.
    """

    def __init__(self) -> None:
        self.fault: Fault = lambda _method, _number: None
        self.seen: Counter[tuple[str, int]] = Counter()
        self.key_id = self.key = ""
        self._numbers: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        assert MOTO is not None
        environ = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": str(SETTING_UP)}
        name, _, value = mark().partition("=")
        self._moto = subprocess.Popen(
            [MOTO, "-H", "127.0.0.1", "-p", "0"],
            env={**environ, name: value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            self._port = self._said_port()
            self._drain = threading.Thread(target=self._forget, daemon=True)
            self._drain.start()
            self._set_up()
        except BaseException:
            self._end_moto()
            raise
        self._proxy = _Proxy(self._handler())
        self._tls_proxy = _Proxy(self._handler(), self_signed())
        return self

    def __exit__(self, *_: object) -> None:
        self._proxy.end()
        self._tls_proxy.end()
        self._end_moto()

    @property
    def endpoint(self) -> str:
        """Host and port as a load reaches it."""
        return f"127.0.0.1:{self._proxy.server_port}"

    @property
    def tls_endpoint(self) -> str:
        """Host and port that a load reaches over HTTPS."""
        return f"127.0.0.1:{self._tls_proxy.server_port}"

    @property
    def environ(self) -> dict[str, str]:
        """The keys as a person has them in the environment."""
        return {"AWS_ACCESS_KEY_ID": self.key_id, "AWS_SECRET_ACCESS_KEY": self.key}

    def again(self) -> None:
        """Forget what was asked, and fail no more."""
        self.fault = lambda _method, _number: None
        self.seen.clear()
        self._numbers.clear()

    def take(self, method: str, headers: dict[str, str], path: str, body: bytes) -> Answer:
        """Answer one request."""
        with self._lock:
            self._numbers[method] += 1
            number = self._numbers[method]
        status = self.fault(method, number)
        answer = (status, b"", {}) if status else self._forward(method, path, body, headers)
        with self._lock:
            self.seen[method, answer[0]] += 1
        return answer

    def _forward(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            kept = {name: text for name in KEPT if (text := answer.getheader(name)) is not None}
            return answer.status, answer.read(), kept
        finally:
            connection.close()

    def _said_port(self) -> int:
        assert self._moto.stderr is not None
        for line in self._moto.stderr:
            if found := re.search(r"Running on http://127\.0\.0\.1:(\d+)", line):
                return int(found[1])
        raise RuntimeError("moto_server ended before it said its port")

    def _forget(self) -> None:
        assert self._moto.stderr is not None
        for _ in self._moto.stderr:
            pass

    def _set_up(self) -> None:
        user = {"Version": "2010-05-08", "UserName": "u"}
        self._iam(Action="CreateUser", **user)
        made = self._iam(Action="CreateAccessKey", **user)
        self._iam(Action="PutUserPolicy", PolicyName="p", PolicyDocument=POLICY, **user)
        self.key_id, self.key = (
            _between(made, name) for name in ("AccessKeyId", "SecretAccessKey")
        )
        self._forward("PUT", f"/{BUCKET}", b"", {"Authorization": UNSIGNED.format("s3")})

    def _iam(self, **values: str) -> str:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        headers = {"Authorization": UNSIGNED.format("iam"), **kind}
        return self._forward("POST", "/", urlencode(values).encode(), headers)[1].decode()

    def _end_moto(self) -> None:
        self._moto.terminate()
        self._moto.wait(PATIENCE_S)
        if self._moto.stderr is not None:
            self._moto.stderr.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        lab = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True  # else the body waits for a delayed ACK of the head

            def handle_expect_100(self) -> bool:
                """Have the body sent: libcurl waits a second for this."""
                super().handle_expect_100()
                self.wfile.flush()
                return True

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, data, headers = lab.take(
                    self.command, dict(self.headers.items()), self.path, body
                )
                self.send_response(status)
                if status != 204:
                    length = headers.get("Content-Length", "0") if self.command == "HEAD" else ""
                    for name, text in {**headers, "Content-Length": length or len(data)}.items():
                        self.send_header(name, str(text))
                self.end_headers()
                self.wfile.write(b"" if status == 204 or self.command == "HEAD" else data)

            # names of the library
            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


def _between(text: str, tag: str) -> str:
    found = re.search(f"<{tag}>(.*?)</{tag}>", text)
    assert found is not None, text
    return found[1]
