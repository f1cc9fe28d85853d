"""Approvals at sites: a request that the owner of its agent has agreed to, with a service on a real server."""

import base64
import hashlib
import secrets

import pytest
from countersign import ApprovalPolicy, MemoryNonceStore, RawRequest, verify_request
from countersign.policy import PolicyError, read_policy
from issuer import encode
from support import DID, SHOP
from test_delegation import World

BODY = b'{"total":"129.00","currency":"EUR","to":"Example GmbH"}'
JSON = [("Content-Type", "application/json")]
POLICY = {"requireProof": True, "approval": {}}


def digest(data):
    return encode(hashlib.sha256(data).digest())


class ApprovalWorld(World):
    def approve(self, typ="svc-approval+jwt", issued=0, seconds=600, body=BODY, key=None, **claims):
        iat = int(self.clock()) + issued
        content = None if body is None else {"type": "application/json", "sha256": digest(body)}
        return self.service.sign(
            typ,
            {
                "iss": self.service.origin,
                "sub": DID,
                "aud": SHOP,
                "jti": f"ap_{base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip('=')}",
                "iat": iat,
                "exp": iat + seconds,
                "method": "POST",
                "url": f"{SHOP}/orders",
                "content": content,
                "by": "passkey",
                "evidence": digest(b"an assertion"),
                **claims,
            },
            key,
        )

    def request(self, approval, method="POST", path="/orders", headers=JSON, body=BODY, by=None, seen=None):
        fields = [*headers, *([] if approval is None else [("ServiceID-Approval", approval)])]
        signed = (by or self.agent).sign_request(method, SHOP + path, fields, body)
        return RawRequest(method, "https", "shop.example", path, [*fields, *signed], body if seen is None else None)

    def decide(self, gate, request):
        decision = gate.decide(request)
        if gate.needs_body(decision):
            decision = gate.check_body(decision, request, request.body or b"")
        return gate.use_approval(decision, request)

    def outcome(self, gate, approval, **changes):
        decision = self.decide(gate, self.request(approval, **changes))
        return decision.action, decision.reasons[0].code


@pytest.fixture
def world():
    world = ApprovalWorld()
    yield world
    world.service.stop()


def test_a_gate_admits_an_approved_request_once(world):
    gate, token = world.gate(POLICY), world.approve()
    assert world.outcome(gate, None) == ("deny", "approval-required")
    decision = world.decide(gate, world.request(token))
    assert (decision.action, decision.approval.by) == ("allow", "passkey")
    assert ("X-ServiceID-Approval", decision.approval.id) in gate.forwarded_headers(decision)
    assert world.outcome(gate, token) == ("deny", "approval-used")
    assert world.nonces.used[1].keyid == DID


def test_what_differs_in_one_byte_is_refused_and_uses_nothing_up(world):
    gate, token = world.gate(POLICY), world.approve()
    override = [*JSON, ("X_HTTP_Method", "PUT")]
    for changes in (
        {"body": BODY.replace(b"129", b"999")},
        {"body": BODY.replace(b",", b", ")},
        {"path": "/orders/"},
        {"path": "/orders?to=me"},
        {"method": "PUT"},
        {"headers": [("Content-Type", "text/json")]},
        {"headers": [("Content-Type", "application/json; charset=utf-16")]},
        {"headers": [*JSON, ("Content-Encoding", "identity")]},
        {"headers": override},
        {"body": b""},
    ):
        assert world.outcome(gate, token, **changes) == ("deny", "approval-mismatch"), changes
    others = ({"aud": "https://a.example", "url": "https://a.example/orders"}, {"sub": f"svc:agent:{'A' * 24}"})
    for claims in (*others, {"body": None}, {"method": "PATCH"}):
        assert world.outcome(gate, world.approve(**claims)) == ("deny", "approval-mismatch"), claims
    charset = [("Content-Type", 'application/json;charset="UTF-8"')]
    assert world.outcome(gate, token, headers=charset) == ("allow", "owner-verified")
    bare = world.approve(body=None, method="DELETE")
    assert world.outcome(gate, bare, method="DELETE", headers=[], body=None) == ("allow", "owner-verified")


def test_only_a_recent_token_of_the_service_counts(world):
    gate = world.gate(POLICY)
    rows = (
        (world.approve(issued=-601), "approval-expired"),
        (world.approve(issued=-3_600, seconds=3_600), "approval-expired"),
        (world.approve(by="mandate"), "approval-required"),
        (world.approve(issued=61), "approval-invalid"),
        (world.approve(typ="dc+sd-jwt"), "approval-invalid"),
        (world.approve(typ="secevent+jwt"), "approval-invalid"),
        (world.approve(iss="https://id.example"), "approval-invalid"),
        (world.approve(more=1), "approval-invalid"),
        (world.approve(seconds=3_601), "approval-invalid"),
        (world.approve() + "~", "approval-invalid"),
        (world.service.certificate(), "approval-invalid"),
        ("none", "approval-invalid"),
    )
    for token, expected in rows:
        assert world.outcome(gate, token) == ("deny", expected)
    both = world.gate({**POLICY, "approval": {"by": ["mandate"], "maxAgeSeconds": 3_600}})
    assert world.outcome(both, world.approve(by="mandate")) == ("allow", "owner-verified")
    uncovered = world.request(None)
    fields = [*uncovered.headers, ("ServiceID-Approval", world.approve())]
    decision = gate.decide(RawRequest("POST", "https", "shop.example", "/orders", fields, BODY))
    assert decision.signature.reason == "components"


def test_nothing_replaces_an_approval(world):
    levels = {each: "allow" for each in ("none", "unknown", "directory", "unverified")}
    policy = {**POLICY, "requireProof": False, "allow": [DID], "levels": levels, "unreachable": "allow", "cacheSeconds": 0}
    gate = world.gate(policy)
    assert world.outcome(gate, None) == ("deny", "approval-required")
    for headers in ([], [("ServiceID", DID)], [("ServiceID", "x")]):
        request = RawRequest("POST", "https", "shop.example", "/orders", headers, BODY)
        assert gate.decide(request).action == "deny"
    world.service.down = True
    request = RawRequest("POST", "https", "shop.example", "/orders", [("ServiceID", DID)], BODY)
    assert gate.decide(request).reasons[0].code == "service-unreachable"


def test_shadow_mode_uses_nothing_up_and_a_blind_store_cannot_tell(world):
    token = world.approve()
    shadow = world.gate({**POLICY, "mode": "shadow"})
    for _ in range(2):
        decision = world.decide(shadow, world.request(token))
        assert (decision.action, decision.approval.by) == ("allow", "passkey")
        assert "X-ServiceID-Approval" not in dict(shadow.forwarded_headers(decision))
    memory = MemoryNonceStore(now=world.clock)
    store = world.nonces

    class Restarted:
        def record(self, nonce):
            return memory.record(nonce) if nonce.nonce is None else store.record(nonce)

    world.nonces = Restarted()
    decision = world.decide(world.gate(POLICY), world.request(token))
    assert decision.reasons[0].code == "approval-unchecked"
    assert (decision.refusal.status, decision.refusal.retry_after_seconds) == (503, None)


def test_a_body_that_was_not_seen_is_refused_unless_the_application_compares_it(world):
    token = world.approve()
    request = world.request(token, seen=False)
    gate = world.gate(POLICY)
    decision = gate.use_approval(gate.decide(request), request)
    assert decision.reasons[0].code == "approval-mismatch"
    trusting = world.gate({**POLICY, "approval": {"bodyCheckedByApplication": True}})
    request = world.request(token, seen=False)
    assert trusting.use_approval(trusting.decide(request), request).action == "allow"
    request = world.request(world.approve())
    with pytest.raises(RuntimeError):
        gate.denial(gate.decide(request), request)


def test_a_delegate_may_send_what_was_approved(world):
    token = world.approve()
    gate = world.gate(POLICY)
    outside = world.delegate(methods=["GET"])
    with pytest.raises(Exception):
        world.request(token, by=outside)
    within = world.delegate(methods=["POST"])
    assert world.outcome(gate, token, by=within) == ("allow", "owner-verified")
    assert world.outcome(gate, token) == ("deny", "approval-used")


def test_verify_request_with_an_approval(world):
    def verify(token, nonces=world.nonces, approval=ApprovalPolicy(), **changes):
        request = world.request(token, **changes)
        return verify_request(request, world.registry, [SHOP], nonces, world.clock, approval=approval)

    token = world.approve()
    assert verify(None).reason == "approval-required"
    assert verify(token, body=b"{}").reason == "approval-mismatch"
    assert verify(token, seen=False).reason == "approval-mismatch"
    result = verify(token)
    assert (result.verdict, result.approval.by, result.approval.use_until) == (
        "verified",
        "passkey",
        result.approval.expires_at + 30,
    )
    again = verify(token)
    assert (again.reason, again.status, again.approval) == ("approval-used", 403, None)
    assert verify(token, nonces=None).approval.use_key == result.approval.use_key
    assert verify(token, approval=None).approval is None


def test_the_policy_has_the_rule_field():
    assert read_policy({"approval": {}}).rules.approval == ApprovalPolicy()
    route = read_policy({"approval": {}, "routes": [{"path": "/free", "approval": None}]}).routes[0]
    assert route.rules.approval is None
    with pytest.raises(PolicyError) as refused:
        read_policy({"approval": {"by": [], "maxAgeSeconds": 59, "x": 1, "bodyCheckedByApplication": 1}})
    assert refused.value.mistakes == [
        "policy.approval.x is unknown",
        "policy.approval.maxAgeSeconds must be an integer from 60 to 3600",
        "policy.approval.by must be a list of `passkey` or `mandate`",
        "policy.approval.bodyCheckedByApplication must be `true` or `false`",
    ]
