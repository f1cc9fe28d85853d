"""Requests with chains of delegations that every implementation must decide alike (vectors/delegation.json)."""

import pytest
from chains import BY_NAME, FILE, NOW, key_of, request_of, verifier_of
from countersign import DelegationPolicy, MemoryNonceStore, _ed25519
from countersign._jws import base64url_bytes
from countersign.verification import _MEANINGS, RequestVerifier, SigningKey

ISSUER_KEYS = {base64url_bytes(each["x"]) for each in FILE["keySet"]["keys"]}


def shown(hop):
    limits = {name: value and list(value) for name, value in vars(hop.limits).items()}
    times = {"issuedAt": hop.issued_at * 1000, "expiresAt": hop.expires_at * 1000}
    return {"keyid": hop.keyid, **times, "maxDepth": hop.max_depth, "limits": limits}


@pytest.mark.parametrize("case", FILE["valid"], ids=lambda case: case["name"])
def test_valid(case):
    verifier = verifier_of(case, None)
    # The second time, its hops are known.
    for _ in range(2):
        result = verifier.verify(request_of(case))
        assert (result.reason, result.verdict, result.did) == (None, "verified", case["did"])
        delegation = result.delegation
        assert [shown(each) for each in delegation.hops] == case["hops"]
        assert result.keyid == delegation.keyid == case["hops"][-1]["keyid"]
        assert (delegation.depth, delegation.fault) == (len(case["hops"]), None)


@pytest.mark.parametrize("case", FILE["invalid"], ids=lambda case: f"{case['case']} {case['name'][:80]}")
def test_invalid(case):
    verifier = verifier_of(case, MemoryNonceStore(now=lambda: NOW - 600))
    for name in case.get("after", []):
        assert verifier.verify(request_of(BY_NAME[name])).verdict == "verified"
    result = verifier.verify(request_of(case))
    fault = result.delegation.fault if result.delegation else None
    assert (result.reason, fault) == (case["reason"], case.get("fault"))
    assert (result.verdict, result.status) == _MEANINGS[case["reason"]]


def test_the_nonces_of_all_delegates_are_in_the_share_of_the_agent():
    recorded = []

    class Store:
        def record(self, nonce):
            recorded.append(nonce)
            return "fresh"

    for name in ("one hop", "two hops"):
        assert verifier_of({}, Store()).verify(request_of(BY_NAME[name])).verdict == "verified"
    assert {each.keyid for each in recorded} == {FILE["agents"][0]["keyid"]}
    assert len({each.hash for each in recorded}) == 2


def test_keys_of_chains_cost_no_check_of_their_group():
    """It takes milliseconds, and an agent can make any number of keys."""
    _ed25519._good_keys.clear()
    assert verifier_of({}, None).verify(request_of(BY_NAME["three hops"])).verdict == "verified"
    assert not _ed25519._good_keys.keys() - ISSUER_KEYS


def test_admit_sees_the_delegate():
    case = BY_NAME["two hops"]
    seen = []
    verifier = verifier_of({}, None)
    verifier._admit = lambda key, agent: seen.append(key)
    assert verifier.verify(request_of(case)).reason == "not-admitted"
    assert seen[0].did == case["did"] and seen[0].delegation.depth == 2


def test_what_a_lookup_returns_has_to_be_what_the_certificate_says():
    stranger = FILE["agents"][1]
    for found in (key_of(stranger), SigningKey(key_of(stranger).public_key, FILE["agents"][0]["did"])):
        verifier = verifier_of({}, None)
        verifier._find_root = lambda root: found
        result = verifier.verify(request_of(BY_NAME["one hop"]))
        assert (result.reason, result.delegation.fault) == ("delegation-invalid", "root")


@pytest.mark.parametrize(
    "policy", [(0, 1, True), (4, 1, True), (1, 0, True), (1, 86_401, True), (1, 1, 1), (True, 1, True), (1.0, 1, True)]
)
def test_policies_out_of_range(policy):
    with pytest.raises(ValueError):
        DelegationPolicy(*policy)


def test_an_option_without_a_lookup_is_refused():
    with pytest.raises(ValueError):
        RequestVerifier([], lambda agent, keyid: "unknown-key", None, delegation=DelegationPolicy(1, 60, False))
