"""The shared test vectors of enrolment, by a reading of its own of tokens, keys and ``match`` (docs/enrolment.md, vectors/README.md)."""

import base64
import hashlib
import json
import re
import unicodedata

import pytest
from countersign import AgentKey, Enrolment, enrol
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from support import vectors
from test_enrolment import answering

VECTORS = vectors("enrolment")
KEY = AgentKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS["seedHex"])))
REFUSED_HEADERS = {"crit", "b64", "jwk", "jku", "x5c", "x5u", "zip"}
CURVES = {"ES256": ("P-256", ec.SECP256R1), "ES384": ("P-384", ec.SECP384R1), "ES512": ("P-521", ec.SECP521R1)}
HASHES = {"256": hashes.SHA256, "384": hashes.SHA384, "512": hashes.SHA512}
ISSUERS_OF_EVENTS = "https://token.actions.githubusercontent.com"


class Refused(Exception):
    """A check refuses a token. Its argument names the check."""


def check(name, passes):
    if not passes:
        raise Refused(name)


def decoded(text):
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    check("form", base64.urlsafe_b64encode(data).rstrip(b"=").decode() == text)
    return data


def no_repeats(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a member is repeated")
    return dict(pairs)


def depth(value):
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


def object_of(data):
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=no_repeats)
    except ValueError:
        raise Refused("format") from None
    check("format", isinstance(value, dict) and depth(value) <= 8)
    return value


def value_at(claims, pointer):
    """JSON Pointer (RFC 6901), through objects only; ``None``: there is nothing."""
    value = claims
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def matches(wanted, value):
    if isinstance(wanted, list):
        return isinstance(value, str) and value in wanted
    # True == 1 in Python.
    return type(value) is type(wanted) and value == wanted


def number(text):
    return int.from_bytes(decoded(text), "big")


def usable(jwk, rule):
    """The public key of a JWK; ``None`` if it may not verify tokens of this rule."""
    if jwk.get("use", "sig") not in ["sig"] + ["jwt-svid"] * (rule["trustDomain"] is not None):
        return None
    if jwk["kty"] == "RSA":
        key = rsa.RSAPublicNumbers(number(jwk["e"]), number(jwk["n"])).public_key()
        return key if 2048 <= key.key_size <= 8192 else None
    for crv, curve in CURVES.values():
        if jwk["kty"] == "EC" and jwk["crv"] == crv:
            return ec.EllipticCurvePublicNumbers(number(jwk["x"]), number(jwk["y"]), curve()).public_key()
    return None


def fits(key, alg):
    if not alg.startswith("ES"):
        return isinstance(key, rsa.RSAPublicKey)
    return isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, CURVES[alg][1])


def verifies(key, alg, signed, signature):
    digest = HASHES[alg[2:]]()
    try:
        if alg.startswith("RS"):
            key.verify(signature, signed, padding.PKCS1v15(), digest)
        elif alg.startswith("PS"):
            key.verify(signature, signed, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)
        else:
            size = (key.curve.key_size + 7) // 8
            if len(signature) != 2 * size:
                return False
            r, s = (int.from_bytes(part, "big") for part in (signature[:size], signature[size:]))
            key.verify(encode_dss_signature(r, s), signed, ec.ECDSA(digest))
    except InvalidSignature:
        return False
    return True


def is_time(value):
    return type(value) is int and abs(value) < 2**53


def check_times(rule, claims, now):
    exp, nbf = claims.get("exp"), claims.get("nbf", now)
    check("times", is_time(exp))
    check("expired", exp > now)
    issued = claims.get("iat", now if rule["trustDomain"] else None)
    check("times", all(is_time(each) and each <= now + 60 for each in (nbf, issued)))
    check("times", exp - issued <= rule["maxTokenSeconds"])


def check_key(rule, header, signed, signature):
    keys = [(jwk, usable(jwk, rule)) for jwk in VECTORS["keySets"][rule["keys"]]["keys"]]
    keys = [(jwk, key) for jwk, key in keys if key is not None]
    kid, alg = header.get("kid"), header["alg"]
    check("unknown-key", kid is not None or len(keys) == 1)
    found = [key for jwk, key in keys if kid in (None, jwk.get("kid")) and jwk.get("alg", alg) == alg and fits(key, alg)]
    check("unknown-key", found)
    check("signature", any(verifies(key, alg, signed, signature) for key in found))


def check_claims(rule, claims):
    match = rule["match"]
    is_event = claims.get("event_name") in ("pull_request_target", "workflow_run")
    check("claim", not is_event or "/event_name" in match or rule["issuer"] != ISSUERS_OF_EVENTS)
    if "kubernetes.io" in claims:
        check("claim", value_at(claims, "/kubernetes.io/pod/uid") and "/sub" in match)
    for pointer, wanted in match.items():
        check("claim", matches(wanted, value_at(claims, pointer)))
    label = rule["agentId"] or value_at(claims, rule["agentIdClaim"])
    is_label = isinstance(label, str) and 1 <= len(label) <= 128
    check("claim", is_label and not any(unicodedata.category(each) in ("Cc", "Cs") for each in label))
    return label


def accept(case):
    """What a token gives. :raises Refused: with the first check that fails"""
    rule, token = VECTORS["rules"][case["rule"]], case["token"]
    parts = token.split(".")
    check("form", len(token) <= 8192 and len(parts) == 3 and all(re.fullmatch(r"[\w-]+", each, re.A) for each in parts))
    head, payload, signature = map(decoded, parts)
    header, claims = object_of(head), object_of(payload)
    check("header", re.fullmatch("(RS|PS|ES)(256|384|512)", str(header.get("alg"))))
    check("header", not REFUSED_HEADERS & header.keys() and header.get("typ", "JWT") in ("JWT", "JOSE"))
    check("header", isinstance(header.get("kid", ""), str))
    check("issuer", rule["issuer"] in (None, claims.get("iss")))
    plain = f"{VECTORS['service']}/enrol/{rule['id']}"
    audiences = claims.get("aud") if isinstance(claims.get("aud"), list) else [claims.get("aud")]
    is_bound = audiences == [f"{plain}/{KEY.thumbprint}"]
    check("audience", is_bound or (audiences == [plain] and rule["binding"] == "token"))
    check_times(rule, claims, case.get("now", VECTORS["now"]) // 1000)
    signed = token.rpartition(".")[0].encode()
    check_key(rule, header, signed, signature)
    label = check_claims(rule, claims)
    token_hash = base64.urlsafe_b64encode(hashlib.sha256(signed).digest()).rstrip(b"=").decode()
    return {"agentId": label, "isBound": is_bound, "expiresAt": claims["exp"] * 1000, "tokenHash": token_hash}


def name(case):
    return case["name"]


@pytest.mark.parametrize("case", VECTORS["tokens"]["valid"], ids=name)
def test_accepted_tokens(case):
    result = accept(case)
    assert result == {member: case[member] for member in result}


@pytest.mark.parametrize("case", VECTORS["tokens"]["invalid"], ids=name)
def test_refused_tokens(case):
    with pytest.raises(Refused, match=f"^{case['why']}$"):
        accept(case)


def test_signs_enrolments_and_their_ends():
    enrolled, ended = VECTORS["messages"]["enrol"], VECTORS["messages"]["end"]
    for message in (enrolled, ended):
        assert KEY.sign(bytes.fromhex(message["messageHex"])) == base64.b64decode(message["signature"])
    token = VECTORS["tokens"]["valid"][0]["token"]
    rule, token_hash = enrolled["subject"]
    assert accept(VECTORS["tokens"]["valid"][0])["tokenHash"] == token_hash
    times = dict.fromkeys(("renewAfter", "endsAt"), "2027-01-15T08:00:00.000Z")
    answer = {"svcDid": ended["subject"][0], "agentId": "a", "renewed": False, **times}
    with answering((201, {}, answer), (200, {}, {"svcDid": ended["subject"][0]})) as (url, received):
        mine: Enrolment = enrol(url, rule, lambda _: token, KEY, lambda: VECTORS["now"] / 1000)
        mine.end()
        sent = [json.loads(body) for _, _, body in received]
    for body, message, subject in ((sent[0], enrolled, f"{rule}\n{token_hash}"), (sent[1], ended, mine.did)):
        lines = ["svc-enrol-end-v1" if body is sent[1] else "svc-enrol-v1", url, subject, KEY.thumbprint]
        signed = b"\xff" + "\n".join([*lines, str(message["issuedAt"])]).encode()
        assert signed.replace(url.encode(), VECTORS["service"].encode()).hex() == message["messageHex"]
        assert KEY.sign(signed) == base64.b64decode(body["signature"])
