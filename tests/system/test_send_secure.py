"""[send NAME] over TLS, and who it says it is: own authorities, certificates, bearer, Basic. Secrets are nowhere to be seen."""

import base64
import ssl
import subprocess
import urllib.parse
import urllib.request

import pytest
from lib.programs import LIMIT, wait_until
from lib.receivers import Prometheus
from lib.remote_write import Receiver
from test_send import check_whole, section, sender

SECRET = "wolf-1728-q"
BCRYPT = "$2b$04$MOe/YPE1c9ZfNJcqdIZBE.ZL4Bfn/S.O/AUmITeQPJM8Wv2nen0A6"  # of it


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=LIMIT)


@pytest.fixture
def papers(cluster):
    """The folder with an authority's certificate, ca.pem, and NAME.pem and NAME.key that it signed."""
    folder = cluster.folder / "papers"
    folder.mkdir()
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2, "-subj", "/CN=ours",
            "-keyout", folder / "ca.key", "-out", folder / "ca.pem")
    for name, end in (("server", "subjectAltName=IP:127.0.0.1\n"), ("client", "extendedKeyUsage=clientAuth\n")):
        (folder / "end").write_text(end)
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout",
                folder / f"{name}.key", "-out", folder / "request")
        openssl("x509", "-req", "-in", folder / "request", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key",
                "-CAcreateserial", "-days", 2, "-extfile", folder / "end", "-out", folder / f"{name}.pem")
    return folder


def wants_certificates(papers):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=papers / "ca.pem")
    context.load_cert_chain(papers / "server.pem", papers / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def start(cluster, receiver, *more):
    cluster.start_aggregator(config=section(receiver, more="\n".join(("retry = 200ms", *more))))
    cluster.start_nodes("n1")


def failing(cluster, words):
    wait_until(lambda: words in sender(cluster)["error"], f"an error with {words}")
    assert sender(cluster)["sent"] == sender(cluster)["dropped"] == 0


@pytest.mark.parametrize("left_out, words", [("ca", "certificate"), ("certificate", "alert"), ("", "")])
def test_certificates(cluster, papers, left_out, words):
    """Who cannot be checked gets nothing, and who cannot show who it is is let nowhere: all that waits, and is sent when it is
    mended."""
    lines = {"ca": f"ca = {papers}/ca.pem", "certificate": f"certificate = {papers}/client.pem\nkey = {papers}/client.key"}
    with Receiver(tls=wants_certificates(papers)) as receiver:
        start(cluster, receiver, *(line for name, line in lines.items() if name != left_out))
        if left_out:
            failing(cluster, words)
            assert not receiver.requests
        else:
            check_whole(cluster, receiver, "n1")


def test_another_host(cluster, papers):
    """A certificate that our authority signed, but for another host."""
    with Receiver(tls=wants_certificates(papers)) as receiver:
        receiver.url = receiver.url.replace("127.0.0.1", "localhost")
        start(cluster, receiver, f"ca = {papers}/ca.pem", f"certificate = {papers}/client.pem\nkey = {papers}/client.key")
        failing(cluster, "localhost")
        assert not receiver.requests


def hidden(cluster):
    """The secret is in no log, no argument, not in status."""
    shown = cluster.aggregator.log() + str(cluster.status()) + cluster.succeed("aggregator", "status", "--socket", cluster.socket)
    with open(f"/proc/{cluster.aggregator.pid}/cmdline", encoding="utf-8") as file:
        shown += file.read()
    return SECRET not in shown and base64.b64encode(f"synop:{SECRET}".encode()).decode() not in shown


@pytest.mark.parametrize("how", ["bearer", "basic"])
def test_words_of_who_it_is(cluster, how):
    """They are read from their file for each request: a new one holds at once. A file that is not there yet costs nothing."""
    path = cluster.folder / "secret"
    lines = {"bearer": f"bearer_file = {path}", "basic": f"user = synop\npassword_file = {path}"}

    def words(secret):
        return f"Bearer {secret}" if how == "bearer" else "Basic " + base64.b64encode(f"synop:{secret}".encode()).decode()

    state = {"secret": SECRET}
    with Receiver(allows=lambda headers: headers["Authorization"] == words(state["secret"])) as receiver:
        start(cluster, receiver, lines[how])
        failing(cluster, "secret: No such file")
        assert not receiver.requests
        cluster.write("secret", f"{SECRET}\n")
        check_whole(cluster, receiver, "n1")
        assert hidden(cluster)
        state["secret"] = "another"
        wait_until(lambda: sender(cluster)["dropped"] > 0, "samples that are refused")
        assert "401: who are you?" in cluster.aggregator.log()
        cluster.write("secret", "another\n")
        seen = receiver.samples()
        wait_until(lambda: receiver.samples() > seen, "samples again")
        assert hidden(cluster)


class Guarded(Prometheus):
    """It wants a certificate and a password."""

    def __init__(self, cluster, papers):
        super().__init__(cluster)
        self.papers = papers
        self.url = self.url.replace("http:", "https:")
        (self.folder / "web.yml").write_text(
            f"tls_server_config:\n  cert_file: {papers}/server.pem\n  key_file: {papers}/server.key\n"
            f"  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: {papers}/ca.pem\n"
            f"basic_auth_users:\n  synop: {BCRYPT}\n")

    def arguments(self):
        return [*super().arguments(), f"--web.config.file={self.folder}/web.yml"]

    def get(self, path, **arguments):
        context = ssl.create_default_context(cafile=self.papers / "ca.pem")
        context.load_cert_chain(self.papers / "client.pem", self.papers / "client.key")
        request = urllib.request.Request(f"https://{self.address}{path}?{urllib.parse.urlencode(arguments)}")
        request.add_header("Authorization", "Basic " + base64.b64encode(f"synop:{SECRET}".encode()).decode())
        with urllib.request.urlopen(request, timeout=LIMIT, context=context) as answer:
            return answer.read()


@pytest.mark.skipif(not Prometheus.path(), reason="there is no prometheus here")
def test_a_guarded_prometheus(cluster, papers):
    database = Guarded(cluster, papers).start()
    secret = cluster.write("secret", SECRET)
    start(cluster, database, f"ca = {papers}/ca.pem", f"certificate = {papers}/client.pem\nkey = {papers}/client.key",
          f"user = synop\npassword_file = {secret}")
    wait_until(lambda: sender(cluster)["sent"] > 300, "samples")
    assert sum(map(len, database.all().values())) > 300 and hidden(cluster)
    assert sender(cluster)["dropped"] == 0
