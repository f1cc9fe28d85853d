"""Delegates of an agent at sites, with a service on a real server."""

import dataclasses
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest
from countersign import (
    Agent,
    AgentKey,
    AgentSignIn,
    CountersignError,
    DelegatedAgent,
    DelegationPolicy,
    RawRequest,
    Registry,
    delegated_agent,
    verify_request,
)
from countersign.gateway import Gate
from countersign.sessions import SessionClaims
from issuer import Issuer
from support import DID, SHOP, Clock

DELEGATION = {"maxDepth": 3, "maxSeconds": 86_400, "mcp": True}


class Service(Issuer):
    """An issuer that also answers lookups of its one agent. ``depth``: how many hops the owner allows."""

    def __init__(self, now):
        super().__init__(now)
        self.status, self.sequence, self.depth = "active", 1, 3
        self.down = False

    def sign(self, typ, claims, key=None):
        if typ == "dc+sd-jwt":
            claims = {**claims, "keySequence": self.sequence}
            if self.depth > 0:
                claims["maxDelegationDepth"] = self.depth
        return super().sign(typ, claims, key)

    def _body_of(self, url):
        url = url._replace(path=unquote(url.path))
        if self.down:
            return 503, "{}"
        if url.path == f"/api/v1/agent/{DID}/certificate":
            return 200, self.certificate()
        if url.path == f"/api/v1/agent/{DID}":
            owner = {"identityMethod": "in-person"}
            return 200, json.dumps(
                {"verified": self.status == "active", "certificate": {"status": self.status}, "owner": owner}
            )
        if url.path == f"/api/agents/{DID}":
            agent = {
                "status": self.status,
                "publicKey": self.agent.public_key,
                "keyThumbprint": self.agent.thumbprint,
                "keySequence": self.sequence,
                "keyChangedAt": "2026-01-01T00:00:00.000Z",
            }
            return 200, json.dumps(agent)
        if url.path.startswith("/api/"):
            return 404, json.dumps({"error": {"code": "NOT_FOUND", "message": "no such agent"}})
        return super()._body_of(url)


class OlderStore:
    def __init__(self):
        self.used = []

    def record(self, nonce):
        if nonce.hash in [each.hash for each in self.used]:
            return "used"
        self.used.append(nonce)
        return "fresh"


class World:
    """A service, an agent, and its delegate."""

    def __init__(self):
        self.clock = Clock()
        self.service = Service(self.clock)
        self.registry = Registry(self.service.origin)
        # Its caches have the clock of this test.
        self.registry._issuer_data._elapsed = self.clock
        self.agent = Agent(self.registry, self.service.agent, did=DID, audiences=[SHOP], now=self.clock)
        self.key = AgentKey.generate()
        self.nonces = OlderStore()

    def delegate(self, **limits):
        limits = {"origins": [SHOP], **limits}
        chain = self.agent.delegate(self.key.public_key, **limits).chain
        return DelegatedAgent(chain, self.key, now=self.clock)

    def gate(self, policy=None, **options):
        policy = {"requireProof": True, "delegation": DELEGATION, **(policy or {})}
        return Gate(
            self.registry, policy, [SHOP], self.nonces, now=self.clock, wall_clock=self.clock, **options
        )

    def verify(self, request, policy=DelegationPolicy(3, 86_400, True)):
        return verify_request(request, self.registry, [SHOP], self.nonces, self.clock, policy)


@pytest.fixture
def world():
    world = World()
    yield world
    world.service.stop()


def request_by(agent, method="GET", path="/", headers=(), body=None):
    fields = [*headers, *agent.sign_request(method, SHOP + path, headers, body)]
    return RawRequest(method, "https", "shop.example", path, fields, body or b"")


def test_a_site_sees_the_agent_and_the_delegate(world):
    delegate = world.delegate(methods=["GET"], paths=["/orders/*"])
    result = world.verify(request_by(delegate, path="/orders/1?a=b"))
    assert (result.verdict, result.did, result.keyid) == ("verified", DID, world.key.thumbprint)
    assert (result.delegation.depth, result.delegation.hops[0].limits.paths) == (1, ("/orders/*",))
    assert [each.keyid for each in world.nonces.used] == [world.service.agent.thumbprint]
    assert world.verify(request_by(world.agent)).delegation is None


def test_chains_are_refused_by_default(world):
    request = request_by(world.delegate())
    result = verify_request(request, world.registry, [SHOP], world.nonces, world.clock)
    assert (result.reason, result.status) == ("delegation-refused", 403)
    decision = world.gate({"delegation": None}).decide(request)
    assert [each.code for each in decision.reasons] == ["delegation-refused", "signature-proven"]
    assert (decision.refusal.status, decision.signature.reason) == (403, "delegation-refused")
    assert world.nonces.used == []


def test_a_gate_passes_the_delegate_on_and_removes_what_clients_send(world):
    gate = world.gate()
    assert gate.is_identity_header("X-ServiceID-Delegate") and gate.is_identity_header("X_ServiceID_Delegate")
    delegate = world.delegate()
    decision = gate.decide(request_by(delegate))
    assert (decision.admitted, decision.did, decision.proof) == (True, DID, "signature")
    given = decision.delegation
    assert (given.keyid, given.depth, given.expires_at) == (world.key.thumbprint, 1, delegate.expires_at)
    forwarded = dict(gate.forwarded_headers(decision))
    assert forwarded["X-ServiceID-Delegate"] == world.key.thumbprint
    own = gate.decide(request_by(world.agent))
    assert own.delegation is None and "X-ServiceID-Delegate" not in dict(gate.forwarded_headers(own))


@pytest.mark.parametrize(
    "changes, codes",
    [
        ({"delegation": {"maxDepth": 1}}, ["delegation-refused", "signature-proven"]),
        ({"delegation": {"maxDepth": 2, "maxSeconds": 3_599}}, ["delegation-refused", "signature-proven"]),
        ({"deny": [DID]}, ["deny-list", "signature-proven"]),
        ({"delegation": {"maxDepth": 2}}, ["owner-verified", "signature-proven"]),
        # The other route has other rules.
        ({"routes": [{"path": "/other", "delegation": None}]}, ["owner-verified", "signature-proven"]),
        ({"routes": [{"path": "/", "delegation": None}]}, ["delegation-refused", "signature-proven"]),
    ],
)
def test_rules_on_chains(world, changes, codes):
    worker = AgentKey.generate()
    first = world.delegate(max_depth=1)
    second = first.delegate(worker.public_key, [SHOP])
    request = request_by(DelegatedAgent(second.chain, worker, now=world.clock))
    assert [each.code for each in world.gate(changes).decide(request).reasons] == codes


def test_limits_on_calls_of_mcp_need_a_site_that_compares_them(world):
    delegate = world.delegate(mcp=["tools/list"])
    request = request_by(delegate, headers=[("Mcp-Method", "tools/list")])
    assert world.gate({"delegation": {}}).decide(request).reasons[0].code == "delegation-refused"
    assert world.gate({"delegation": {"mcp": True}}).decide(request).admitted


def test_what_is_outside_the_limits_is_not_signed_and_not_admitted(world, monkeypatch):
    limited = world.delegate(methods=["GET"], paths=["/orders"])
    for method, path, headers in (
        ("POST", "/orders", ()),
        ("GET", "/orders/", ()),
        ("GET", "/orders", [("X-HTTP-Method-Override", "POST")]),
    ):
        with pytest.raises(CountersignError) as caught:
            request_by(limited, method, path, headers)
        assert caught.value.code == "OUTSIDE_DELEGATION"
    with pytest.raises(CountersignError) as caught:
        limited.sign_request("GET", "https://other.example/orders")
    assert caught.value.code == "OUTSIDE_DELEGATION"
    # Another program does not refuse to sign.
    monkeypatch.setattr(delegated_agent, "_assert_allowed", lambda limits, request: None)
    request = request_by(limited, path="/admin")
    result = world.verify(request)
    assert (result.reason, result.status, result.delegation.fault) == ("delegation-limit", 403, None)
    decision = world.gate().decide(request)
    assert ([each.code for each in decision.reasons], decision.refusal.status) == (["delegation-limit"], 403)


def test_neither_header_nor_session_admits_a_request_whose_chain_does_not_count(world):
    sign_in = AgentSignIn(world.registry, SHOP, "a secret of at least thirty-two bytes", now=world.clock)
    gate = world.gate({"requireProof": False, "unreachable": "allow"}, sessions=sign_in)
    now = int(world.clock())
    token = sign_in.issue(SessionClaims(DID, "in-person", 1, now, now + 900))
    session = [("Authorization", f"Bearer {token}")]

    def codes(*headers):
        decision = gate.decide(RawRequest("GET", "https", "shop.example", "/", headers))
        return [each.code for each in decision.reasons], decision.refusal and decision.refusal.status

    assert codes(("ServiceID", DID))[1] is None
    assert codes(*session)[1] is None
    delegate = world.delegate(paths=["/"])
    request = request_by(delegate, headers=session)
    assert gate.decide(request).proof == "signature"
    # With a session, the limits of the chain apply.
    outside = dataclasses.replace(request_by(delegate, headers=session), target="/admin")
    assert gate.decide(outside).reasons[0].code == "signature-invalid"
    text = delegate._held.text
    broken = [(name, value.replace(text, text[:-1]) if value == text else value) for name, value in request.headers]
    assert codes(*broken) == (["signature-invalid"], 401)
    # A signature that cannot be verified.
    place = f'sig1="https://other.example/agent/{DID[-24:]}/jwks.json"'
    elsewhere = [(name, place if name == "Signature-Agent" else value) for name, value in request.headers]
    assert codes(*elsewhere) == (["signature-unverified", "delegation-unproven"], 401)
    # Nor does the rule for a service that is not reachable.
    world.service.down = True
    world.clock.seconds += 5
    unreachable = request_by(delegate, headers=session).headers
    assert codes(*unreachable) == (["signature-unverified", "delegation-unproven"], 503)


def test_a_nonce_store_that_fails_admits_no_delegate(world):
    class Broken:
        def record(self, nonce):
            raise OSError("broken")

    gate = Gate(
        world.registry,
        {"delegation": DELEGATION},
        [SHOP],
        Broken(),
        now=world.clock,
        wall_clock=world.clock,
    )
    decision = gate.decide(request_by(world.delegate(), "POST", body=b"1"))
    assert [each.code for each in decision.reasons] == ["replay-unchecked", "delegation-unproven"]
    assert decision.refusal.status == 503


@pytest.mark.parametrize("by", ["verify_request", "gate"])
def test_a_chain_ends_with_its_certificate_within_five_seconds(world, by):
    gate = world.gate()
    delegate = world.delegate()

    def reason():
        request = request_by(delegate)
        if by == "gate":
            decision = gate.decide(request)
            return (decision.admitted, decision.reasons[0].code, decision.signature.reason)
        result = world.verify(request)
        return (result.verdict == "verified", None, result.reason)

    assert reason()[0]
    world.service.change(1)
    assert reason()[0]
    world.clock.seconds += 5
    admitted, code, ended = reason()
    assert (admitted, ended) == (False, "delegation-ended")
    assert code in (None, "certificate-replaced")


def test_another_key_of_the_agent_ends_chains_though_the_list_does_not_say_so_yet(world):
    gate, delegate = world.gate(), world.delegate()
    assert gate.decide(request_by(delegate)).admitted
    world.service.agent, world.service.sequence = AgentKey.generate(), 2
    world.clock.seconds += 5
    for result in (world.verify(request_by(delegate)), gate.decide(request_by(delegate)).signature):
        assert result.reason == "delegation-ended"


def test_the_same_key_with_another_number_ends_chains(world):
    gate, delegate = world.gate(), world.delegate()
    world.service.sequence = 3
    assert world.verify(request_by(delegate)).reason == "delegation-ended"
    assert gate.decide(request_by(delegate)).signature.reason == "delegation-ended"


def test_suspension_refuses_and_reactivation_brings_chains_back(world):
    gate, delegate = world.gate(), world.delegate()
    world.service.status = "suspended"
    world.service.change(2)
    assert world.verify(request_by(delegate)).reason == "suspended"
    assert gate.decide(request_by(delegate)).reasons[0].code == "status-refused"
    # The list alone is enough.
    world.service.status = "active"
    world.clock.seconds += 5
    assert world.verify(request_by(delegate)).reason == "suspended"
    assert gate.decide(request_by(delegate)).reasons[0].code == "status-refused"
    world.service.change(0)
    world.clock.seconds += 5
    assert world.verify(request_by(delegate)).verdict == "verified"
    assert gate.decide(request_by(delegate)).admitted


def test_a_certificate_of_another_issuer_is_no_root(world):
    other = Service(world.clock)
    try:
        other.agent = world.service.agent
        chain = Agent(other.origin, other.agent, did=DID, now=world.clock).delegate(world.key.public_key, [SHOP]).chain
    finally:
        other.stop()
    delegate = DelegatedAgent(chain, world.key, now=world.clock)
    assert world.verify(request_by(delegate)).reason == "untrusted-agent"
    own = delegate._held
    delegate._held = own.__class__(own.text, own.chain, world.service.origin, own.renew_at)
    result = world.verify(request_by(delegate))
    assert (result.reason, result.delegation.fault) == ("delegation-invalid", "root")
    decision = world.gate().decide(request_by(delegate))
    assert decision.reasons[0].code == "certificate-invalid"


def test_keys_and_lists_are_asked_for_as_often_as_they_may_be_old(world):
    gate, delegate = world.gate(), world.delegate()
    asked = world.service.asked

    def count(path, requests=3):
        asked.clear()
        for _ in range(requests):
            assert gate.decide(request_by(delegate)).admitted
        return asked.count(path)

    assert count("/.well-known/jwks.json") == 1
    world.clock.seconds += 5
    assert (count("/status/1"), count("/status/1")) == (1, 0)
    world.clock.seconds += 60
    assert count("/.well-known/jwks.json") == 1


def test_verify_certificate(world):
    registry, service = world.registry, world.service
    token = service.certificate()
    certificate = registry.verify_certificate(token, now=world.clock)
    assert (certificate.did, certificate.max_delegation_depth) == (DID, 3)
    service.depth = 0
    assert registry.verify_certificate(service.certificate(), now=world.clock).max_delegation_depth == 0
    # A list that says it may be used for 30 seconds is used for five.
    service.change(2)
    assert registry.verify_certificate(token, now=world.clock).did == DID
    world.clock.seconds += 5

    def code(token=token, **options):
        with pytest.raises(CountersignError) as caught:
            registry.verify_certificate(token, now=world.clock, **options)
        return caught.value.code

    assert registry.verify_certificate(token, 30.0, now=world.clock).did == DID
    assert code(max_age_seconds=5.0) == "CERTIFICATE_SUSPENDED"
    service.change(1)
    world.clock.seconds += 30
    assert code() == "CERTIFICATE_REVOKED"
    assert code(token[:-4] + "AAAA") == "INVALID_TOKEN"
    assert code(service.staple("active")) == "INVALID_TOKEN"
    asked = len(service.asked)
    assert code(issuer="https://id.example") == "INVALID_TOKEN"
    assert len(service.asked) == asked
    # An older list is a replay.
    older = service.status_list(1)
    world.clock.seconds += 30
    assert code() == "CERTIFICATE_REVOKED"
    world.clock.seconds += 30
    service.instead["/status/1"] = lambda status, body: (200, older)
    assert code() == "ISSUER_UNAVAILABLE"
    service.instead.clear()
    service.down = True
    world.clock.seconds += 60
    assert code() == "ISSUER_UNAVAILABLE"
    # For a second after a failure, the service is not asked.
    asked = len(service.asked)
    assert code() == "ISSUER_UNAVAILABLE"
    assert len(service.asked) == asked


def test_a_service_at_an_internal_address(world):
    """Its certificates have the public one."""
    service = world.service
    internal = Registry(service.origin)
    internal.service = service.origin
    public = "https://id.example"
    origin, service.origin = service.origin, public
    certificate, listed = service.certificate(), service.status_list(1)
    service.origin = origin
    service.instead["/status/1"] = lambda status, body: (200, listed)
    assert internal.verify_certificate(certificate, issuer=public, now=world.clock).issuer == public


def refusal(call, *args, **named):
    with pytest.raises(CountersignError) as caught:
        call(*args, **named)
    return caught.value.code


def test_what_cannot_be_delegated(world):
    agent, key = world.agent, world.key.public_key
    assert refusal(agent.delegate, key, [SHOP], max_depth=3) == "DELEGATION_NOT_ALLOWED"
    for wrong in (
        {"origins": []},
        {"origins": ["http://shop.example"]},
        {"origins": [SHOP, SHOP]},
        {"methods": ["get"]},
        {"paths": ["/a/../b"]},
        {"mcp": ["tools/call a b"]},
        {"expires_in_seconds": 0},
        {"expires_in_seconds": 86_401},
        {"max_depth": -1},
        # Longer than a chain may be.
        {"paths": [f"/{'a' * 126}{i}" for i in range(8)], "mcp": [f"tools/call {'a' * 126}{i}" for i in range(16)]},
    ):
        assert refusal(agent.delegate, key, **{"origins": [SHOP], **wrong}) == "INVALID_ARGUMENT", wrong
    for wrong in ("", "AAAA", key[:-1], agent.public_key):
        assert refusal(agent.delegate, wrong, [SHOP]) == "INVALID_ARGUMENT"
    world.service.depth = 0
    assert refusal(agent.delegate, key, [SHOP]) == "DELEGATION_NOT_ALLOWED"
    stranger = Agent(world.registry, AgentKey.generate(), did=DID)
    assert refusal(stranger.delegate, key, [SHOP]) == "UNUSABLE_KEY"


def test_a_delegate_gives_on_no_more_than_it_has(world):
    delegate = world.delegate(methods=["GET"], paths=["/orders/*"], max_depth=1, expires_in_seconds=60)
    worker = AgentKey.generate()
    further = delegate.delegate(worker.public_key, [SHOP])
    assert further.expires_at == delegate.expires_at
    result = world.verify(request_by(DelegatedAgent(further.chain, worker, now=world.clock), path="/orders/1"))
    assert (result.verdict, result.delegation.depth) == ("verified", 2)
    assert result.delegation.hops[1].limits == result.delegation.hops[0].limits
    for wider in ({"methods": ["GET", "POST"]}, {"paths": ["/*"]}, {"origins": ["https://other.example"]}):
        assert refusal(delegate.delegate, worker.public_key, **{"origins": [SHOP], **wider}) == "INVALID_ARGUMENT"
    assert refusal(delegate.delegate, worker.public_key, [SHOP], max_depth=1) == "DELEGATION_NOT_ALLOWED"
    last = DelegatedAgent(further.chain, worker, now=world.clock)
    assert refusal(last.delegate, world.key.public_key, [SHOP]) == "DELEGATION_NOT_ALLOWED"


def test_chains_that_are_none_or_of_another_key(world):
    chain = world.delegate()._held.text
    for wrong in ("", chain[:-1], world.service.certificate(), chain + "~"):
        assert refusal(DelegatedAgent, wrong, world.key) == "INVALID_ARGUMENT"
    assert refusal(DelegatedAgent, chain, world.key, short_name="acme") == "INVALID_ARGUMENT"
    assert refusal(DelegatedAgent, chain, AgentKey.generate()) == "UNUSABLE_KEY"
    delegate = DelegatedAgent(chain, world.key, now=world.clock)
    assert (delegate.did, delegate.own_did(), delegate.id_header) == (DID, DID, "ServiceID")
    limited = DelegatedAgent(chain, world.key, audiences=["https://other.example"], now=world.clock)
    assert refusal(limited.sign_request, "GET", f"{SHOP}/") == "WRONG_AUDIENCE"
    world.clock.seconds += 3_600
    assert refusal(delegate.sign_request, "GET", f"{SHOP}/") == "OUTSIDE_DELEGATION"


def test_a_function_is_asked_before_the_chain_expires(world):
    made = []

    def chain():
        made.append(world.agent.delegate(world.key.public_key, [SHOP], expires_in_seconds=60).chain)
        return made[-1]

    delegate = DelegatedAgent(chain, world.key, now=world.clock)
    assert (delegate.did, delegate.expires_at, made) == (None, None, [])
    assert delegate.signs_for(f"{SHOP}/a") and not delegate.signs_for("ftp://shop.example")
    assert delegate.own_did() == DID and len(made) == 1
    assert delegate.signs_for(f"{SHOP}/a") and not delegate.signs_for("https://other.example/")
    world.clock.seconds += 44
    delegate.sign_request("GET", f"{SHOP}/")
    assert len(made) == 1
    world.clock.seconds += 1
    delegate.sign_request("GET", f"{SHOP}/")
    assert len(made) == 2
    # One that has not expired is better than none.
    world.service.down = True
    world.clock.seconds += 50
    asked = len(world.service.asked)
    for _ in range(3):
        delegate.sign_request("GET", f"{SHOP}/")
    assert len(world.service.asked) == asked + 1
    world.clock.seconds += 10
    assert refusal(delegate.sign_request, "GET", f"{SHOP}/") not in ("OUTSIDE_DELEGATION", "")


@pytest.fixture
def site():
    """A site that refuses the chains in ``refused`` with 401; ``seen`` has those that it got."""
    seen, refused = [], set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("ServiceID-Certificate"))
            self.send_response(401 if seen[-1] in refused else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", seen, refused
    server.shutdown()
    server.server_close()


def adapters():
    def with_requests(agent, url):
        requests = pytest.importorskip("requests")
        from countersign.requests import signing_session

        assert requests
        with signing_session(agent) as session:
            return session.get(url).status_code

    def with_httpx(agent, url):
        httpx = pytest.importorskip("httpx")
        from countersign.httpx import SigningTransport

        with httpx.Client(transport=SigningTransport(agent)) as client:
            return client.get(url).status_code

    def with_async_httpx(agent, url):
        import asyncio

        httpx = pytest.importorskip("httpx")
        from countersign.httpx import AsyncSigningTransport

        async def ask():
            async with httpx.AsyncClient(transport=AsyncSigningTransport(agent)) as client:
                return (await client.get(url)).status_code

        return asyncio.run(ask())

    return [with_requests, with_httpx, with_async_httpx]


@pytest.mark.parametrize("get", adapters(), ids=lambda each: each.__name__)
def test_after_a_401_the_function_is_asked_once(world, site, get):
    url, seen, refused = site

    def chain():
        return world.agent.delegate(world.key.public_key, [url]).chain

    delegate = DelegatedAgent(chain, world.key, now=world.clock)
    assert get(delegate, f"{url}/a") == 200
    refused.update(seen)
    assert get(delegate, f"{url}/a") == 200
    assert len(set(seen)) == 2 and seen[1] == seen[0]
    refused.update(seen)
    # Within five seconds it is not asked again.
    assert get(delegate, f"{url}/a") == 401
    fixed = DelegatedAgent(chain(), world.key, now=world.clock)
    refused.add(fixed._held.text)
    assert get(fixed, f"{url}/a") == 401
    assert seen.count(fixed._held.text) == 1
    assert refusal(get, fixed, "http://127.0.0.1:9/") == "WRONG_AUDIENCE"


def test_urls_of_the_service_that_are_asked(world):
    world.verify(request_by(world.delegate()))
    paths = {unquote(urlsplit(each).path) for each in world.service.asked}
    assert paths == {
        f"/api/v1/agent/{DID}/certificate",
        "/.well-known/jwks.json",
        "/status/1",
        f"/api/agents/{DID}",
    }
