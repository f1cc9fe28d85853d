"""The shared test vectors of keys, signatures and signed bytes (vectors/README.md)."""

import pytest
from countersign import Agent, AgentKey, CountersignError
from countersign._ed25519 import base64url, is_signature, key_fault, thumbprint
from countersign._http import content_digest
from countersign._jws import parse_jws
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support import vectors

SIGNATURES = vectors("signatures")
KEYS = vectors("public-keys")
CHALLENGES = vectors("challenge")
BYTES = vectors("signed-bytes")
OPERATIONS = vectors("key-operations")


def name(case):
    return case["name"]


def key_of(case):
    return AgentKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["seedHex"])))


@pytest.mark.parametrize("valid", [True, False])
def test_signatures(valid):
    for case in SIGNATURES["valid" if valid else "invalid"]:
        key, message, signature = (
            bytes.fromhex(case[member]) for member in ("publicKeyHex", "messageHex", "signatureHex")
        )
        assert is_signature(key, message, signature) is valid, case["name"]


def test_public_keys():
    for case in KEYS["good"]:
        assert key_fault(bytes.fromhex(case["hex"])) is None, case["name"]
    for case in KEYS["faulty"]:
        assert key_fault(bytes.fromhex(case["hex"])) == case["fault"], case["name"]


def test_thumbprints():
    for case in vectors("key-formats")["formats"]:
        assert thumbprint(bytes.fromhex(case["hex"])) == case["thumbprint"]


@pytest.mark.parametrize("case", BYTES["challenges"], ids=name)
def test_answers_to_challenges(case):
    agent = Agent("https://id.example", key_of(case))
    assert agent.public_key == case["publicKey"]
    challenge = case["challenge"] * case.get("challengeTimes", 1)
    if "\n" in challenge:  # Verifiers accept it.
        with pytest.raises(CountersignError):
            agent.answer_unbound(challenge)
        return
    assert agent.answer_unbound(challenge).signature == case["signature"]


@pytest.mark.parametrize("case", CHALLENGES["invalid"], ids=name)
def test_challenges_that_are_never_signed(case):
    agent = Agent("https://id.example", AgentKey.generate())
    with pytest.raises(CountersignError):
        agent.answer_unbound(case["text"] * case.get("times", 1))


@pytest.mark.parametrize("case", vectors("foreign-texts")["cases"], ids=name)
def test_texts_of_other_protocols(case):
    agent = Agent("https://id.example", AgentKey.generate())
    if case["signer"] == "signed":
        assert agent.answer_unbound(case["text"]).challenge == case["text"]
        return
    with pytest.raises(CountersignError) as refused:
        agent.answer_unbound(case["text"])
    assert refused.value.code == ("LOOKS_LIKE_A_CLAIM" if case["kind"] == "claim" else "NOT_A_CHALLENGE")


def test_digest_of_an_empty_body():
    assert content_digest(b"") == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"


def test_the_bytes_of_a_rotation(monkeypatch):
    case = next(each for each in OPERATIONS["valid"] if each["operation"] == "rotate")
    seeds = {each["publicKey"]: each["seedHex"] for each in BYTES["claims"]}
    old, new = (key_of({"seedHex": seeds[case[member]]}) for member in ("oldKey", "newKey"))
    agent = Agent(case["service"], old, did=case["did"], now=lambda: case["issuedAt"])
    sent = {}

    def call(_method, _path, body=None):
        if body is None:
            return {"publicKey": case["oldKey"], "keySequence": case["sequence"] - 1}
        sent.update(body)
        return {"keySequence": case["sequence"], "keyChangedAt": "2027-01-15T08:00:00.000Z"}

    monkeypatch.setattr(agent.registry, "call", call)
    assert agent.rotate(new)["keySequence"] == case["sequence"]
    assert sent["oldSignature"] == case["signatures"]["old"]
    assert sent["newSignature"] == case["signatures"]["new"]
    assert agent.public_key == case["newKey"]


def test_headers_that_guards_of_signers_could_miss_are_not_read():
    rest = ["e30", "A" * 86]
    good = b'{"alg":"EdDSA","kid":"k","typ":"t"}'
    assert parse_jws(".".join([base64url(good), *rest]), "token").kid == "k"
    text = good.decode()
    for data in (b"\xef\xbb\xbf" + good, b" " + good, b"{ " + good[1:], text.encode("utf-16-le"), text.encode("utf-32")):
        with pytest.raises(CountersignError):
            parse_jws(".".join([base64url(data), *rest]), "token")
