"""Pages of the programs, as a client of HTTP sees them."""

import base64
import http.client
import re
import ssl
import urllib.parse

from lib.programs import wait_until

OPENMETRICS = "application/openmetrics-text;version=1.0.0"


def url_of(program):
    """Where it says that it answers."""
    return wait_until(lambda: re.search(r"HTTP: (https?://\S+)/$", program.log(), re.MULTILINE), "an address of HTTP").group(1)


class Page:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def text(self):
        return self.body.decode()


def get(url, path="/", method="GET", user=None, trust=None, timeout=60, **headers):
    """`user`: "name:password"; `trust`: a file of certificates; headers as Accept_Encoding="gzip"."""
    parts = urllib.parse.urlsplit(url)
    context = ssl.create_default_context(cafile=trust) if trust else None
    made = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = made(parts.hostname, parts.port, timeout=timeout, **({"context": context} if context else {}))
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if user:
        sent["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
    try:
        connection.request(method, path, headers=sent)
        return Page(connection.getresponse())
    finally:
        connection.close()


def text_of(url, path, **more):
    """Of a page of values: "" as long as there is none."""
    page = get(url, path, **more)
    assert page.status in (200, 503), f"{path}: {page.status}"
    return page.text if page.status == 200 else ""


def samples(text):
    """{("name", (("label", "value"), ...)): "0.5"}: each series once."""
    made = {}
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        series, value = re.fullmatch(r"(\S+?(?:\{.*\})?) (\S+)(?: \S+)?", line).groups()
        name, _, labels = series.partition("{")
        key = name, tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)))
        assert key not in made, f"{line}: it is there twice"
        made[key] = value
    return made


def value(text, name, **labels):
    found = [number for (series, own), number in samples(text).items()
             if series == name and labels.items() <= dict(own).items()]
    assert len(found) == 1, f"{name} {labels}: {found}"
    return float(found[0])


def has(text, name, **labels):
    return any(series == name and labels.items() <= dict(own).items() for series, own in samples(text))
