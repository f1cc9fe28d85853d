"""What several test files share."""

import base64
import json
from pathlib import Path

from countersign import Agent, AgentKey, CountersignError, MemoryNonceStore, Registry
from countersign._ed25519 import is_signature
from countersign.gateway import Gate

VECTORS = Path(__file__).resolve().parents[2] / "vectors"
SHOP = "https://shop.example"
DID = "svc:agent:7Xk2mPqRs9TuVwYz3AbCdEfG"


def vectors(name):
    """A file of test vectors, which all implementations share."""
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))


class FakeService(Registry):
    """A service in memory with one agent. ``status``: of its certificate; ``down``: whether it is unreachable."""

    def __init__(self):
        super().__init__("https://id.example")
        self.key = AgentKey.generate()
        self.sequence = 1
        self.status = "active"
        self.down = False
        self.calls = 0

    def call(self, method, path, body=None):
        self.calls += 1
        if self.down:
            raise CountersignError("NETWORK", "down")
        if path == "/api/v1/agent/verify":
            return self._verified(body)
        if DID.rpartition(":")[2] not in path:
            raise CountersignError("NOT_FOUND", "no such agent", 404)
        if path.startswith("/api/v1/agent/"):
            return {
                "verified": self.status == "active",
                "certificate": {"status": self.status},
                "owner": {"identityMethod": "in-person"},
            }
        return {
            "status": self.status,
            "publicKey": self.key.public_key,
            "keyThumbprint": self.key.thumbprint,
            "keySequence": self.sequence,
            "keyChangedAt": "2026-01-01T00:00:00.000Z",
        }


    def _verified(self, body):
        key, signature = (base64.b64decode(body[name]) for name in ("publicKey", "signature"))
        if not is_signature(key, body["challenge"].encode(), signature):
            raise CountersignError("INVALID_SIGNATURE", "forged", 401)
        if body["publicKey"] != self.key.public_key:
            raise CountersignError("NOT_FOUND", "no such key", 404)
        return {"verified": self.status == "active", "agent": {"svcDid": DID}, "identityLevel": "in-person"}


class Clock:
    """A clock that tests turn."""

    def __init__(self):
        self.seconds = 1_900_000_000.0

    def __call__(self):
        return self.seconds


class World:
    """A service, an agent, and a gate of ``https://shop.example`` that requires proof."""

    def __init__(self, **policy):
        self.clock = Clock()
        self.service = FakeService()
        nonces = MemoryNonceStore(now=self.clock)
        self.clock.seconds += 60
        self.gate = Gate(
            self.service,
            {"requireProof": True, **policy},
            audiences=[SHOP],
            nonces=nonces,
            now=self.clock,
            wall_clock=self.clock,
        )

    def agent(self, key=None):
        return Agent(self.service, key or self.service.key, did=DID, audiences=[SHOP], now=self.clock)

    def sign(self, method="GET", path="/", headers=(), body=None):
        return [*headers, *self.agent().sign_request(method, SHOP + path, headers, body)]
