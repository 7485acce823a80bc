"""Web servers as people put them before the page: on a free port, with a path prefix, plain or with headers for who asks.

    with Nginx(folder, url) as front: get(front.url, "/tools/synop/")
    with Apache(folder, url) as front: ...
"""

import os
import pathlib
import shutil
import socket
import subprocess

import pytest
from lib.programs import LIMIT, wait_until

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/log;
events {{ worker_connections 600; }}
http {{
  access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port};
    location {prefix} {{
      proxy_pass {url}/;
      proxy_http_version 1.1;
      proxy_buffering off;
      {more}
    }}
  }}
}}
"""
FORWARDED = """proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto https;
      proxy_set_header X-Forwarded-Host monitor.example;"""

APACHE = """
ServerRoot {folder}
PidFile {folder}/pid
ErrorLog {folder}/log
DefaultRuntimeDir {folder}
Listen 127.0.0.1:{port}
ServerName 127.0.0.1
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_http_module {modules}/mod_proxy_http.so
LoadModule headers_module {modules}/mod_headers.so
<Location "{prefix}">
  ProxyPass "{url}/" flushpackets=on
  {more}
</Location>
"""
FORWARDED_BY_APACHE = "RequestHeader set X-Forwarded-Proto https"  # the others it sets by itself


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Front:
    """`url`: that of the prefix, without the last slash."""

    program, config, words = "", "", ()

    def __init__(self, folder, to, prefix="/tools/synop/", more=""):
        program = shutil.which(self.program, path=f"{os.environ['PATH']}:/usr/sbin")
        if not program:
            pytest.skip(f"{self.program} is not installed")
        port = free_port()
        self.folder = pathlib.Path(folder) / f"{self.program}{port}"
        self.folder.mkdir()
        path = self.folder / "config"
        path.write_text(self.config.format(folder=self.folder, port=port, prefix=prefix, url=to, more=more,
                                           modules="/usr/lib/apache2/modules"))
        self.url = f"http://127.0.0.1:{port}{prefix.rstrip('/')}"
        words = [word.format(config=path, folder=self.folder) for word in self.words]
        self.process = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.answers(port), self.program)

    def answers(self, port):
        log = self.folder / "log"
        assert self.process.poll() is None, log.read_text() if log.exists() else self.program
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LIMIT)


class Nginx(Front):
    program, config, words = "nginx", NGINX, ("-c", "{config}", "-p", "{folder}")


class Apache(Front):
    """Debian's, with the configuration of docs/page.md."""

    program, config, words = "apache2", APACHE, ("-f", "{config}", "-D", "FOREGROUND")
