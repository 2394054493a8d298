"""A real Firefox for one UI test, driven over its own Marionette protocol: no driver program is needed.

Without Firefox, the test is skipped with a line that says so. `RPRS_FIREFOX` names the program, or is `required` to
make its absence a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("firefox-esr", "firefox")
NONE = "The test in Firefox requires it: install it (Debian: apt-get install firefox-esr), or name it in RPRS_FIREFOX"
START = 60  # seconds until Firefox accepts connections, and for each command
PREFERENCES = {
    "marionette.port": 0,  # a free one, which Firefox writes into its profile
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "privacy.resistFingerprinting": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.enabled": False,
}


class Firefox:
    """A window of Firefox, with the few commands that a test needs."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.stream, self.count = connection, connection.makefile("rb"), 0
        self._receive()  # the greeting
        self.command("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": False}}})
        self.command("WebDriver:SetTimeouts", {"script": START * 1000})

    def command(self, name: str, parameters: dict[str, Any] | None = None) -> Any:
        """Send a command and return its value."""
        self.count += 1
        body = json.dumps([0, self.count, name, parameters or {}]).encode()
        self.connection.sendall(b"%d:%b" % (len(body), body))
        _, _, error, value = self._receive()
        assert error is None, error["message"]
        return value.get("value", value) if isinstance(value, dict) else value

    def _receive(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self.stream.read(1) or pytest.fail("Firefox closed the connection")
        return json.loads(self.stream.read(int(length[:-1])))

    def open(self, url: str) -> None:
        """Go to an address and wait until it is loaded."""
        self.command("WebDriver:Navigate", {"url": url})

    def reload(self) -> None:
        """Load the page again."""
        self.command("WebDriver:Refresh")

    def resize(self, width: int, height: int) -> None:
        """Change the size of the window, including its frame."""
        self.command("WebDriver:SetWindowRect", {"width": width, "height": height})

    def evaluate(self, script: str, *arguments: Any) -> Any:
        """The value of a function body in the page."""
        parameters = {"script": script, "args": list(arguments), "sandbox": None, "newSandbox": False}
        return self.command("WebDriver:ExecuteScript", parameters)

    def find(self, selector: str) -> str:
        """The element that a selector finds first, once it is visible."""
        visible = "const one = document.querySelector(arguments[0]); return Boolean(one?.checkVisibility())"
        self.wait(visible, selector)
        value = self.command("WebDriver:FindElement", {"using": "css selector", "value": selector})
        return str(next(iter(value.values())))

    def click(self, selector: str) -> None:
        """Click on an element as a user does."""
        self.command("WebDriver:ElementClick", {"id": self.find(selector)})

    def type(self, selector: str, text: str) -> None:
        """Type into an element."""
        self.command("WebDriver:ElementSendKeys", {"id": self.find(selector), "text": text})

    def wait(self, script: str, *arguments: Any) -> None:
        """Wait until a function body in the page returns a true value."""
        until = time.monotonic() + START
        while not self.evaluate(script, *arguments):
            assert time.monotonic() < until, f"not within {START} seconds: {script} {arguments}"
            time.sleep(0.1)


@contextmanager
def firefox() -> Iterator[Firefox]:
    """A headless Firefox with a new profile."""
    requested = os.environ.get("RPRS_FIREFOX", "")
    names = NAMES if requested in ("", "required") else (requested,)
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        (pytest.fail if requested else pytest.skip)(NONE)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        profile = Path(folder)
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
        (profile / "user.js").write_text("\n".join(lines))
        command = [program, "--headless", "--no-remote", "--marionette", "--profile", folder, "about:blank"]
        environment = {**os.environ, "HOME": folder, "MOZ_HEADLESS": "1"}
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)
        try:
            with socket.create_connection(("127.0.0.1", _port(profile, process)), timeout=START) as connection:
                window = Firefox(connection)
                with window.stream:
                    yield window
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _port(profile: Path, process: subprocess.Popen[bytes]) -> int:
    file, until = profile / "MarionetteActivePort", time.monotonic() + START
    while not (file.exists() and file.read_text().strip()):
        assert process.poll() is None, f"Firefox ended with status {process.returncode}"
        assert time.monotonic() < until, "Firefox did not start"
        time.sleep(0.1)
    return int(file.read_text())
