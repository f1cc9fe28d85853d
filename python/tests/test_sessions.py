"""Sessions: the sign-in endpoint, its tokens, and what attackers try with both (docs/sessions.md)."""

import base64
import json
import threading

import pytest
from countersign import (
    Agent,
    AgentKey,
    AgentSignIn,
    CountersignError,
    MemoryChallengeStore,
    MemoryNonceStore,
    RawRequest,
    verify_request,
)
from countersign._naming import Naming
from countersign.gateway import Gate
from countersign.policy import PolicyError
from countersign.sessions import MAX_ANSWER_BYTES, SessionClaims
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support import DID, SHOP, Clock, FakeService, World, vectors
from test_asgi import ask as ask_asgi
from test_wsgi import ask

VECTORS = vectors("sessions")
SECRET = VECTORS["secrets"][0]
PATH = "/agent-sign-in"
OTHER = "svc:agent:zzzzzzzzzzzzzzzzzzzzzzzz"


def claims_of(case):
    claims = case["claims"]
    times = (claims["issuedAt"] // 1000, claims["expiresAt"] // 1000)
    return SessionClaims(claims["did"], claims["identityLevel"], claims["keySequence"], *times)


def name(case):
    return case["name"]


def vector_sign_in():
    now = VECTORS["now"] / 1000
    return AgentSignIn("https://id.example", VECTORS["audience"], VECTORS["secrets"], now=lambda: now)


@pytest.mark.parametrize("case", VECTORS["tokens"]["valid"], ids=name)
def test_valid_tokens(case):
    assert vector_sign_in().session(case["token"]) == claims_of(case)


@pytest.mark.parametrize("case", VECTORS["tokens"]["invalid"], ids=name)
def test_invalid_tokens(case):
    assert vector_sign_in().session(case["token"]) is None


def test_tokens_are_issued_byte_for_byte():
    first = VECTORS["tokens"]["valid"][0]
    assert vector_sign_in().issue(claims_of(first)) == first["token"]


def test_answers():
    key = AgentKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS["seedHex"])))
    agent = Agent("https://id.example", key)
    for case in VECTORS["answers"]["valid"]:
        assert Naming().parse_challenge(case["challenge"]) == (VECTORS["audience"], case["nonce"])
        assert agent.answer(case["challenge"], VECTORS["audience"]).signature == case["signature"]


@pytest.mark.parametrize("case", VECTORS["answers"]["invalid"], ids=name)
def test_invalid_answers(case):
    used, service = MemoryNonceStore(), FakeService()
    sign_in = AgentSignIn(service, VECTORS["audience"], SECRET, nonces=used)
    parsed = Naming().parse_challenge(case["challenge"])
    expected = "form" if parsed is None else "audience" if parsed[0] != VECTORS["audience"] else "signature"
    assert expected == case["why"]
    with pytest.raises(CountersignError):
        sign_in.complete(case["publicKey"], case["challenge"], case["signature"])
    assert service.calls == 0


@pytest.mark.parametrize("case", vectors("named-challenge")["valid"], ids=name)
def test_challenges_with_an_audience(case):
    assert Naming(case.get("shortName", "svc")).parse_challenge(case["text"]) == (case["audience"], case["nonce"])


@pytest.mark.parametrize("case", vectors("named-challenge")["invalid"], ids=name)
def test_challenges_without_a_valid_audience(case):
    assert Naming(case.get("shortName", "svc")).parse_challenge(case["text"]) is None


class SessionWorld(World):
    """A site that accepts signatures and sessions."""

    def __init__(self, audiences=(SHOP,), store=None, nonces=None, **policy):
        super().__init__(**policy)
        if nonces is None:
            # It uses this clock for its expiries too.
            store = store or MemoryChallengeStore(now=self.clock)
        self.sign_ins = [
            AgentSignIn(self.service, each, SECRET, store=store, nonces=nonces, now=self.clock)
            for each in audiences
        ]
        self.gate = Gate(
            self.service,
            self.gate.policy,
            audiences=audiences,
            nonces=self.gate._nonces,
            sessions=self.sign_ins,
            sign_in_path=PATH,
            now=self.clock,
            wall_clock=self.clock,
        )

    def answer(self, challenge, key=None):
        answered = self.agent(key).answer(challenge, SHOP)
        answer = {"publicKey": answered.public_key, "challenge": challenge, "signature": answered.signature}
        return json.dumps(answer).encode()

    def post(self, body, headers=(("Content-Type", "application/json"),)):
        status, _, data = ask(self, "POST", PATH, headers, body)
        answer = json.loads(data)
        return status, answer if status == 200 else answer["error"]["code"]

    def challenge(self):
        status, headers, data = ask(self, "GET", PATH)
        assert (status, headers["cache-control"]) == (200, "no-store")
        return json.loads(data)["challenge"]

    def token(self):
        status, session = self.post(self.answer(self.challenge()))
        assert status == 200
        return session["token"]


def bearer(token):
    return [("Authorization", f"Bearer {token}")]


def reasons(world, headers, **more):
    status, _, data = ask(world, headers=headers, **more)
    return status, json.loads(data)["error"]["reasons"]


def test_an_agent_signs_in_and_is_admitted_by_its_session():
    world = SessionWorld()
    status, session = world.post(world.answer(world.challenge()))
    assert (status, session["did"]) == (200, DID)
    assert session["expiresAt"] == "2030-03-17T18:02:40.000Z"
    status, headers, data = ask(world, headers=bearer(session["token"]))
    assert (status, headers["vary"]) == (200, "Accept, ServiceID, Authorization, Signature")
    seen = json.loads(data)["environ"]
    assert (seen["HTTP_X_SERVICEID_PROOF"], seen["HTTP_X_SERVICEID_DID"]) == ("session", DID)
    assert ask(world, headers=[*bearer(session["token"]), ("ServiceID", DID)])[0] == 200
    world.clock.seconds += 900
    assert reasons(world, bearer(session["token"])) == (401, ["no-identification"])
    assert ask(world)[1]["www-authenticate"] == f'ServiceID sign_in="{PATH}", Bearer'


def test_a_challenge_counts_once_in_time_and_for_this_site():
    world = SessionWorld()
    body = world.answer(world.challenge())
    assert [world.post(body)[0] for _ in range(2)] == [200, 401]
    late = world.answer(world.challenge())
    world.clock.seconds += 60
    assert world.post(late) == (401, "CHALLENGE_SPENT")
    own = json.loads(world.answer(world.challenge()))
    nonce = own["challenge"].rpartition(":")[2]
    for challenge in (f"svc-challenge-v1:https://bank.example:{nonce}", f"svc-challenge-v1:{SHOP}:{'A' * 32}", nonce):
        forged = world.service.key.sign(challenge.encode())
        changed = {**own, "challenge": challenge, "signature": base64.b64encode(forged).decode()}
        assert world.post(json.dumps(changed).encode()) == (401, "CHALLENGE_SPENT")
    # Those were no use of it.
    assert world.post(json.dumps(own).encode())[0] == 200


def test_one_challenge_gives_one_session_even_for_concurrent_answers():
    world = SessionWorld()
    body, outcomes = world.answer(world.challenge()), []
    start = threading.Barrier(8)

    def race():
        start.wait()
        outcomes.append(world.post(body)[0])

    racers = [threading.Thread(target=race) for _ in range(8)]
    for each in racers:
        each.start()
    for each in racers:
        each.join()
    assert sorted(outcomes) == [200] + [401] * 7


def test_agents_that_are_not_admitted():
    world = SessionWorld()
    stranger = AgentKey.generate()
    assert world.post(world.answer(world.challenge(), stranger)) == (403, "NOT_ADMITTED")
    forged = json.loads(world.answer(world.challenge(), stranger))
    forged["publicKey"] = world.service.key.public_key
    assert world.post(json.dumps(forged).encode()) == (401, "INVALID_SIGNATURE")
    world.service.status = "suspended"
    assert world.post(world.answer(world.challenge())) == (403, "NOT_ADMITTED")
    world.service.status = "active"
    world.sign_ins[0]._admit = lambda verification: verification["identityLevel"] == "bankid"
    assert world.post(world.answer(world.challenge())) == (403, "NOT_ADMITTED")
    world.service.down = True
    assert world.post(world.answer(world.challenge())) == (503, "UNAVAILABLE")


def test_what_is_no_answer():
    world = SessionWorld()
    body = world.answer(world.challenge())
    form = [("Content-Type", "text/plain")]
    assert world.post(body, form) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert world.post(body, [("Content-Type", "application/jsonx")]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    for each in (b"", b"[]", b"{}", b'{"publicKey":1,"challenge":"a","signature":"b"}', b"[" * 10_000, b"\xff"):
        assert world.post(each) == (400, "VALIDATION_ERROR"), each
    lone = json.dumps({"publicKey": "\ud800", "challenge": "a", "signature": "b"}).encode()
    assert world.post(lone) == (400, "VALIDATION_ERROR")
    assert world.post(b" " * (MAX_ANSWER_BYTES + 1)) == (413, "PAYLOAD_TOO_LARGE")
    assert world.post(body, [("Content-Type", "Application/JSON ; charset=utf-8")])[0] == 200
    status, headers, _ = ask(world, "PUT", PATH)
    assert (status, headers["allow"]) == (405, "GET, POST")
    assert ask(world, "GET", PATH, [("Host", "other.example")])[0] == 404


def test_the_endpoint_has_a_limit_for_each_address():
    world = SessionWorld(limit={"requests": 2, "seconds": 60})
    assert [ask(world, "GET", PATH)[0] for _ in range(3)] == [200, 200, 429]
    assert "retry-after" in ask(world, "GET", PATH)[1]
    world.clock.seconds += 30
    assert ask(world, "GET", PATH)[0] == 200


def test_a_session_ends_with_the_key():
    world = SessionWorld(cacheSeconds=5)
    token = world.token()
    assert ask(world, headers=bearer(token))[0] == 200
    world.service.key, world.service.sequence = AgentKey.generate(), 2
    # Until the cache is asked again, and no longer.
    assert ask(world, headers=bearer(token))[0] == 200
    world.clock.seconds += 5
    assert reasons(world, bearer(token)) == (401, ["session-ended"])
    # A session of the new key counts at once, although the cache may have the former one.
    assert ask(world, headers=bearer(world.token()))[0] == 200
    assert world.sign_ins[0].session(token) is None


def test_a_new_session_counts_at_once_although_the_cache_has_the_former_key():
    world = SessionWorld(cacheSeconds=60)
    assert ask(world, headers=bearer(world.token()))[0] == 200
    world.service.key, world.service.sequence = AgentKey.generate(), 2
    assert ask(world, headers=bearer(world.token()))[0] == 200


def test_a_session_is_not_admitted_by_a_stale_cache_of_a_service_that_went_back():
    world = SessionWorld(cacheSeconds=1)
    world.service.key, world.service.sequence = AgentKey.generate(), 2
    token = world.token()
    world.service.sequence = 1
    assert reasons(world, bearer(token)) == (401, ["session-ended"])


def test_a_session_of_a_suspended_agent_is_refused():
    world = SessionWorld(cacheSeconds=1)
    token = world.token()
    world.service.status = "suspended"
    world.clock.seconds += 1
    assert reasons(world, bearer(token)) == (403, ["status-refused", "session-proven"])
    world.service.down = True
    world.clock.seconds += 1
    assert ask(world, headers=bearer(token))[0] == 503


def test_header_session_and_signature_name_the_same_agent():
    world = SessionWorld()
    token = world.token()
    assert reasons(world, [*bearer(token), ("ServiceID", OTHER)]) == (401, ["identification-conflict"])
    claims = world.sign_ins[0].session(token)
    other = world.sign_ins[0].issue(SessionClaims(OTHER, "in-person", 1, claims.issued_at, claims.expires_at))
    signed = world.sign("GET", "/", bearer(other))
    assert reasons(world, signed) == (401, ["identification-conflict"])
    assert ask(world, headers=world.sign("GET", "/", bearer(token)))[0] == 200


def test_an_invalid_signature_never_falls_back_to_a_session():
    world = SessionWorld()
    token = world.token()
    signed = world.sign("GET", "/other", bearer(token))
    assert reasons(world, signed) == (401, ["signature-invalid"])
    assert ask(world, headers=[*bearer(token), ("Authorization", f"Bearer {token}")])[0] == 401


def test_a_session_counts_at_the_origin_where_it_was_issued():
    bank = "https://bank.example"
    world = SessionWorld(audiences=[SHOP, bank])
    token = world.token()
    assert ask(world, headers=bearer(token))[0] == 200
    assert ask(world, headers=[*bearer(token), ("Host", "bank.example")])[0] == 401
    # Another secret, another audience.
    elsewhere = AgentSignIn(world.service, bank, SECRET, now=world.clock)
    stranger = AgentSignIn(world.service, SHOP, SECRET[::-1], now=world.clock)
    assert elsewhere.session(token) is None and stranger.session(token) is None


def test_a_secret_is_rotated_without_ending_sessions():
    world = SessionWorld()
    token = world.token()
    rotated = AgentSignIn(world.service, SHOP, ["a new secret of thirty-two bytes.", SECRET], now=world.clock)
    assert rotated.session(token).did == DID
    assert world.sign_ins[0].session(rotated.issue(rotated.session(token))) is None


def test_processes_that_share_a_secret_and_a_store_accept_each_challenge_once():
    clock = Clock()
    used = MemoryNonceStore(now=clock)
    worlds = [SessionWorld(nonces=used), SessionWorld(nonces=used)]
    clock.seconds += 60
    worlds[1].service.key = worlds[0].service.key
    body = worlds[0].answer(worlds[0].challenge())
    outcomes = [each.post(body) for each in (worlds[1], worlds[0], worlds[1])]
    assert [status for status, _ in outcomes] == [200, 401, 401]
    # A wrong signature is no use of the challenge, and what a stranger has made is no challenge.
    challenge = worlds[0].challenge()
    answer = json.loads(worlds[0].answer(challenge))
    forged = {**answer, "signature": json.loads(body)["signature"]}
    assert worlds[0].post(json.dumps(forged).encode()) == (401, "INVALID_SIGNATURE")
    head, nonce = challenge.rpartition(":")[::2]
    raw = bytearray(base64.urlsafe_b64decode(nonce + "=="))
    raw[20] ^= 1
    longer = f"{head}:{base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}"
    assert worlds[0].post(worlds[0].answer(longer)) == (401, "CHALLENGE_SPENT")
    assert worlds[0].post(json.dumps(answer).encode())[0] == 200
    late = worlds[0].answer(worlds[0].challenge())
    # While the store has just started, each challenge of one millisecond expires a millisecond later.
    worlds[0].clock.seconds += 60.002
    assert worlds[0].post(late) == (401, "CHALLENGE_SPENT")


def test_a_store_that_cannot_tell_refuses():
    world = SessionWorld(nonces=MemoryNonceStore(now=lambda: 2_000_000_000))
    assert world.post(world.answer(world.challenge())) == (503, "UNAVAILABLE")


def test_asgi():
    world = SessionWorld()
    kind = [("Content-Type", "application/json")]
    status, data = ask_asgi(world, "GET", PATH)
    body = world.answer(json.loads(data)["challenge"])
    status, data = ask_asgi(world, "POST", PATH, kind, [body[:9], body[9:]])
    assert status == 200
    token = json.loads(data)["token"]
    assert json.loads(ask_asgi(world, headers=bearer(token))[1])["did"] == DID
    assert ask_asgi(world, "POST", PATH, kind, [b" " * 9_000, b" " * 9_000])[0] == 413
    assert ask_asgi(world, "HEAD", PATH) == (405, b"")


def test_memory_stays_bounded():
    clock = Clock()
    store = MemoryChallengeStore(max_entries=2, now=clock)
    for each in "abc":
        store.put(each, 60)
    assert [store.take(each) for each in "abc"] == [False, True, True]
    store.put("d", 60)
    clock.seconds += 60
    store.put("e", 60)
    assert list(store._ends) == ["e"]


@pytest.mark.parametrize("path", ["agent-sign-in", "//bank.example/", "/a?b", '/a"', "/a/../b", "/%41", "/é", ""])
def test_sign_in_paths_that_agents_would_read_differently(path):
    with pytest.raises(PolicyError):
        Gate(FakeService(), sessions=AgentSignIn(FakeService(), SHOP, SECRET), sign_in_path=path)


def test_mistakes_in_options():
    with pytest.raises(PolicyError):
        Gate(FakeService(), sign_in_path=PATH)
    assert Gate(FakeService(), {"requireProof": True}, sessions=AgentSignIn(FakeService(), SHOP, SECRET))
    for secret in ("x" * 31, [], [SECRET, b"short"]):
        with pytest.raises(CountersignError):
            AgentSignIn(FakeService(), SHOP, secret)
    for more in ({"audience": "https://shop.example/a"}, {"session_seconds": 0}, {"session_seconds": 86_401}):
        with pytest.raises(CountersignError):
            AgentSignIn(**{"service": FakeService(), "audience": SHOP, "secret": SECRET, **more})


def test_verify_request_refuses_the_response_of_a_stale_cache():
    world = World()
    world.service.sequence = 2

    def verify():
        request = RawRequest("GET", "https", "shop.example", "/", [("Host", "shop.example"), *world.sign()])
        return verify_request(request, world.service, [SHOP], None, world.clock).reason

    assert verify() is None
    world.service.sequence = 1
    assert verify() == "directory-unavailable"
