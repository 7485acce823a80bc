"""chronyd beside the agents: what it believes about clocks that are in truth the same one.

chronyd -x estimates and sets nothing: the correction that it would apply ("System time" of `chronyc tracking`) is the
error of its estimate, as all hosts share CLOCK_REALTIME. It probes every 2 s from the start, which is as often as the
agents do in a run's minute, and has the kernel's timestamps of packets, which libzmq cannot give.
"""

import pathlib
import shutil
import subprocess

POLL = 1  # log2 of seconds


def lacking():
    missing = [tool for tool in ("chronyd", "chronyc") if not shutil.which(tool)]
    return f"{', '.join(missing)} not installed (chrony)" if missing else None


class Chrony:
    def __init__(self, folder, server, clients):
        self.folder, self.clients = pathlib.Path(folder), clients
        self.start(server, f"local stratum 1\nallow {server.address}/24\n")
        for host in clients:
            self.start(host, f"server {server.address} iburst minpoll {POLL} maxpoll {POLL}\nport 0\n")

    def socket(self, host):
        return self.folder / f"chrony-{host.name}.sock"

    def start(self, host, text):
        path = self.folder / f"chrony-{host.name}.conf"
        path.write_text(f"{text}cmdport 0\nbindcmdaddress {self.socket(host)}\n"
                        f"pidfile {self.folder}/chrony-{host.name}.pid\n")
        log = open(self.folder / f"chrony-{host.name}.log", "wb")
        host.start("chronyd", "-d", "-x", "-u", "root", "-f", path, stdout=log, stderr=log)

    def ask(self, host, *words):
        done = subprocess.run(["chronyc", "-c", "-h", str(self.socket(host)), *words], capture_output=True, text=True,
                              timeout=10, check=False)
        return done.stdout.strip().split(",")

    def looks(self):
        """For each client that is synchronised: (error, the bound it claims), in seconds."""
        found = []
        for host in self.clients:
            said = self.ask(host, "tracking")
            if len(said) > 12 and said[2] == "2":  # its stratum, once it has a source
                error, delay, dispersion = float(said[4]), float(said[10]), float(said[11])
                found.append((error, abs(error) + delay / 2 + dispersion))
        return found
