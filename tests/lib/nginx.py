"""nginx as people put it before the page: on a free port, with a path prefix, plain or with its headers for who asks."""

import os
import pathlib
import shutil
import socket
import subprocess

import pytest
from lib.programs import LIMIT, wait_until

CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nginx:
    """`url`: that of the prefix, without the last slash."""

    def __init__(self, folder, to, prefix="/tools/synop/", more=""):
        program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        if not program:
            pytest.skip("nginx is not installed")
        self.folder = pathlib.Path(folder) / f"nginx{free_port()}"
        self.folder.mkdir()
        port = free_port()
        config = self.folder / "nginx.conf"
        config.write_text(CONFIG.format(folder=self.folder, port=port, prefix=prefix, url=to, more=more))
        self.url = f"http://127.0.0.1:{port}{prefix.rstrip('/')}"
        self.process = subprocess.Popen([program, "-c", str(config), "-p", str(self.folder)], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        wait_until(lambda: self.answers(port), "nginx")

    def answers(self, port):
        assert self.process.poll() is None, (self.folder / "nginx.log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LIMIT)
