"""A client of the API: answers held to docs/openapi.json, and server-sent events."""

import http.client
import json
import pathlib
import socket
import urllib.parse

import jsonschema
from lib.programs import LIMIT
from lib.web import get

HTTP = "[http]\nlisten = 127.0.0.1:0\n"
API = "/api/v1/"
DESCRIPTION = json.loads((pathlib.Path(__file__).parents[2] / "docs/openapi.json").read_text())


def ask(url, path, status=200, **more):
    page = get(url, API + path, **more)
    assert page.status == status, f"{path}: {page.status} {page.text[:400]}"
    assert page.headers["Content-Type"] == "application/json", path
    return json.loads(page.text)


def check(document, name):
    schema = {"$ref": f"#/components/schemas/{name}", "components": DESCRIPTION["components"]}
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(document)
    return document


def error_of(url, path, status, parameter=None):
    """What is wrong, in the words of the answer."""
    error = check(ask(url, path, status), "Error")["error"]
    assert error.get("parameter") == parameter, error
    return error


class Stream:
    """Server-sent events, one after the other."""

    def __init__(self, url, query="", path="stream", receive=None):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.socket()
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(LIMIT)
        self.socket.connect((parts.hostname, parts.port))
        self.socket.sendall(f"GET {API}{path}?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.answer = http.client.HTTPResponse(self.socket)

    def begin(self):
        self.answer.begin()
        return self.answer.status

    def events(self):
        """The lines, and None for anything else; it ends with the answer."""
        data = b""
        while line := self.answer.readline():
            if line.startswith(b"data: "):
                data += line[6:]
            elif line == b"\n" and data:
                yield json.loads(data)
                data = b""

    def close(self):
        self.answer.close()
        self.socket.close()
