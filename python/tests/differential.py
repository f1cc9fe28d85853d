"""What test/differential.slow.test.ts asks this package: one verdict, as a line of text, for each case, a line of JSON."""

import hashlib
import json
import sys

from chains import request_of, verifier_of
from countersign import AgentSignIn, CountersignError, verify_certificate, verify_staple
from countersign._http import RawRequest
from countersign._naming import Naming
from countersign.certificates import _read_status_list
from countersign.verification import RequestVerifier, SignatureRules, SigningKey
from support import vectors

REQUESTS, TOKENS, SESSIONS = vectors("http-signatures"), vectors("certificates"), vectors("sessions")
NOW = TOKENS["now"] / 1000
ISSUERS = {TOKENS["issuer"]: TOKENS["keySet"]}
KEYS = {each["kid"]: each for each in TOKENS["keySet"]["keys"]}


class Nonces:
    def record(self, nonce):
        return "fresh"


def find_key(agent, keyid):
    for entry in REQUESTS["keys"].values():
        if entry["keyid"] == keyid and entry["signatureAgent"] == agent.url:
            return SigningKey(bytes.fromhex(entry["publicKeyHex"]), entry["did"], entry["status"])
    return "untrusted-agent"


def request(case):
    given, rules = case["request"], case["rules"]
    body = given.get("body")
    if "body" in given:
        body = (body or "").encode("utf-8")
    raw = RawRequest(
        given["method"],
        given["scheme"],
        given["authority"],
        given["target"],
        [tuple(each) for each in given["headers"]],
        body,
    )
    verifier = RequestVerifier(
        REQUESTS["audiences"],
        find_key,
        Nonces(),
        Naming(REQUESTS["shortName"], REQUESTS["idHeader"]),
        rules_of=lambda agent: rules and SignatureRules(rules["profile"], rules["maxLifetimeSeconds"]),
        now=lambda: case["now"] / 1000,
    )
    result = verifier.verify(raw)
    agent = result.signature_agent
    place = [agent.dialect, agent.url] if agent else [None, None]
    told = [result.verdict, result.reason, result.profile, result.did, result.keyid, *place, result.replay, result.digest]
    return json.dumps([*told, result.content_digest], separators=(",", ":"))


def certificate(case):
    found = verify_certificate(case["token"], ISSUERS, [TOKENS["statusList"]], NOW)
    told = [found.did, found.key_thumbprint, found.key_sequence, found.key_changed_at, found.grade, found.assurance]
    told.append(found.owner_changed_at)
    return [*told, found.identity_method, found.status_list[1], found.issued_at, found.log and found.log[1]]


def staple(case):
    found = verify_staple(case["token"], ISSUERS, NOW)
    return [found.did, found.key_thumbprint, found.status, found.grade, found.issued_at, found.feed and found.feed[1]]


def status_list(case):
    found = _read_status_list(case["token"], TOKENS["issuer"], TOKENS["statusLists"]["uri"], KEYS, NOW)
    return [hashlib.sha256(found.entries).hexdigest(), int(found.issued_at * 1000), found.feed and found.feed[1]]


def session(case):
    # A new one, which remembers no later key of the agent.
    audience, secrets, now = SESSIONS["audience"], SESSIONS["secrets"], SESSIONS["now"] / 1000
    claims = AgentSignIn(TOKENS["issuer"], audience, secrets, now=lambda: now).session(case["token"])
    return claims and [claims.did, claims.identity_level, claims.key_sequence, claims.issued_at, claims.expires_at]


CHAINS = verifier_of({}, None)


def chain(case):
    result = CHAINS.verify(request_of(case))
    told, found = result.delegation, None
    if told is not None:
        hops = [
            [each.keyid, each.issued_at, each.expires_at, each.max_depth, *vars(each.limits).values()] for each in told.hops
        ]
        found = [told.depth, told.keyid, told.fault, hops]
    return json.dumps([result.verdict, result.reason, result.did, result.keyid, found], separators=(",", ":"))


DECIDE = {"certificate": certificate, "staple": staple, "list": status_list, "session": session}


def verdict(case):
    if case["kind"] == "request":
        return request(case)
    if case["kind"] == "chain":
        return chain(case)
    try:
        return json.dumps(DECIDE[case["kind"]](case), separators=(",", ":"))
    except CountersignError as error:
        return error.code
    except Exception as error:  # A difference to report, not the end of the run.
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    for line in sys.stdin:
        print(verdict(json.loads(line)))
