"""A real Chromium, driven over a pipe by its own protocol: real mouse, real keys, its console.

Knows the browser's protocol and no page of ours.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
TIMEOUT_S = 120.0
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-sync", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
    "--window-size=1280,900",
)  # fmt: skip


class Tab:
    """One page. complaints: what its console said and which errors it did not catch."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []

    def open(self, address: str) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page, promises awaited."""
        said = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def wait_for(self, condition: str) -> None:
        until = time.monotonic() + TIMEOUT_S
        while not self.run(condition):
            assert time.monotonic() < until, condition
            time.sleep(0.05)

    def mouse(self, kind: str, x: float, y: float, *, is_held: bool = False) -> None:
        """kind: mouseMoved, mousePressed or mouseReleased; x, y in CSS px; is_held: the button."""
        button: dict[str, Any] = {"button": "left", "clickCount": 1}
        if kind == "mouseMoved":
            button = {"button": "left", "buttons": 1} if is_held else {}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def next_frame(self) -> None:
        """Moves of the mouse are told to the page once a frame."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def click(self, x: float, y: float) -> None:
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def screenshot(self) -> str:
        return str(self.call("Page.captureScreenshot")["data"])

    def call(self, method: str, **params: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._number:
                assert "error" not in reply, (method, reply["error"])
                return reply["result"]
            self._note(reply)

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.complaints.append(json.dumps(event["params"])[:500])
        elif event.get("method") == "Log.entryAdded":
            self.complaints.append(event["params"]["entry"]["text"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], TIMEOUT_S)
            assert ready, "the browser does not answer"
            received = os.read(self._from, 1 << 20)
            assert received, "the browser has gone away"
            self._buffer += received
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


@contextmanager
def browsing(profile: Path) -> Iterator[Tab]:
    """A tab of a browser that ends with the block. profile: an empty folder for it."""
    browser_reads, we_write = os.pipe()
    we_read, browser_writes = os.pipe()
    # The protocol's pipe is descriptors 3 and 4 of the browser; a shell puts them there, from
    # numbers that cannot be among the two.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (browser_reads, browser_writes)]
    command = f'exec "$0" "$@" 3<&{ends[0]} 4>&{ends[1]}'
    process = subprocess.Popen(
        ["bash", "-c", command, str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=ends,
        stderr=subprocess.DEVNULL,
    )
    for end in (browser_reads, browser_writes, *ends):
        os.close(end)
    try:
        yield Tab(we_write, we_read)
    finally:
        process.terminate()
        process.wait(timeout=30)
        os.close(we_write)
        os.close(we_read)
