"""What test/python.slow.test.ts asks this package. Reads JSON from standard input and writes JSON: one result for each case.

``decisions``: policy decisions. ``mistakes``: the mistakes of policies.
"""

import json
import sys

from countersign._http import RawRequest
from countersign import Delegation, DelegationHop, DelegationLimits
from countersign.decision import AgentData, Caller, LookupResult, decide, decision_of, strictest
from countersign.gateway import Gate
from countersign.policy import PolicyError, read_policy
from countersign.registry import Registry
from countersign.sessions import AgentSignIn


def registry_of(case):
    return Registry("https://id.example", case["shortName"], case["idHeader"])


def agent_of(data):
    if data is None:
        return None
    return AgentData(
        did=data["did"],
        status=data["status"],
        verified=data["verified"],
        identity_method=data["identityMethod"],
        grade=data["grade"],
        key_age_seconds=data.get("keyAgeSeconds"),
        owner_age_seconds=data["ownerAgeSeconds"],
    )


def result_of(data):
    if data is None:
        return None
    if data["kind"] == "answered":
        return LookupResult(True, agent_of(data["agent"]))
    if data["last"] is None:
        return LookupResult(False)
    return LookupResult(False, agent_of(data["last"]["agent"]), data["last"]["ageSeconds"])


def caller_of(data):
    chain = data.pop("delegation", None)
    if chain is None:
        return Caller(**data)
    hops = tuple(
        DelegationHop(
            each["keyid"],
            each["issuedAt"] // 1000,
            each["expiresAt"] // 1000,
            each["maxDepth"],
            DelegationLimits(**each["limits"]),
        )
        for each in chain["hops"]
    )
    return Caller(**data, delegation=Delegation(chain["depth"], chain["keyid"], chain["fault"], hops))


def decided(case):
    registry = registry_of(case)
    sign_in = AgentSignIn(registry, case["audiences"][0], "a secret of at least thirty-two bytes")
    sessions = {"sessions": sign_in, "sign_in_path": case["signInPath"]} if case["sessions"] else {}
    gate = Gate(registry, case["policy"], case["audiences"], **sessions)
    rules = gate.policy.rules_for(case["method"], case["target"])
    caller = caller_of(case["caller"])
    result = result_of(case["result"])
    header = gate.naming.id_header
    verdict = strictest([decide(each, header, caller, result) for each in rules])
    basis = ("service", "https://id.example", 0) if result and result.answered else (None, "https://id.example")
    decision = decision_of(gate.policy.mode, caller, verdict, *basis)
    headers = [tuple(each) for each in case["headers"]]
    request = RawRequest(case["method"], "https", "shop.example", case["target"], headers)
    return {
        "rules": [i for each in rules for i, one in enumerate(gate.policy.all_rules) if one is each],
        "decision": {
            "action": decision.action,
            "admitted": decision.admitted,
            "mode": decision.mode,
            "level": decision.level,
            "reasons": [{"code": each.code, "message": each.message} for each in decision.reasons],
            "refusal": decision.refusal
            and {
                "status": decision.refusal.status,
                "code": decision.refusal.code,
                "message": decision.refusal.message,
                "retryAfterSeconds": decision.refusal.retry_after_seconds,
            },
            "did": decision.did,
            "status": decision.status,
            "verified": decision.verified,
            "identityLevel": decision.identity_level,
            "grade": decision.grade,
            "issuer": decision.issuer,
            "source": decision.source,
            "statusAgeSeconds": decision.status_age_seconds,
            "proof": decision.proof,
            "proofOfPossession": decision.proof_of_possession,
            "directory": decision.directory,
            "delegation": decision.delegation
            and {
                "keyid": decision.delegation.keyid,
                "depth": decision.delegation.depth,
                "expiresAt": decision.delegation.expires_at * 1000,
            },
            "approval": decision.approval,
        },
        "forwarded": sorted(gate.forwarded_headers(decision)),
        "denial": denial_of(gate.denial(decision, request)),
    }


def denial_of(denial):
    if denial is None:
        return None
    status, headers, body = denial
    return {"status": status, "headers": headers, "body": body.decode("utf-8")}


def mistakes_of(case):
    try:
        read_policy(json.dumps(case["policy"]), registry_of(case).naming)
    except PolicyError as error:
        return error.mistakes
    return []


if __name__ == "__main__":
    given = json.load(sys.stdin)
    answers = {
        "decisions": [decided(case) for case in given["decisions"]],
        "mistakes": [mistakes_of(case) for case in given["mistakes"]],
    }
    json.dump(answers, sys.stdout)
