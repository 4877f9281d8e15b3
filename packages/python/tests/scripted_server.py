"""A server that speaks the documented wire, as far as a test scripts it, on a real socket."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Mapping, Optional


@dataclass(frozen=True)
class Received:
    method: str
    #: Path and query as they came over the wire.
    target: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripted: ScriptedServer

    def answer_json(self, status: int, body: object, headers: Optional[Mapping[str, str]] = None) -> None:
        self.answer(status, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})})

    def answer(self, status: int, body: bytes, headers: Optional[Mapping[str, str]] = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin_events(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

    def send_text(self, text: str) -> None:
        self.wfile.write(text.encode())
        self.wfile.flush()

    def break_off(self) -> None:
        """Closes the connection in the middle of an answer, or before it."""
        self.close_connection = True
        self.connection.shutdown(2)

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            if headers.get("transfer-encoding") == "chunked":
                body = b"".join(iter(self._chunk, b""))
            else:
                body = self.rfile.read(int(headers.get("content-length", "0")))
            received = Received(self.command, self.path, headers, body)
            self.scripted.received.append(received)
            self.scripted.script(self, received)
        except OSError:
            # A client that breaks off is an ordinary part of these tests.
            self.scripted.left.set()
            self.close_connection = True

    def _chunk(self) -> bytes:
        line = self.rfile.readline()
        if line == b"":
            raise ConnectionResetError("the request ended before its body")
        size = int(line, 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve


class ScriptedServer:
    def __init__(self, script: Callable[[Handler, Received], None]) -> None:
        self.received: List[Received] = []
        #: Set when a client has closed its connection before the answer was complete.
        self.left = threading.Event()
        self.script = script
        handler = type("ScriptedHandler", (Handler,), {"scripted": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def answering(status: int, body: object) -> Callable[[Handler, Received], None]:
    return lambda handler, _: handler.answer_json(status, body)


def event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def output(stream: str, data: bytes) -> str:
    return event(stream, {"data": base64.b64encode(data).decode()})


EXIT: Dict[str, object] = {
    "exit_code": 0,
    "duration_ms": 12,
    "timed_out": False,
    "signal": None,
    "oom_killed": False,
    "truncated": False,
    "usage": {"cpu_ms": 3, "memory_peak_bytes": 4096},
}

SANDBOX: Dict[str, object] = {
    "id": "sbx_0",
    "name": None,
    "template": "base",
    "mode": "ephemeral",
    "size": "shared-cpu-1x",
    "status": "running",
    "timeout": "5m",
    "env": {"SECRET": "hush"},
    "metadata": {},
    "egress": {"mode": "allow_all", "allow_cidrs": [], "deny_cidrs": [], "allow_ports": [], "dns": True},
    "host_id": None,
    "created_at": "2026-11-20T16:21:09.123Z",
    "started_at": "2026-11-20T16:21:09.223Z",
    "expires_at": "2026-11-20T16:26:09.223Z",
    "paused_at": None,
    "snapshot_id": None,
    "destroyed_at": None,
    "reason": None,
}
