"""The shared test vectors of approvals (vectors/approvals.json): tokens by the package, bodies, statements and assertions by a reading of
its own."""

import base64
import hashlib
import json
import re
import unicodedata

import pytest
from countersign import ApprovalPolicy, CountersignError, DelegationPolicy, MemoryNonceStore, RawRequest, Registry, verify_request
from countersign.verification import _MEANINGS
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from support import Clock, vectors

FILE = vectors("approvals")
NOW = FILE["now"] / 1000
AGENTS = {each["did"]: each for each in FILE["agents"]}
BY_NAME = {each["name"]: each for each in FILE["valid"]}


class Service(Registry):
    """The issuer of the file, in memory."""

    def agent(self, did):
        found = AGENTS.get(did)
        if found is None:
            raise CountersignError("NOT_FOUND", "no such agent", 404)
        return {
            "status": found["status"],
            "publicKey": base64.b64encode(bytes.fromhex(found["publicKeyHex"])).decode(),
            "keyThumbprint": found["keyid"],
            "keySequence": found["keySequence"],
        }

    def _send(self, method, path, accept, body=None, further=None):
        documents = {"/.well-known/jwks.json": json.dumps(FILE["keySet"]), "/status/1": FILE["statusList"]}
        assert method == "GET"
        return documents[path].encode(), 200


class Site:
    """A verifier as the file assumes it, with a store of nonces that began 600 seconds before."""

    def __init__(self):
        self.clock = Clock()
        self.clock.seconds = NOW - 600
        self.nonces = MemoryNonceStore(now=self.clock)
        self.clock.seconds = NOW
        self.registry = Service(FILE["issuer"], FILE["shortName"], FILE["idHeader"])

    def verify(self, case):
        request = dict(case["request"])
        body = request.pop("body", None) or ""
        headers = [tuple(each) for each in request.pop("headers")]
        policy, delegation = case.get("policy", FILE["policy"]), FILE["delegation"]
        return verify_request(
            RawRequest(**request, headers=headers, body=body.encode("utf-8")),
            self.registry,
            FILE["audiences"],
            self.nonces,
            self.clock,
            DelegationPolicy(delegation["maxDepth"], delegation["maxSeconds"], delegation["mcp"]),
            ApprovalPolicy(policy["maxAgeSeconds"], tuple(policy["by"]), policy["bodyCheckedByApplication"]),
        )


def name(case):
    return case["name"]


@pytest.mark.parametrize("case", FILE["valid"], ids=name)
def test_valid_tokens(case):
    result = Site().verify(case)
    assert (result.verdict, result.reason) == ("verified", None)
    found, wanted = result.approval, case["approval"]
    assert (found.id, found.by, found.use_key) == (wanted["id"], wanted["by"], wanted["useKey"])
    times = [each * 1000 for each in (found.at, found.expires_at, found.use_until)]
    assert times == [wanted["at"], wanted["expiresAt"], wanted["useUntil"]]


@pytest.mark.parametrize("case", FILE["invalid"], ids=name)
def test_invalid_tokens(case):
    site = Site()
    for earlier in case.get("after", []):
        assert site.verify(BY_NAME[earlier]).verdict == "verified"
    result = site.verify(case)
    assert result.reason == case["reason"]
    assert (result.verdict, result.status) == _MEANINGS[case["reason"]]
    assert result.approval is None


class Refused(Exception):
    """A body cannot be shown. Its argument names the reason."""


class Number(str):
    """As it is written."""


# What is not drawn, of the characters that the file has, and the bracket of an escape.
BLANK = "\u115f\u1160\u3164\uffa0\u2800\u27e8"


def shown(value):
    if isinstance(value, Number):
        return str(value)
    if not isinstance(value, str):
        return json.dumps(value)
    text = re.sub(r'(["\\])', r"\\\1", value)
    usual = (each == " " or (unicodedata.category(each)[0] in "LMNPS" and each not in BLANK) for each in text)
    return '"' + "".join(each if ok else f"⟨U+{ord(each):04X}⟩" for each, ok in zip(text, usual)) + '"'


def members(pairs):
    for each, _ in pairs:
        if re.fullmatch("[\x21-\x7e]{1,64}", each) is None or each == "__proto__":
            raise Refused("name")
    if len({each.lower() for each, _ in pairs}) < len(pairs):
        raise Refused("names")
    return dict(pairs)


def constant(text):
    raise ValueError(text)


def walk(value, pointer="", level=1):
    if not isinstance(value, (dict, list)):
        if isinstance(value, str) and any(unicodedata.category(each) == "Cs" for each in value):
            raise Refused("unicode")
        return [[pointer, shown(value)]]
    if level > 5:
        raise Refused("levels")
    if not value:
        return [[pointer, json.dumps(value)]]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    escaped = ((str(each).replace("~", "~0").replace("/", "~1"), inner) for each, inner in items)
    return [row for each, inner in escaped for row in walk(inner, f"{pointer}/{each}", level + 1)]


def json_rows(text):
    try:
        value = json.loads(
            text, object_pairs_hook=members, parse_int=Number, parse_float=Number, parse_constant=constant
        )
    except ValueError:
        raise Refused("json") from None
    if not isinstance(value, dict):
        raise Refused("object")
    rows = walk(value)
    if len(rows) > 40:
        raise Refused("values")
    return rows


@pytest.mark.parametrize("case", FILE["bodies"]["valid"], ids=name)
def test_rows_of_bodies(case):
    assert json_rows(case["text"]) == case["rows"]


@pytest.mark.parametrize("case", FILE["bodies"]["invalid"], ids=name)
def test_refused_bodies(case):
    with pytest.raises(Refused, match=f"^{case['why']}$"):
        json_rows(case["text"])


def sha256(data):
    return hashlib.sha256(data).digest()


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verify_assertion(cose, signed, signature):
    """By a COSE key (RFC 9053) of one of the two forms in the file: EC2 with ES256, OKP with EdDSA."""
    if cose.startswith(bytes.fromhex("a5010203262001215820")):
        point = ec.EllipticCurvePublicNumbers(
            int.from_bytes(cose[10:42], "big"), int.from_bytes(cose[45:], "big"), ec.SECP256R1()
        )
        point.public_key().verify(signature, signed, ec.ECDSA(hashes.SHA256()))
    else:
        assert cose.startswith(bytes.fromhex("a4010103272006215820"))
        Ed25519PublicKey.from_public_bytes(cose[10:]).verify(signature, signed)


@pytest.mark.parametrize("case", FILE["statements"], ids=name)
def test_statements(case):
    given = dict(case["given"])
    for member in ("body", "message"):
        if given[member] is not None:
            given[member] = encoded(sha256(given[member].encode("utf-8")))
    # Names and values are ASCII and numbers are integers, so this is canonical (RFC 8785).
    statement = json.dumps(given, sort_keys=True, separators=(",", ":"))
    assert statement == case["statement"]
    purpose = f"{case.get('shortName', FILE['shortName'])}-approval-v1\n"
    challenge = encoded(sha256((purpose + statement).encode("ascii")))
    assert challenge == case["challenge"]
    if "assertion" in case:
        assertion = {member: decoded(text) for member, text in case["assertion"].items()}
        client_data = json.loads(assertion["clientData"])
        assert (client_data["type"], client_data["challenge"]) == ("webauthn.get", challenge)
        signed = assertion["authenticatorData"] + sha256(assertion["clientData"])
        verify_assertion(assertion["publicKey"], signed, assertion["signature"])
        assert encoded(sha256(signed + assertion["signature"])) == case["evidence"]


def test_the_file_has_what_it_is_for():
    assert sum("assertion" in each for each in FILE["statements"]) >= 2
    assert {each["why"] for each in FILE["bodies"]["invalid"]} == {
        *("json", "object", "names", "name", "unicode", "values", "levels")
    }
