"""Requests with approvals that every implementation must decide alike, and what a passkey signs (vectors/approvals.json)."""

import base64
import hashlib
import json

import pytest
from countersign import ApprovalPolicy, CountersignError, DelegationPolicy, MemoryNonceStore, RawRequest, Registry
from countersign import verify_request
from support import Clock, vectors

FILE = vectors("approvals")
NOW = FILE["now"] / 1000
BY_NAME = {case["name"]: case for case in FILE["valid"]}
AGENTS = {each["did"]: each for each in FILE["agents"]}


class Service(Registry):
    """The service of the file: its keys, its status list and what it says of its agents."""

    def __init__(self):
        super().__init__(FILE["issuer"], FILE["shortName"], FILE["idHeader"])

    def _send(self, method, path, *_more):
        if path == "/.well-known/jwks.json":
            return json.dumps(FILE["keySet"]).encode(), 200
        if path == "/status/1":
            return FILE["statusList"].encode(), 200
        for did, agent in AGENTS.items():
            if path.endswith(f"/{did}") or path.endswith(did.rpartition(":")[2]):
                key = base64.b64encode(bytes.fromhex(agent["publicKeyHex"])).decode()
                found = {**agent, "keyThumbprint": agent["keyid"], "publicKey": key, "svcDid": did}
                return json.dumps(found).encode(), 200
        raise CountersignError("NOT_FOUND", path, 404)


def verifier_of(case):
    """A verifier with a store that began 600 seconds ago."""
    clock = Clock()
    clock.seconds = NOW - 600
    nonces = MemoryNonceStore(now=clock)
    clock.seconds = NOW
    policy = case.get("policy", FILE["policy"])
    approval = ApprovalPolicy(policy["maxAgeSeconds"], tuple(policy["by"]), policy["bodyCheckedByApplication"])
    accepted = FILE["delegation"]
    delegation = DelegationPolicy(accepted["maxDepth"], accepted["maxSeconds"], accepted["mcp"])
    service = Service()

    def verify(of):
        given = dict(of["request"])
        body, headers = given.pop("body"), [tuple(each) for each in given.pop("headers")]
        request = RawRequest(**given, headers=headers, body=b"" if body is None else body.encode("utf-8"))
        return verify_request(
            request, service, FILE["audiences"], nonces, clock, delegation=delegation, approval=approval
        )

    return verify


@pytest.mark.parametrize("case", FILE["valid"], ids=lambda case: case["name"])
def test_valid(case):
    result = verifier_of(case)(case)
    assert (result.reason, result.verdict) == (None, "verified")
    found, expected = result.approval, case["approval"]
    assert (found.id, found.by, found.use_key) == (expected["id"], expected["by"], expected["useKey"])
    times = (found.at, found.expires_at, found.use_until)
    assert times == tuple(expected[each] / 1000 for each in ("at", "expiresAt", "useUntil"))


@pytest.mark.parametrize("case", FILE["invalid"], ids=lambda case: f"{case['reason']} {case['name']}")
def test_invalid(case):
    verify = verifier_of(case)
    for name in case.get("after", []):
        assert verify(BY_NAME[name]).verdict == "verified"
    result = verify(case)
    assert (result.reason, result.approval) == (case["reason"], None)


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode().rstrip("=")


@pytest.mark.parametrize("case", FILE["statements"], ids=lambda case: case["name"])
def test_statements_need_no_code_of_ours(case):
    given = {**case["given"]}
    for name in ("body", "message"):
        given[name] = None if given[name] is None else digest(given[name])
    # What RFC 8785 asks of these members: sorted, without white space.
    statement = json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert statement == case["statement"]
    short_name = case.get("shortName", FILE["shortName"])
    assert digest(f"{short_name}-approval-v1\n{statement}") == case["challenge"]
