"""Debian's Chromium without a window, driven over its DevTools pipe: no driver, no port."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Page:
    """One tab: what it shows, what it complained of, what it asked the network for."""

    def __init__(self, to: int, answers: int) -> None:
        self._to = to
        self._from = answers
        self._left = b""
        self._last = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A DevTools command's answer."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (found := self._next()).get("id") != self._last:
            self._hear(found)
        assert "error" not in found, (method, found)
        return dict(found["result"])

    def open(self, path: Path, width: int, height: int = 900) -> None:
        """Loads a file into a window of that many pixels and waits until its scripts have run."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=path.absolute().as_uri())
        while (found := self._next()).get("method") != "Page.loadEventFired":
            self._hear(found)
        self.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")

    def ask(self, script: str) -> Any:
        """What the expression comes to in the page."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            more = os.read(self._from, 1 << 16)
            assert more, "Chromium has ended"
            self._left += more
        first, _, self._left = self._left.partition(b"\0")
        return dict(json.loads(first))

    def _hear(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(json.dumps(params["entry"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(params["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """A page in a Chromium of its own, which ends with it"""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # Chromium reads commands from descriptor 3 and answers on 4.
    start = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    quiet = ["--no-first-run", "--disable-background-networking", "--disable-extensions"]
    process = subprocess.Popen(
        ["bash", "-c", start, "chromium", *options, *quiet, f"--user-data-dir={profile}"],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Page(ours_out, ours_in)
    finally:
        os.close(ours_out)
        os.close(ours_in)
        process.terminate()
        process.wait(20)
