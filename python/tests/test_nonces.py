"""Stores of nonces after a start (vectors/nonce-stores.json), and requests that were accepted before it."""

import hashlib
import os
import subprocess
import sys

import pytest
from countersign import Agent, RawRequest
from countersign._ed25519 import base64url
from countersign.agent import challenge_nonce, sign_again_after
from countersign.gateway import Gate
from countersign.nonces import MemoryNonceStore, UsedNonce
from support import DID, SHOP, Clock, FakeService, vectors

FILE = vectors("nonce-stores")


def names(case):
    return case["name"]


@pytest.mark.parametrize("case", FILE["cases"], ids=names)
def test_store(case):
    origin = FILE["origin"]
    clock = Clock()
    clock.seconds = origin + case["start"]

    def start():
        return MemoryNonceStore(case.get("maxEntries", 200_000), now=clock)

    store, challenges = start(), {}
    for step in case["steps"]:
        clock.seconds = origin + step["at"]
        if step.get("restart"):
            store = start()
        if "challenge" in step:
            challenge = store.challenge()
            if step["challenge"] is None:
                assert challenge is None
            else:
                assert len(challenge) == 44 and challenge not in challenges.values()
                challenges[step["challenge"]] = challenge
        if "retryAfter" in step:
            assert store.retry_after_seconds(origin + step["createdAt"]) == step["retryAfter"]
        if "record" in step:
            record = step["record"]
            nonce = record["nonce"]
            if isinstance(nonce, dict):
                nonce = nonce.get("prefix", "") + challenges[nonce["challenge"]]
            digest = hashlib.sha256(f"{record['keyid']} {nonce}".encode("ascii")).digest()
            times = origin + record["createdAt"], origin + record["expiresAt"]
            assert store.record(UsedNonce(record["keyid"], nonce, base64url(digest), *times)) == step["outcome"]


@pytest.mark.parametrize("case", FILE["responses"], ids=names)
def test_nonce_of_a_response(case):
    assert challenge_nonce(case["status"], case["acceptSignature"]) == case["nonce"]
    later = 2.0 if case["later"] else None
    assert sign_again_after(case["status"], case["acceptSignature"], "2", 0) == later


@pytest.mark.parametrize(
    "retry_after, seconds",
    [
        ("0", 0),
        (" 35 ", 35),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 50),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0),
        (None, None),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
    ],
)
def test_time_to_sign_again(retry_after, seconds):
    assert sign_again_after(503, 'sig1=();tag="web-bot-auth"', retry_after, 10) == seconds


class Site:
    """``https://shop.example`` with a memory that a restart empties."""

    def __init__(self):
        self.clock = Clock()
        self.service = FakeService()
        self.restart()
        self.clock.seconds += 400

    def restart(self):
        self.gate = Gate(
            self.service,
            {"requireProof": True},
            audiences=[SHOP],
            now=self.clock,
            wall_clock=self.clock,
        )

    def sign(self, ahead=0, nonce=None):
        def now():
            return self.clock.seconds + ahead

        agent = Agent(self.service, self.service.key, did=DID, audiences=[SHOP], now=now)
        return agent.sign_request("POST", f"{SHOP}/orders", [], b"lamp", nonce)

    def send(self, headers):
        request = RawRequest("POST", "https", "shop.example", "/orders", headers, b"lamp")
        decision = self.gate.decide(request)
        denial = self.gate.denial(decision, request)
        status, fields, _ = denial or (200, [], b"")
        return status, dict(fields), decision


@pytest.mark.parametrize("ahead", [5, 20, 29])
def test_a_copy_is_not_admitted_after_a_restart(ahead):
    site = Site()
    headers = site.sign(ahead)
    assert site.send(headers)[0] == 200
    site.clock.seconds += 2
    for _ in range(0, 60 + ahead, 5):
        site.restart()
        site.clock.seconds += 1
        status, fields, decision = site.send(headers)
        assert status == 503
        assert [each.code for each in decision.reasons] == ["replay-unchecked", "proof-required"]
        assert 1 <= int(fields["retry-after"]) <= 65
        assert site.send(headers)[0] == 401
        site.clock.seconds += 4
    site.clock.seconds += 5
    status, _, decision = site.send(headers)
    assert (status, decision.signature.reason) == (401, "expired")


def test_who_signs_with_the_nonce_is_admitted_once():
    site = Site()
    site.restart()
    status, fields, _ = site.send(site.sign())
    assert status == 503
    nonce = challenge_nonce(status, fields["accept-signature"])
    headers = site.sign(nonce=nonce)
    assert [site.send(headers)[0], site.send(headers)[0]] == [200, 401]
    site.restart()
    assert site.send(headers)[0] == 503


def test_the_first_store_of_a_process_starts_with_it_and_a_fork_anew():
    program = """
import os, time, countersign.nonces as nonces
nonces._LOADED_AT -= 100
from countersign.nonces import MemoryNonceStore, UsedNonce
def outcome(store, n):
    now = int(time.time())
    return store.record(UsedNonce("k", n, n, now, now + 60))
first, second = MemoryNonceStore(), MemoryNonceStore()
print(outcome(first, "a"), outcome(second, "a"), flush=True)
boot = first._boot_id
if os.fork() == 0:
    print(outcome(first, "b"), outcome(MemoryNonceStore(), "b"), first._boot_id != boot, flush=True)
    os._exit(0)
os.wait()
print(outcome(first, "c"), first._boot_id == boot)
"""
    path = os.pathsep.join(each for each in sys.path if each)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split("\n")[:3] == ["fresh unchecked", "unchecked unchecked True", "fresh True"], ran.stdout
