"""A verifier as ``vectors/delegation.json`` assumes it."""

from countersign import CountersignError, DelegationPolicy, RawRequest
from countersign._jws import parse_jws
from countersign._naming import Naming
from countersign.certificates import verify_certificate
from countersign.verification import RequestVerifier, SigningKey
from support import vectors

FILE = vectors("delegation")
NOW = FILE["now"] / 1000
BY_NAME = {case["name"]: case for case in FILE["valid"]}
AGENTS = {each["signatureAgent"]: each for each in FILE["agents"]}


def request_of(case):
    request = dict(case["request"])
    body = request.pop("body", None)
    headers = [tuple(each) for each in request.pop("headers")]
    return RawRequest(**request, headers=headers, body=b"" if body is None else body.encode("utf-8"))


def key_of(agent):
    return SigningKey(bytes.fromhex(agent["publicKeyHex"]), agent["did"], agent["status"])


def find_key(place, keyid):
    agent = AGENTS.get(place.url)
    if agent is None:
        return "untrusted-agent"
    return key_of(agent) if agent["keyid"] == keyid else "unknown-key"


def root_lookup(lists):
    def find_root(root):
        agent = AGENTS.get(root.signature_agent.url)
        if agent is None:
            return "untrusted-agent"
        if root.did != agent["did"]:
            return "delegation-invalid"
        try:
            verify_certificate(root.certificate, {FILE["issuer"]: FILE["keySet"]}, lists, NOW)
        except CountersignError as error:
            faults = {"INVALID_TOKEN": "delegation-invalid", "CERTIFICATE_REVOKED": "delegation-ended"}
            if error.code != "CERTIFICATE_SUSPENDED":
                return faults.get(error.code, "directory-unavailable")
        sequence = parse_jws(root.certificate, "certificate").payload["keySequence"]
        if (root.keyid, sequence) != (agent["keyid"], agent["keySequence"]):
            return "delegation-ended"
        return key_of(agent)

    return find_root


def verifier_of(case, nonces):
    policy = case.get("delegation", FILE["delegation"])
    lists = [FILE["statusList"]] if case.get("statusList", True) else []
    return RequestVerifier(
        audiences=FILE["audiences"],
        find_key=find_key,
        nonces=nonces,
        naming=Naming(FILE["shortName"], FILE["idHeader"]),
        now=lambda: NOW,
        delegation=policy and DelegationPolicy(policy["maxDepth"], policy["maxSeconds"], policy["mcp"]),
        find_root=root_lookup(lists),
    )
