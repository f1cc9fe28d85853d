"""Requests that every implementation must decide alike (vectors/http-signatures.json)."""

import pytest
from countersign._http import parse_signature_agent
from countersign._naming import Naming
from countersign._structured_fields import StructuredFieldError
from countersign.nonces import MemoryNonceStore
from countersign.verification import RawRequest, RequestVerifier, SignatureRules, SigningKey
from support import vectors

FILE = vectors("http-signatures")
CASES = FILE["valid"] + FILE["invalid"]
BY_NAME = {case["name"]: case for case in FILE["valid"]}


def request_of(case):
    request = dict(case["request"])
    body = request.pop("body", "")
    if body is None:
        body = b""
    elif "body" in case["request"]:
        body = body.encode("utf-8")
    else:
        body = None
    return RawRequest(
        method=request["method"],
        scheme=request["scheme"],
        authority=request["authority"],
        target=request["target"],
        headers=[tuple(each) for each in request["headers"]],
        body=body,
        has_content=request.get("hasContent"),
    )


def verifier_of(case):
    def find_key(agent, keyid):
        for entry in FILE["keys"].values():
            if entry["keyid"] == keyid and entry["signatureAgent"] == agent.url:
                return SigningKey(bytes.fromhex(entry["publicKeyHex"]), entry["did"], entry["status"])
        known = agent.url.startswith(f"{FILE['issuer']}/agent/")
        listed = any(entry["signatureAgent"] == agent.url for entry in FILE["keys"].values())
        return "unknown-key" if known or listed else "untrusted-agent"

    now = case.get("now", FILE["now"]) / 1000
    rules = None
    if "profile" in case:
        rules = SignatureRules(case["profile"], case.get("maxLifetimeSeconds", 300))
    return RequestVerifier(
        audiences=case.get("audiences", FILE["audiences"]),
        find_key=find_key,
        nonces=MemoryNonceStore(now=lambda: now - 3600),
        naming=Naming(FILE["shortName"], FILE["idHeader"]),
        rules_of=lambda agent: rules,
        now=lambda: now,
        allow_test_keys=case.get("allowTestKeys", False),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_request(case):
    verifier = verifier_of(case)
    for name in case.get("after", []):
        assert verifier.verify(request_of(BY_NAME[name])).verdict == "verified"
    result = verifier.verify(request_of(case))
    assert result.reason == case.get("reason")
    if "reason" not in case:
        assert result.verdict == "verified"
        assert result.did == FILE["keys"][case.get("key", "agent")]["did"]
        assert result.profile == case.get("profile", "strict")
        assert (result.digest, result.replay) == (case["digest"], case.get("replay", "checked"))


AGENTS = FILE["signatureAgents"]
TYPES = {"origin": "directory", "ucp": "jwks_uri", "cimd": "cimd"}


def test_signature_agents():
    for case in AGENTS["valid"]:
        agent = parse_signature_agent(case["field"], "sig1")
        assert (TYPES[agent.dialect], agent.url) == (case["type"], case["url"]), case["name"]
    for case in AGENTS["ignored"]:
        assert parse_signature_agent(case["field"], "sig1") is None, case["name"]
    for case in AGENTS["invalid"]:
        with pytest.raises(StructuredFieldError):
            parse_signature_agent(case["field"], "sig1")
