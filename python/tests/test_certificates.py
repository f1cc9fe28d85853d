"""Certificates, staples and status lists: the shared vectors, and what the vectors do not have."""

import base64
import json

import pytest
from countersign import AgentKey, CountersignError, verify_certificate, verify_staple
from countersign.certificates import _read_status_list
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support import vectors

VECTORS = vectors("certificates")
ISSUER = VECTORS["issuer"]
ISSUERS = {ISSUER: VECTORS["keySet"]}
LISTS = [VECTORS["statusList"]]
NOW = VECTORS["now"] / 1000
GOOD = VECTORS["certificates"]["valid"][0]["token"]
STAPLE = VECTORS["staples"]["valid"][0]["token"]


def name(case):
    return case["name"]


def refusal(call, *args, **named):
    with pytest.raises(CountersignError) as caught:
        call(*args, **named)
    return caught.value.code


@pytest.mark.parametrize("case", VECTORS["certificates"]["valid"], ids=name)
def test_valid_certificates(case):
    verified = verify_certificate(case["token"], ISSUERS, LISTS, NOW)
    assert (verified.did, verified.key_thumbprint) == (case["did"], case["keyThumbprint"])
    assert verified.owner_changed_at == case.get("ownerChangedAt")
    assert verified.status_as_of <= NOW


@pytest.mark.parametrize("case", VECTORS["certificates"]["invalid"], ids=name)
def test_invalid_certificates(case):
    code = refusal(verify_certificate, case["token"], ISSUERS, LISTS, NOW)
    by_status = ("CERTIFICATE_REVOKED", "CERTIFICATE_SUSPENDED")
    assert code in by_status if case["why"] == "status" else code == "INVALID_TOKEN"
    assert (code == "CERTIFICATE_SUSPENDED") == (case["name"] == "suspended")


@pytest.mark.parametrize("case", VECTORS["staples"]["valid"], ids=name)
def test_valid_staples(case):
    verified = verify_staple(case["token"], ISSUERS, NOW)
    assert (verified.did, verified.status) == (case["did"], case["status"])


@pytest.mark.parametrize("case", VECTORS["staples"]["invalid"], ids=name)
def test_invalid_staples(case):
    assert refusal(verify_staple, case["token"], ISSUERS, NOW) == "INVALID_TOKEN"


def read_list(token):
    keys = {each["kid"]: each for each in VECTORS["keySet"]["keys"]}
    return _read_status_list(token, ISSUER, VECTORS["statusLists"]["uri"], keys, NOW)


@pytest.mark.parametrize("case", VECTORS["statusLists"]["valid"], ids=name)
def test_valid_status_lists(case):
    entries = read_list(case["token"]).entries
    for idx, value in case["entries"].items():
        assert entries[int(idx) >> 2] >> (int(idx) & 3) * 2 & 3 == value


@pytest.mark.parametrize("case", VECTORS["statusLists"]["invalid"], ids=name)
def test_invalid_status_lists(case):
    assert refusal(read_list, case["token"]) == "INVALID_TOKEN"


KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KID = AgentKey(KEY).thumbprint
OWN = {ISSUER: {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg", "kid": KID}]}}


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def signed(token, payload=None, **header):
    """A token with other claims or header members, signed by ``KEY``."""
    parts = [json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2]]
    head = encode(json.dumps({**parts[0], "kid": KID, "alg": "EdDSA", **header}).encode())
    body = payload if isinstance(payload, bytes) else json.dumps({**parts[1], **(payload or {})}).encode()
    text = f"{head}.{encode(body)}"
    return f"{text}.{encode(KEY.sign(text.encode()))}"


def test_the_entry_in_the_transparency_log():
    assert verify_certificate(signed(GOOD), OWN, None, NOW).log is None
    logged = signed(GOOD, {"log": {"origin": "id.example/log", "index": 7}})
    assert verify_certificate(logged, OWN, None, NOW).log == ("id.example/log", 7)


def test_without_a_status_list():
    assert verify_certificate(signed(GOOD), OWN, None, NOW).status_as_of is None
    assert refusal(verify_certificate, signed(GOOD), OWN, [], NOW) == "ISSUER_UNAVAILABLE"
    # The list of another signer does not count.
    assert refusal(verify_certificate, signed(GOOD), OWN, LISTS, NOW) == "INVALID_TOKEN"


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": ISSUER + "/"},
        {"log": None},
        {"log": {"origin": 1, "index": 0}},
        {"log": {"origin": "id.example/log", "index": -1}},
        {"log": {"origin": "id.example/log"}},
        {"iss": None},
        {"iss": [ISSUER]},
        {"exp": "never"},
        {"exp": True},
        {"nbf": NOW + 3600},
        {"nbf": None},
        {"sub": "did:web:id.example"},
        {"cnf": {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": "A" * 43}}},
        {"cnf": {"jkt": "A" * 43}},
        {"cnf": None},
        {"grade": "A+"},
        {"grade": ["A"]},
        {"assurance": "very high"},
        {"keySequence": 0},
        {"keyChangedAt": "yesterday"},
        {"status": None},
        {"status": {"status_list": {"uri": "https://other.example/status/1", "idx": 7}}},
        {"status": {"status_list": {"uri": f"{ISSUER}/status/../x", "idx": 7}}},
        {"status": {"status_list": {"uri": f"{ISSUER}/status/1\n", "idx": 7}}},
        {"status": {"status_list": {"uri": f"{ISSUER}/status/1", "idx": -1}}},
    ],
    ids=str,
)
def test_claims_that_no_certificate_has(claims):
    assert refusal(verify_certificate, signed(GOOD, claims), OWN, None, NOW) == "INVALID_TOKEN"


def test_one_type_of_token_never_passes_for_another():
    for typ in ("statuslist+jwt", "svc-status+jwt", "svc-feed+jwt", "svc-snapshot+jwt", "JWT", "oauth-authz+jwt"):
        assert refusal(verify_certificate, signed(GOOD, typ=typ), OWN, None, NOW) == "INVALID_TOKEN"
    for typ in ("statuslist+jwt", "dc+sd-jwt", "svc-feed+jwt", "JWT"):
        assert refusal(verify_staple, signed(STAPLE, typ=typ), OWN, NOW) == "INVALID_TOKEN"
    assert refusal(verify_certificate, signed(GOOD, alg="ES256"), OWN, None, NOW) == "INVALID_TOKEN"
    assert refusal(verify_certificate, signed(GOOD, alg="HS256"), OWN, None, NOW) == "INVALID_TOKEN"


def test_clocks_may_differ_by_a_minute():
    claims = {"iat": NOW, "exp": NOW + 900}
    staple = signed(STAPLE, claims)
    for now in (NOW - 60, NOW + 959):
        assert verify_staple(staple, OWN, now).issued_at == NOW
    for now in (NOW - 61, NOW + 960):
        assert refusal(verify_staple, staple, OWN, now) == "INVALID_TOKEN"


def test_texts_that_are_no_tokens():
    deep = b"[" * 40_000
    for text in ("", "..", GOOD + "=", GOOD + "\n", "é" + GOOD, GOOD + "." + GOOD, "A" * 100_001, None):
        assert refusal(verify_certificate, text, ISSUERS, LISTS, NOW) == "INVALID_TOKEN"
    for body in (deep, b"[]", b"null", b'{"iat":NaN}', b"\xff"):
        assert refusal(verify_certificate, signed(GOOD, body), OWN, None, NOW) == "INVALID_TOKEN"


def test_issuers_that_are_no_issuers():
    for issuers in (
        {"http://id.example": VECTORS["keySet"]},
        {f"{ISSUER}/path": VECTORS["keySet"]},
        {ISSUER: {}},
        {ISSUER: {"keys": VECTORS["keySet"]["keys"] * 2}},
    ):
        assert refusal(verify_certificate, GOOD, issuers, LISTS, NOW) == "INVALID_ARGUMENT"
    assert refusal(verify_certificate, GOOD, {}, LISTS, NOW) == "INVALID_TOKEN"
    foreign = {"https://other.example": VECTORS["keySet"]}
    assert refusal(verify_certificate, GOOD, foreign, LISTS, NOW) == "INVALID_TOKEN"
