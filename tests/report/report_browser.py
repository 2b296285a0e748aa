"""A small client for Chromium's DevTools protocol: start it headless, open a page, evaluate, press keys, take pictures.

Standard library only. Every wait is bounded, and leaving the ``with`` block ends the browser with all its processes.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --no-zygote --disable-dev-shm-usage --hide-scrollbars --mute-audio "
    "--host-resolver-rules=MAP&*&~NOTFOUND --remote-debugging-port=0"
)
START_SECONDS = 60
CALL_SECONDS = 30


def find_browser() -> str | None:
    """Path of an installed Chromium or Chrome, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A headless browser of its own with one page. ``problems`` gathers console errors, exceptions and requests."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._received = b""
        self._next = 0

    def __enter__(self) -> Browser:
        self._folder = tempfile.mkdtemp(prefix="report-browser-")
        flags = [flag.replace("&", " ") for flag in FLAGS.split()]
        self._process = subprocess.Popen(
            [self.program, *flags, f"--user-data-dir={self._folder}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._folder},
            start_new_session=True,
        )
        try:
            self._connect()
            page = next(t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page")
            attached = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser's whole process group and remove its profile folder."""
        if hasattr(self, "_socket"):
            with contextlib.suppress(OSError, TimeoutError, RuntimeError):
                self._call("Browser.close", wait=5)
            self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        for _ in range(20):  # its last helper processes may still be writing
            shutil.rmtree(self._folder, ignore_errors=True)
            if not os.path.exists(self._folder):
                break
            time.sleep(0.1)

    def open(
        self, page: Path, width: int, height: int, dark: bool = False, ratio: float = 1.0, still: bool = False
    ) -> None:
        """Load a file at a window size; dark: prefers-color-scheme; still: prefers-reduced-motion."""
        self.problems, self.requests = [], []
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=ratio,
            mobile=width < 600,
        )
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait("document.readyState === 'complete'")
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def evaluate(self, expression: str) -> Any:
        """The JSON value of an expression (or of the promise that it gives) in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 15) -> None:
        """Wait until an expression is true; TimeoutError after ``seconds``."""
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"not true after {seconds} seconds: {expression}")
            time.sleep(0.03)

    def press(self, key: str, code: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, text=key if len(key) == 1 else "")

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path: Path, whole: bool = True) -> None:
        """Write a PNG of the whole page, or of what the window shows."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One protocol call to the page."""
        return self._call(method, session=self._session, **parameters)

    def _call(
        self, method: str, session: str | None = None, wait: float = CALL_SECONDS, **parameters: Any
    ) -> dict[str, Any]:
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._send(json.dumps(message).encode())
        end = time.monotonic() + wait
        for text in self._messages(end):
            answer = json.loads(text)
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)
        raise TimeoutError(f"{method}: no answer after {wait} seconds")

    def _note(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"][:200])

    def _connect(self) -> None:
        """Find the port that the browser chose and open a WebSocket to it (RFC 6455)."""
        end = time.monotonic() + START_SECONDS
        announced = Path(self._folder, "DevToolsActivePort")
        while not (announced.exists() and announced.read_text().count("\n") >= 1):
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.program} did not start (status {self._process.poll()})")
            time.sleep(0.05)
        port, path = announced.read_text().split("\n")[:2]
        self._socket = socket.create_connection(("127.0.0.1", int(port)), timeout=CALL_SECONDS)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self._received:
            self._receive(end)
        head, self._received = self._received.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise RuntimeError(f"the browser refused the connection: {head[:200]!r}")

    def _send(self, data: bytes) -> None:
        mask = os.urandom(4)
        size = len(data)
        head = struct.pack("!BB", 0x81, 0x80 | size) if size < 126 else struct.pack("!BBH", 0x81, 0xFE, size & 0xFFFF)
        if size >= 65536:
            head = struct.pack("!BBQ", 0x81, 0xFF, size)
        repeated = mask * (size // 4 + 1)
        self._socket.sendall(head + mask + bytes(a ^ b for a, b in zip(data, repeated, strict=False)))

    def _messages(self, end: float) -> Iterator[bytes]:
        message = b""
        while time.monotonic() < end:
            first, second = self._take(2, end)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(self._take(2 if size == 126 else 8, end), "big")
            message += self._take(size, end)
            if first & 0x80:
                yield message
                message = b""

    def _take(self, size: int, end: float) -> bytes:
        while len(self._received) < size:
            self._receive(end)
        taken, self._received = self._received[:size], self._received[size:]
        return taken

    def _receive(self, end: float) -> None:
        self._socket.settimeout(max(0.01, end - time.monotonic()))
        block = self._socket.recv(1 << 20)
        if not block:
            raise RuntimeError("the browser closed the connection")
        self._received += block
