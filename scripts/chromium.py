"""Headless Chromium, driven by chromedriver, for scripts that measure or photograph the page of a session."""

import base64
import json
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
         "--disable-component-update", "--no-first-run", "--no-proxy-server", "--hide-scrollbars",
         # Nothing outside of this machine is asked.
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


class Browser:
    """A browser with one tab; ends with the `with` block."""

    def __init__(self, profile):
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        driver = shutil.which("chromedriver")
        if not chromium or not driver:
            sys.exit("error: chromium and chromedriver are needed (scripts/install-tools chromium)")
        self.driver = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = next(found.group(1) for line in self.driver.stdout if (found := re.search(r"successfully on port (\d+)", line)))
        self.base = f"http://127.0.0.1:{port}/session"
        options = {"binary": chromium, "args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"performance": "ALL"}}
        self.base += "/" + self.send("POST", "", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("DELETE", "")
        finally:
            self.driver.kill()
            self.driver.wait()

    def send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, method=method, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            sys.exit(f"error: {method} {path}: {json.load(error)['value']['message']}")

    def open(self, url):
        self.send("POST", "/url", {"url": url})

    def script(self, script, *arguments):
        return self.send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def protocol(self, command, **parameters):
        return self.send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self):
        """What the browser did since the last call, as (method, parameters)."""
        entries = self.send("POST", "/se/log", {"type": "performance"})
        messages = (json.loads(entry["message"])["message"] for entry in entries)
        return [(message["method"], message["params"]) for message in messages]

    def wait(self, script, *arguments):
        """Waits until a function body returns something true, and returns it."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if found := self.script(script, *arguments):
                return found
            time.sleep(0.02)
        sys.exit(f"error: the page never got there: {script}\n{self.script('return document.body.innerText')}")

    def show_as(self, width, height, scheme, scale=1):
        self.protocol("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                      mobile=width < 500)
        self.protocol("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self):
        return base64.b64decode(self.send("GET", "/screenshot"))
