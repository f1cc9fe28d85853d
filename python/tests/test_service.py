"""Against a real service and a site behind the TypeScript gateway, which test/python.slow.test.ts starts."""

import asyncio
import json
import os
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from countersign import (
    Agent,
    AgentKey,
    CountersignError,
    DelegatedAgent,
    DelegationPolicy,
    RawRequest,
    Registry,
    StatusFollower,
    evidence_of,
    report_agent,
    report_status,
    status,
    verify_certificate,
    verify_request,
    verify_staple,
)

SERVICE = os.environ.get("COUNTERSIGN_TEST_SERVICE", "")
SITE = os.environ.get("COUNTERSIGN_TEST_SITE", "")
DELEGATION = json.loads(os.environ.get("COUNTERSIGN_TEST_DELEGATION", "{}"))
TOKENS = json.loads(os.environ.get("COUNTERSIGN_TEST_TOKENS", "[]"))

pytestmark = pytest.mark.skipif(not SERVICE, reason="needs a service: run test/python.slow.test.ts")


@pytest.fixture(scope="module")
def agent():
    agent = Agent(SERVICE, AgentKey.generate(), audiences=[SITE])
    agent.claim(TOKENS.pop())
    return agent


def test_claim_whoami_and_lookups(agent):
    assert agent.whoami()["publicKey"] == agent.public_key
    # Another process, which only has the key.
    other = Agent(SERVICE, agent._key)
    assert other.did is None
    other.whoami()
    assert other.did == agent.did
    registry = Registry(SERVICE)
    assert registry.lookup(agent.did)["verified"] is True
    assert registry.grade(agent.did)["grade"] in "ABCDE"
    assert agent.did in json.dumps(registry.card(agent.did))
    issuers = {SERVICE: registry.call("GET", "/.well-known/jwks.json")}
    token = registry.certificate(agent.did)
    unchecked = verify_certificate(token, issuers, None)
    status_list = urllib.request.urlopen(unchecked.status_list[0], timeout=15).read().decode()
    certificate = verify_certificate(token, issuers, [status_list])
    assert (certificate.did, certificate.key_thumbprint) == (agent.did, agent._key.thumbprint)
    staple = urllib.request.urlopen(f"{SERVICE}/api/v1/agent/{agent.did}/staple", timeout=15).read().decode()
    assert (verify_staple(staple, issuers).did, verify_staple(staple, issuers).status) == (agent.did, "active")
    answer = agent.answer_unbound("hello")
    assert registry.verify(answer.public_key, answer.challenge, answer.signature)["verified"] is True
    with pytest.raises(CountersignError) as caught:
        registry.verify(answer.public_key, "another text", answer.signature)
    assert caught.value.code == "INVALID_SIGNATURE"
    with pytest.raises(CountersignError) as caught:
        registry.lookup("svc:agent:" + "z" * 24)
    assert (caught.value.code, caught.value.status) == ("NOT_FOUND", 404)


def test_claiming_again_and_signing_without_whoami():
    key, token = AgentKey.generate(), TOKENS.pop()
    did = Agent(SERVICE, key).claim(token)
    again = Agent(SERVICE, key, audiences=[SITE])
    assert again.claim(token) == again.did == did
    for error in (
        refused_claim(again, token, "another label"),
        refused_claim(Agent(SERVICE, AgentKey.generate()), token, "main"),
    ):
        assert (error.code, error.location) == ("TOKEN_EXPIRED", None)
    other_owner = TOKENS.pop()
    assert refused_claim(again, other_owner, "main").code == "KEY_ALREADY_CLAIMED"
    assert again.did == did

    restarted = Agent(SERVICE, key, audiences=[SITE])
    questions = []
    ask = restarted.registry.agent
    restarted.registry.agent = lambda name: questions.append(name) or ask(name)
    with ThreadPoolExecutor(3) as pool:
        signed = list(pool.map(lambda page: dict(restarted.sign_request("GET", f"{SITE}/?page={page}")), range(3)))
    assert {each["ServiceID"] for each in signed} == {did}
    assert len(questions) == 1
    with pytest.raises(CountersignError) as caught:
        Agent(SERVICE, AgentKey.generate(), audiences=[SITE]).sign_request("GET", SITE + "/")
    assert caught.value.code == "NO_DID" and "claim(token)" in str(caught.value)


def refused_claim(agent, token, label):
    with pytest.raises(CountersignError) as caught:
        agent.claim(token, label)
    return caught.value


def test_verify_request(agent):
    class Fresh:
        def record(self, _nonce):
            return "fresh"

    def verified(target, site=SITE):
        host = site.partition("//")[2]
        signed = agent.sign_request("GET", SITE + "/a?b=c")
        request = RawRequest("GET", "http", host, target, [("Host", host), *signed])
        return verify_request(request, Registry(SERVICE), [site], Fresh())

    result = verified("/a?b=c")
    assert (result.verdict, result.did, result.reason) == ("verified", agent.did, None)
    assert verified("/a?b=d").reason == "bad-signature"
    assert verified("/a?b=c", "http://localhost").reason == "bad-signature"
    # The status of the certificate counts.
    registry = Registry(SERVICE)
    found = registry.agent(agent.did)
    registry.agent = lambda _did: {**found, "status": "suspended"}
    host = SITE.partition("//")[2]
    request = RawRequest("GET", "http", host, "/", agent.sign_request("GET", SITE + "/"))
    assert verify_request(request, registry, [SITE], Fresh()).reason == "suspended"


def test_a_report_with_a_signed_request(agent):
    host = SITE.partition("//")[2]
    signed = agent.sign_request("GET", SITE + "/a?b=c")
    private = [("Host", host), ("Cookie", "secret")]
    evidence = evidence_of(RawRequest("GET", "http", host, "/a?b=c", [*private, *signed]))
    assert evidence["url"] == SITE + "/a?b=c"
    assert "cookie" not in [name for name, _ in evidence["headers"]]
    registry = Registry(SERVICE)
    report = report_agent(registry, agent.did, "rate", "Too fast.", [evidence])
    assert report_status(registry, report)["state"] == "open"
    with pytest.raises(CountersignError) as again:
        report_agent(registry, agent.did, "rate", "Too fast.", [evidence])
    assert again.value.code == "CONFLICT"
    with pytest.raises(CountersignError) as guessed:
        report_status(registry, {**report, "token": "svc-report-" + "0" * 32})
    assert guessed.value.code == "NOT_FOUND"
    with pytest.raises(CountersignError) as empty:
        report_agent(registry, agent.did, "rate", "Too fast.", [])
    assert empty.value.code == "INVALID_ARGUMENT"
    assert evidence_of(RawRequest("GET", "http", host, "/", [("Host", host)])) is None
    secret = agent.sign_request("GET", SITE + "/", headers=[("Authorization", "Bearer x")])
    request = RawRequest("GET", "http", host, "/", [("Authorization", "Bearer x"), *secret])
    assert evidence_of(request) is None


def test_a_token_is_redeemed_once():
    token = TOKENS.pop()
    Agent(SERVICE, AgentKey.generate()).claim(token)
    with pytest.raises(CountersignError):
        Agent(SERVICE, AgentKey.generate()).claim(token)


def test_rotation():
    agent = Agent(SERVICE, AgentKey.generate(), audiences=[SITE])
    agent.claim(TOKENS.pop())
    former, new = agent._key, AgentKey.generate()
    assert agent.rotate(new)["keySequence"] == 2
    assert agent.public_key == new.public_key == agent.whoami()["publicKey"]
    # Again, as if the response had been lost.
    again = Agent(SERVICE, former, did=agent.did)
    assert again.rotate(new)["keySequence"] == 2
    assert send(agent, "GET", "/after")["method"] == "GET"
    # The former key, then the current one: which ends what the agent can do.
    states = [key["state"] for key in reported_twice(former, agent.did)]
    assert states == ["compromised", "current"]
    assert [key["state"] for key in agent.report_key()["keys"]] == ["compromised", "compromised"]
    with pytest.raises(CountersignError) as refused:
        Agent(SERVICE, AgentKey.generate(), did=agent.did).report_key()
    assert refused.value.code == "UNUSABLE_KEY"


def reported_twice(key, did):
    reporter = Agent(SERVICE, key, did=did)
    reporter.report_key()
    return reporter.report_key()["keys"]


def beyond(body):
    """As if the changes since the last head were more than the newest ones."""
    return body.strip().split(b"\n")[-1]


def altered(body):
    """A proxy that names other entries."""
    *lines, head = [json.loads(each) for each in body.strip().split(b"\n")]
    lines = [{**each, "idx": each["idx"] ^ 1} for each in lines]
    return b"\n".join(json.dumps(each).encode() for each in [*lines, head])


@pytest.mark.parametrize("change", [bytes, beyond, altered], ids=lambda each: each.__name__)
def test_a_follower_of_the_status_feed(monkeypatch, change):
    asked = []
    ask = status.request

    def request(address, *args):
        path = address[len(SERVICE) :].partition("?")[0]
        asked.append(path)
        body = ask(address, *args)
        return change(body) if path == "/api/v1/feed/latest" else body

    monkeypatch.setattr(status, "request", request)
    agent = Agent(SERVICE, AgentKey.generate(), audiences=[SITE])
    agent.claim(TOKENS.pop())
    registry = Registry(SERVICE)
    token = registry.certificate(agent.did)
    staple = urllib.request.urlopen(f"{SERVICE}/api/v1/agent/{agent.did}/staple", timeout=15).read().decode()
    faults = []
    with StatusFollower(SERVICE, on_fault=faults.append) as follower:
        assert follower.wait(30)
        assert verify_certificate(token, status=follower, staple=staple).did == agent.did
        assert follower.status_age_seconds < 60
        before = follower._lists.verified
        # The entry of the certificate with the former key becomes invalid.
        agent.rotate(AgentKey.generate())
        with follower._changed:
            assert follower._changed.wait_for(lambda: follower._lists.verified.n > before.n, 30)
        with pytest.raises(CountersignError) as caught:
            verify_certificate(token, status=follower, staple=staple)
        assert caught.value.code == "CERTIFICATE_REVOKED"
        assert verify_certificate(registry.certificate(agent.did), status=follower).key_sequence == 2
    assert ("/api/v1/feed" in asked) == (change is beyond)
    assert (asked.count("/api/v1/snapshot"), faults) == ((2, ["position"]) if change is altered else (1, []))


def send(agent, method, path, body=None, headers=()):
    url = SITE + path
    signed = agent.sign_request(method, url, headers, body)
    request = urllib.request.Request(url, body, dict([*headers, *signed]), method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


@pytest.mark.parametrize(
    "method, path, body",
    [
        ("GET", "/", None),
        ("GET", "/a%20b/caf%C3%A9?x=1&y=%27'", None),
        ("POST", "/orders", b'{"item": "\xc3\xa9"}'),
        ("PUT", "/orders/1?", b"text"),
        ("DELETE", "/orders/1", None),
    ],
)
def test_the_typescript_gateway_accepts_signed_requests(agent, method, path, body):
    headers = [("Content-Type", "application/json")] if body else []
    got = send(agent, method, path, body, headers)
    assert (got["method"], got["body"]) == (method, (body or b"").decode())
    assert got["headers"]["x-serviceid-did"] == agent.did
    assert got["headers"]["x-serviceid-proof"] == "signature"


def test_the_typescript_gateway_refuses_replayed_and_redirected_requests(agent):
    kind = [("Content-Type", "text/plain")]
    signed = sign(agent, kind)
    for body, status in ((b"1", 200), (b"1", 401)):
        assert status_of("POST", "/", body, signed) == status
    assert status_of("GET", "/other", None, dict(agent.sign_request("GET", SITE + "/"))) == 401


def sign(agent, headers):
    return dict([*headers, *agent.sign_request("POST", SITE + "/", headers, b"1")])


def status_of(method, path, body, headers):
    request = urllib.request.Request(SITE + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_requests(agent):
    requests = pytest.importorskip("requests")
    from countersign.requests import SigningAdapter

    with requests.Session() as session:
        session.mount("http://", SigningAdapter(agent))
        assert session.get(SITE + "/a b", params={"q": "it's é"}).json()["headers"]["x-serviceid-did"] == agent.did
        assert session.post(SITE + "/", json={"a": 1}).json()["body"] == '{"a": 1}'
        assert session.post(SITE + "/", data="é").json()["body"] == "é"
        # 307 to another path of the site: signed anew.
        redirected = session.post(SITE + "/to?%2Fthere%3Fx%3D1", data={"a": "b"})
        assert (redirected.json()["url"], redirected.json()["body"]) == ("/there?x=1", "a=b")


def test_httpx(agent):
    httpx = pytest.importorskip("httpx")
    from countersign.httpx import AsyncSigningTransport, SigningTransport

    with httpx.Client(transport=SigningTransport(agent), follow_redirects=True) as client:
        assert client.get(SITE + "/").json()["headers"]["x-serviceid-did"] == agent.did
        assert client.post(SITE + "/to?%2Fthere", json={"a": 1}).json()["url"] == "/there"

    async def ask():
        transport = AsyncSigningTransport(agent)
        async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
            first = await client.post(SITE + "/", content=b"x")
            second = await client.get(SITE + "/to?%2Fthere")
            return first.json()["body"], second.json()["url"]

    assert asyncio.run(ask()) == ("x", "/there")


def test_delegates_at_a_site_behind_the_typescript_gateway():
    site = DELEGATION["site"]
    agent = Agent(SERVICE, AgentKey.from_jwk(DELEGATION["jwk"]), audiences=[site])
    agent.whoami()
    first, second = AgentKey.generate(), AgentKey.generate()
    delegation = agent.delegate(first.public_key, [site], paths=["/orders", "/orders/*"], max_depth=1)
    worker = DelegatedAgent(delegation.chain, first)
    further = DelegatedAgent(worker.delegate(second.public_key, [site], methods=["GET"]).chain, second)

    def ask(delegate, method="GET", path="/orders/1?a=b", body=None):
        headers = [("Content-Type", "text/plain")] if body else []
        signed = delegate.sign_request(method, site + path, headers, body)
        request = urllib.request.Request(site + path, body, dict([*headers, *signed]), method=method)
        try:
            with urllib.request.urlopen(request) as response:
                return 200, json.load(response)["headers"]
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["error"]["reasons"]

    def verified(delegate, policy=DelegationPolicy(2, 3600, False)):
        signed = delegate.sign_request("GET", f"{site}/orders")
        request = RawRequest("GET", "http", site.partition("//")[2], "/orders", signed, b"")
        # Another verifier, which has no list yet.
        return verify_request(request, Registry(SERVICE), [site], None, delegation=policy)

    for delegate, key in ((worker, first), (further, second)):
        status, headers = ask(delegate)
        assert (status, headers["x-serviceid-did"], headers["x-serviceid-delegate"]) == (200, agent.did, key.thumbprint)
        assert verified(delegate).did == agent.did
    assert ask(worker, "POST", "/orders", b"1")[0] == 200
    with pytest.raises(CountersignError) as caught:
        ask(further, "POST", "/orders", b"1")
    assert caught.value.code == "OUTSIDE_DELEGATION"
    assert verified(further, None).reason == "delegation-refused"
    assert verified(further, DelegationPolicy(1, 3600, False)).reason == "delegation-refused"

    assert agent.end_delegations()["endedAt"] is not None
    for delegate in (worker, further):
        assert ask(delegate) == (401, ["certificate-replaced"])
        assert verified(delegate).reason == "delegation-ended"
    # The agent goes on, and delegates anew.
    assert ask(agent)[0] == 200
    anew = DelegatedAgent(agent.delegate(first.public_key, [site]).chain, first)
    assert ask(anew)[0] == 200
    with pytest.raises(CountersignError) as caught:
        agent.delegate(first.public_key, [site], max_depth=2)
    assert caught.value.code == "DELEGATION_NOT_ALLOWED"


def test_an_agent_whose_owner_has_not_allowed_it_cannot_delegate(agent):
    with pytest.raises(CountersignError) as caught:
        agent.delegate(AgentKey.generate().public_key, [SITE])
    assert caught.value.code == "DELEGATION_NOT_ALLOWED"
    assert agent.end_delegations()["endedAt"] is None
