"""`switchbed live metrics`: answers Prometheus with the statistics of a switch that runs.

A process of its own, without the switch's rights: it asks by the control socket, so that a slow
client delays no frame."""

import contextlib
import http.server
import os
import re
import socket
import socketserver
from collections.abc import Iterator
from pathlib import Path

from switchbed._native import Mistake
from switchbed.live import control, prometheus
from switchbed.terminal import say

PATH = "/metrics"
TIMEOUT_S = 10.0
"""A client that has not sent its request by then is disconnected."""


def serve(listen: str, switch: Path | None) -> None:
    """Answers until the process is stopped. `listen`: `HOST:PORT`, `[HOST]:PORT` or
    `unix:PATH`."""
    with _server(listen, switch) as server:
        say(f"switchbed: {_named(server, listen)}", err=True)
        server.serve_forever(poll_interval=0.1)


def _named(server: socketserver.TCPServer, listen: str) -> str:
    if isinstance(server, _Unix):
        return f"metrics at {listen}, path {PATH}"
    host, port = server.socket.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"metrics at http://{shown}:{port}{PATH}"


class _Handler(http.server.BaseHTTPRequestHandler):
    """One answer: the statistics at `PATH`."""

    server_version = "switchbed"
    sys_version = ""
    timeout = TIMEOUT_S
    switch: Path | None = None

    def do_GET(self) -> None:
        """Answers with the statistics, or says that no switch runs."""
        if self.path.partition("?")[0] != PATH:
            self._answer(404, f"there is {PATH}\n", prometheus.TEXT)
            return
        openmetrics = "application/openmetrics-text" in self.headers.get("Accept", "")
        try:
            stats = control.stats(control.find(self.switch))
        except Mistake as mistake:
            # The switch may start again: Prometheus shows the target as down meanwhile.
            self._answer(503, f"{mistake}\n", prometheus.TEXT)
            return
        kind = prometheus.OPENMETRICS if openmetrics else prometheus.TEXT
        self._answer(200, prometheus.text(stats, openmetrics=openmetrics), kind)

    def _answer(self, code: int, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Scrapes are not logged."""

    def address_string(self) -> str:
        """The client; of a Unix socket it has no name."""
        return "unix" if isinstance(self.client_address, str) else super().address_string()


class _Tcp(http.server.ThreadingHTTPServer):
    daemon_threads = True


class _Tcp6(_Tcp):
    address_family = socket.AF_INET6


class _Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@contextlib.contextmanager
def _server(listen: str, switch: Path | None) -> Iterator[socketserver.TCPServer]:
    handler = type("Handler", (_Handler,), {"switch": switch})
    made: socketserver.TCPServer
    try:
        if listen.startswith("unix:"):
            made = _Unix(_free(listen.removeprefix("unix:"), listen), handler)
        else:
            host, port = _address(listen)
            made = (_Tcp6 if ":" in host else _Tcp)((host, port), handler)
    except OSError as error:
        raise Mistake(f"--listen {listen}: {error.strerror or error}; name another") from error
    try:
        with made:
            yield made
    finally:
        if isinstance(made, _Unix):
            Path(listen.removeprefix("unix:")).unlink()


def _free(place: str, listen: str) -> str:
    """The path, if nothing is there."""
    if not place or os.path.lexists(place):
        raise Mistake(f"--listen {listen}: name a path at which there is nothing")
    return place


def _address(listen: str) -> tuple[str, int]:
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+)):([0-9]{1,5})", listen, re.ASCII)
    if found is None or int(found[3]) > 65535:
        raise Mistake(f"--listen {listen}: such as 127.0.0.1:9464 or unix:/run/metrics.sock")
    return found[1] or found[2], int(found[3])
