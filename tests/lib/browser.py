"""Pages in a real browser, for tests: the fixture `browser` gives one.

    tab = browser.open(url, width=1400, height=900, dark=True)
    tab.wait("document.querySelectorAll('tr').length > 3")
    tab.click("nav a"); tab.key("Tab"); tab.key("Shift+Tab"); tab.write("cpu")
    assert tab.evaluate("location.hash") == "#/cluster"
    tab.screenshot("/tmp/cluster.png"); assert tab.said() == [] and tab.accessibility() == []
"""

import base64
import json
import pathlib

import pytest
from lib.devtools import Chromium, ProtocolError, chromium
from lib.programs import LIMIT, ROOT, wait_until

AXE = ROOT / "build/tests/axe/axe.min.js"

# Key: code, number, what it writes.
KEYS = {
    "Enter": ("Enter", 13, "\r"), "Tab": ("Tab", 9, ""), "Escape": ("Escape", 27, ""), " ": ("Space", 32, " "),
    "Backspace": ("Backspace", 8, ""), "Delete": ("Delete", 46, ""), "Home": ("Home", 36, ""), "End": ("End", 35, ""),
    "PageUp": ("PageUp", 33, ""), "PageDown": ("PageDown", 34, ""), "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""), "ArrowRight": ("ArrowRight", 39, ""), "ArrowDown": ("ArrowDown", 40, ""),
}
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}


class Tab:
    def __init__(self, browser, login=None):
        self.browser, self.login = browser, login
        self.messages = []  # (level, text): of the console, of exceptions, of requests that failed
        self.requests = []  # addresses
        self.bytes = {}  # of the network, for each request
        self.target = browser.chromium.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.chromium.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.tabs[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network", "Performance"):
            self.call(f"{domain}.enable")
        if login:
            self.call("Fetch.enable", handleAuthRequests=True)

    def call(self, method, **params):
        return self.browser.chromium.call(method, self.session, **params)

    def hear(self, method, params):
        if method == "Runtime.consoleAPICalled":
            words = [str(one.get("value", one.get("description", one["type"]))) for one in params["args"]]
            self.messages.append((params["type"], " ".join(words)))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.messages.append(("error", details.get("exception", {}).get("description") or details["text"]))
        elif method == "Log.entryAdded":
            entry = params["entry"]
            self.messages.append((entry["level"], f"{entry['text']} {entry.get('url', '')}"))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.dataReceived":
            self.take_bytes(params["requestId"], params["encodedDataLength"])
        elif method == "Network.loadingFinished":  # with all of it
            self.take_bytes(params["requestId"], params["encodedDataLength"] - self.bytes.get(params["requestId"], 0))
        elif method == "Fetch.requestPaused":
            self.browser.chromium.send("Fetch.continueRequest", self.session, requestId=params["requestId"])
        elif method == "Fetch.authRequired":
            answer = {"response": "ProvideCredentials", "username": self.login[0], "password": self.login[1]}
            self.browser.chromium.send("Fetch.continueWithAuth", self.session, requestId=params["requestId"],
                                       authChallengeResponse=answer)

    def take_bytes(self, request, count):
        self.bytes[request] = self.bytes.get(request, 0) + max(0, count)

    @property
    def received(self):
        """Bytes of the network so far, as they came: compressed."""
        return int(sum(self.bytes.values()))

    # ---- going, looking ----

    def go(self, url):
        result = self.call("Page.navigate", url=url)
        if "errorText" in result:
            raise ProtocolError(f"{url}: {result['errorText']}")
        self.wait("document.readyState === 'complete'")
        return self

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, dark=False, still=False, paper=False):
        """As the user, or the medium, prefers it."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                    {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}]
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "", features=features)

    def evaluate(self, expression):
        """Its value, of a promise what becomes of it."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise ProtocolError(f"{expression[:200]}: {details.get('exception', {}).get('description', details['text'])}")
        return result["result"].get("value")

    def wait(self, condition, limit=LIMIT):
        """Until the expression is true; its value. One that throws is not true yet."""

        def value():
            try:
                return self.evaluate(condition)
            except ProtocolError as error:
                if "has ended" in str(error):
                    raise
                return None

        try:
            return wait_until(value, condition, limit)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.messages[-5:]}\n{self.text()[:2000]}") from None

    def text(self, selector="body"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def pump(self, seconds):
        """Lets time go by."""
        self.browser.chromium.pump(seconds)

    # ---- hands ----

    def place(self, selector):
        """The middle of an element, which is scrolled to; or selector is (x, y) itself."""
        if not isinstance(selector, str):
            return selector
        found = self.evaluate(f"""(() => {{
          const found = document.querySelector({json.dumps(selector)});
          found?.scrollIntoView({{block: 'nearest'}});
          const box = found?.getBoundingClientRect();
          return box && [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        assert found, f"{selector}: there is none"
        return found

    def hover(self, selector):
        x, y = self.place(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector):
        x, y = self.place(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, *keys):
        """Keys as "Tab", "a", "Shift+Tab", one after the other."""
        for key in keys:
            *held, name = key.split("+") if key != "+" else [key]
            modifiers = sum(MODIFIERS[one] for one in held)
            code, number, text = KEYS.get(name, ("", ord(name[0].upper()), name))
            if modifiers & ~MODIFIERS["Shift"]:
                text = ""
            event = {"key": name, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def write(self, text):
        self.call("Input.insertText", text=text)

    def focused(self):
        """The element with the focus: "a#jobs.current Jobs"."""
        return self.evaluate("""(() => {
          const at = document.activeElement;
          return [at.tagName.toLowerCase(), at.id && '#' + at.id, ...[...at.classList].map(one => '.' + one), ' ',
                  (at.getAttribute('aria-label') ?? at.innerText ?? '').slice(0, 60)].join('');
        })()""")

    # ---- what can be said of it ----

    def said(self, ignore=()):
        """Errors and warnings so far, but for those with one of these words."""
        self.pump(0)
        return [(level, text) for level, text in self.messages
                if level in ("error", "warning", "assert") and not any(word in text for word in ignore)]

    def screenshot(self, path, whole=False):
        """A PNG of what is seen, or of the whole document."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole,
                         **({"clip": self.evaluate("({x: 0, y: 0, width: document.documentElement.scrollWidth, "
                                                   "height: document.documentElement.scrollHeight, scale: 1})")} if whole else {}))
        pathlib.Path(path).write_bytes(base64.b64decode(data["data"]))

    def accessibility(self, *ignore):
        """What axe-core finds, but for rules of these names: a line for each element."""
        if not AXE.exists():
            pytest.skip("axe-core was not fetched: tests/setup.sh check")
        self.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        found = self.evaluate("axe.run(document, {resultTypes: ['violations']}).then(result => result.violations.map(one => "
                              "({id: one.id, help: one.help, nodes: one.nodes.map(node => node.html + ' ' + "
                              "(node.any.concat(node.all, node.none)[0]?.message ?? ''))})))")
        return [f"{one['id']}: {one['help']}: {node[:300]}" for one in found if one["id"] not in ignore for node in one["nodes"]]

    def figures(self):
        """Chromium's own: JSHeapUsedSize, Nodes, TaskDuration ..."""
        return {one["name"]: one["value"] for one in self.call("Performance.getMetrics")["metrics"]}

    def collect_garbage(self):
        self.call("HeapProfiler.collectGarbage")

    def hide(self, hidden=True):
        """As when another window covers it: document.hidden."""
        window = self.browser.chromium.call("Browser.getWindowForTarget", targetId=self.target)["windowId"]
        self.browser.chromium.call("Browser.setWindowBounds", windowId=window,
                                   bounds={"windowState": "minimized" if hidden else "normal"})
        self.wait(f"document.hidden === {json.dumps(hidden)}")

    def close(self):
        self.browser.chromium.call("Target.closeTarget", targetId=self.target)
        self.browser.tabs.pop(self.session)


class Browser:
    def __init__(self, *flags):
        self.chromium = Chromium(*flags)
        self.tabs = {}
        self.chromium.heard = self.hear

    def hear(self, session, method, params):
        if session in self.tabs:
            self.tabs[session].hear(method, params)

    def open(self, url, width=1400, height=900, dark=False, still=False, login=None):
        """A new tab; `login`: (user, password)."""
        tab = Tab(self, login)
        tab.size(width, height)
        tab.media(dark, still)
        return tab.go(url)

    def close(self):
        self.chromium.close()


def browser_or_skip(*flags):
    if not chromium():
        pytest.skip("chromium is not installed")
    return Browser(*flags)
