"""An issuer of certificates with its status lists, its feed and its snapshot, on a real server."""

import base64
import hashlib
import json
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from countersign import AgentKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support import DID

EPOCH = "AAECAwQFBgcICQoLDA0ODw"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def jwk_of(private):
    key = AgentKey(private)
    return {"kty": "OKP", "crv": "Ed25519", "x": encode(base64.b64decode(key.public_key)), "kid": key.thumbprint}


class Issuer:
    """``now`` is its clock, in seconds. ``instead`` maps a path to a function that gets the status and the body of the response,
    and returns others. ``asked`` has the paths of requests."""

    def __init__(self, now=time.time):
        self.now = now
        self.keys = [Ed25519PrivateKey.generate()]
        self.agent = AgentKey.generate()
        self.lists = {1: bytearray(32_768)}
        self.window = 64
        self.asked = []
        self.instead = {}
        self.begin_epoch(EPOCH)
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer._answer(self)

            def log_message(self, *_args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        self.begin_epoch(EPOCH)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def begin_epoch(self, epoch):
        self.epoch = epoch
        self.changes = []
        self.chain = [self._sha256(f"countersign-feed-v1\n{getattr(self, 'origin', '')}\n{epoch}\n".encode())]

    @staticmethod
    def _sha256(data):
        return hashlib.sha256(data).digest()

    @property
    def n(self):
        return len(self.changes)

    def change(self, status, idx=7, number=1):
        """Changes an entry."""
        entries = self.lists.setdefault(number, bytearray(32_768))
        shift = (idx & 3) * 2
        entries[idx >> 2] = entries[idx >> 2] & ~(3 << shift) | status << shift
        line = {"n": self.n + 1, "list": number, "idx": idx, "status": status}
        self.chain.append(self._sha256(self.chain[-1] + "{n} {list} {idx} {status}\n".format(**line).encode()))
        self.changes.append(line)

    def sign(self, typ, claims, key=None):
        key = key or self.keys[0]
        header = {"alg": "EdDSA", "kid": jwk_of(key)["kid"], "typ": typ}
        text = ".".join(encode(json.dumps(each).encode()) for each in (header, claims))
        return f"{text}.{encode(key.sign(text.encode()))}"

    def position(self):
        return {"epoch": self.epoch, "n": self.n, "chain": encode(self.chain[-1]), "asOf": round(self.now() * 1000)}

    def _times(self, lifetime):
        iat = int(self.now())
        return {"iss": self.origin, "iat": iat, "exp": iat + lifetime}

    def head(self, key=None, **claims):
        claims = {**self._times(60), **self.position(), "mark": encode(bytes(52)), **claims}
        return self.sign("svc-feed+jwt", claims, key)

    def snapshot(self):
        hashes = [{"list": number, "hash": encode(self._sha256(each))} for number, each in self.lists.items()]
        manifest = self.sign("svc-snapshot+jwt", {**self._times(600), **self.position(), "lists": hashes})
        lists = [{"list": number, "lst": encode(zlib.compress(each))} for number, each in self.lists.items()]
        return {"manifest": manifest, "head": self.head(), "lists": lists}

    def status_list(self, number):
        claims = {
            "sub": f"{self.origin}/status/{number}",
            **self._times(600),
            "ttl": 30,
            "feed": {"epoch": self.epoch, "n": self.n},
            "status_list": {"bits": 2, "lst": encode(zlib.compress(self.lists[number]))},
        }
        return self.sign("statuslist+jwt", claims)

    def certificate(self, idx=7, number=1, key=None):
        x = encode(base64.b64decode(self.agent.public_key))
        claims = {
            **self._times(86_400),
            "sub": DID,
            "jti": "AAECAwQFBgcICQoLDA0ODw",
            "vct": f"{self.origin}/credentials/agent-certificate",
            "cnf": {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": x}},
            "status": {"status_list": {"uri": f"{self.origin}/status/{number}", "idx": idx}},
            "identityMethod": None,
            "identityLevel": "unverified",
            "assurance": None,
            "grade": "D",
            "policyVersion": 1,
            "keySequence": 1,
            "keyChangedAt": "2026-01-01T00:00:00.000Z",
            "did_web": f"did:web:id.example:agent:{DID}",
        }
        return self.sign("dc+sd-jwt", claims, key)

    def staple(self, status, **claims):
        claims = {
            **self._times(900),
            "sub": DID,
            "cnf": {"jkt": self.agent.thumbprint},
            "agentStatus": status,
            "grade": "D",
            "feed": {"epoch": self.epoch, "n": self.n},
            **claims,
        }
        return self.sign("svc-status+jwt", claims)

    def lines(self, after, head=None):
        lines = [*self.changes[after:], {"head": head or self.head()}]
        return "".join(json.dumps(each) + "\n" for each in lines)

    def latest(self):
        return self.lines(max(0, self.n - self.window))

    def _answer(self, handler):
        url = urlsplit(handler.path)
        self.asked.append(url.path)
        status, body = self._body_of(url)
        instead = self.instead.get(url.path)
        if instead is not None:
            status, body = instead(status, body)
        data = body if isinstance(body, bytes) else body.encode()
        handler.send_response(status)
        if 300 <= status < 400:
            handler.send_header("Location", body)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _body_of(self, url):
        if url.path == "/.well-known/jwks.json":
            return 200, json.dumps({"keys": [jwk_of(each) for each in self.keys]})
        if url.path == "/api/v1/snapshot":
            return 200, json.dumps(self.snapshot())
        if url.path == "/api/v1/feed/latest":
            return 200, self.latest()
        if url.path == "/api/v1/feed":
            after = parse_qs(url.query)["after"][0].split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(after + "=="))
            if claims["epoch"] == self.epoch and claims["n"] > self.n:
                # Changes were lost.
                self.begin_epoch(self.epoch[::-1])
            return (200, self.lines(claims["n"])) if claims["epoch"] == self.epoch else (410, "{}")
        if url.path.startswith("/status/") and int(url.path[8:]) in self.lists:
            return 200, self.status_list(int(url.path[8:]))
        return 404, "{}"
