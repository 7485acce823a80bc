"""AWS' signature, version 4, of a request as it came: made anew by AWS' documentation, from the secret key."""

import hashlib
import hmac
import re

AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?"
                           r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$")


def keyed(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Signed:
    """What an Authorization header says; an AssertionError when it is no such header."""

    def __init__(self, authorization):
        match = AUTHORIZATION.match(authorization)
        assert match, authorization
        self.key, self.day, self.region, self.service, signed, self.signature = match.groups()
        self.headers = signed.split(";")

    def is_by(self, secret, method, path, query, headers, body):
        """`headers`: as email.message.Message, or a dict with names in lower case."""
        lines = [f"{name}:{' '.join((headers[name] or '').split())}" for name in self.headers]
        query = "&".join(sorted(part if "=" in part else part + "=" for part in query.split("&") if part))
        canonical = "\n".join([method, path, query, *lines, "", ";".join(self.headers), hashlib.sha256(body).hexdigest()])
        scope = f"{self.day}/{self.region}/{self.service}/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = b"AWS4" + secret.encode()
        for part in (self.day, self.region, self.service, "aws4_request"):
            key = keyed(key, part)
        return hmac.compare_digest(keyed(key, text).hex(), self.signature)
