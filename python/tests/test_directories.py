"""Signers of key directories that a policy lists: their keys, what their signatures admit, and how key sets are fetched."""

import datetime
import json
import socket
import ssl
import threading

import pytest
from countersign import AgentKey, _public_page
from countersign._http import Component, SignatureAgent, SignedParts, header_fields, signature_base, strict_components
from countersign._public_page import fetch_public_page, is_public_address
from countersign._structured_fields import Item, serialize_member, serialize_string
from countersign.directories import Directory, KeyDirectories, directory_url, read_key_set
from countersign.gateway import Gate
from countersign.policy import PolicyError, read_policy
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from support import DID, SHOP, Clock, World, vectors
from test_sessions import SessionWorld, bearer
from test_wsgi import ask

BOTS = "https://bots.example"
BOT = AgentKey.generate()


def jwk_of(key, **more):
    return {"kty": "OKP", "crv": "Ed25519", "x": key.to_jwk()["x"], **more}


class Site:
    """A directory in memory. ``keys``: what it serves; ``None``: it fails."""

    def __init__(self, *keys):
        self.keys = list(keys)
        self.asked = []

    def __call__(self, url):
        self.asked.append(url)
        if self.keys is None:
            raise OSError("down")
        return json.dumps({"keys": self.keys}).encode()


def bot_world(site, world=None, **policy):
    world = world or World()
    given = {"directories": [{"url": BOTS}], "levels": {"directory": "allow"}, "requireProof": True, **policy}
    world.gate = Gate(
        world.service,
        given,
        audiences=[SHOP],
        nonces=world.gate._nonces,
        sessions=getattr(world, "sign_ins", ()),
        fetch_directory=site,
        now=world.clock,
        wall_clock=world.clock,
    )
    return world


def signed(
    world, method="GET", path="/", headers=(), key=BOT, agent=BOTS, covered=None, dialect="dictionary", age=0, lifetime=60
):
    """The headers of a bot. ``covered``: the names of the components; by default those of the profile strict"""
    value = f'"{agent}"' if dialect == "bare" else f'sig1="{agent}"' + (";type=cimd" if dialect == "cimd" else "")
    place = Component("signature-agent", None if dialect == "bare" else "sig1")
    fields = [*headers, ("Signature-Agent", value)]
    parts = SignedParts(method, SHOP, path, None, header_fields(fields), False)
    components = strict_components(method, parts.fields, False, False, place, "ServiceID")
    if covered is not None:
        components = [Component(each) for each in covered] + [place]
    created = int(world.clock()) - age
    world.nonce = getattr(world, "nonce", 0) + 1
    params = (
        f"({' '.join(each.identifier for each in components)});created={created};expires={created + lifetime}"
        f";keyid={serialize_string(key.thumbprint)};nonce=\"{world.nonce:024}\";tag=\"web-bot-auth\""
    )
    signature = serialize_member(Item(key.sign(signature_base(parts, components, params).encode())))
    return [*fields, ("Signature-Input", f"sig1={params}"), ("Signature", f"sig1={signature}")]


def reasons(answer):
    status, _, data = answer
    return status, json.loads(data)["error"]["reasons"]


def test_a_signer_of_a_listed_directory_is_admitted_and_is_no_agent():
    site = Site(jwk_of(BOT))
    world = bot_world(site)
    status, _, data = ask(world, headers=signed(world))
    assert status == 200
    seen = json.loads(data)["environ"]
    forwarded = {name: value for name, value in seen.items() if name.startswith("HTTP_X_SERVICEID")}
    assert forwarded == {
        "HTTP_X_SERVICEID_DECISION": "allow",
        "HTTP_X_SERVICEID_VERIFIED": "false",
        "HTTP_X_SERVICEID_PROOF": "none",
        "HTTP_X_SERVICEID_DIRECTORY": BOTS,
    }
    assert ask(world, headers=signed(world, dialect="bare"))[0] == 200
    assert site.asked == [f"{BOTS}/.well-known/http-message-signatures-directory"]
    # The service was not asked about it.
    assert world.service.calls == 0
    replayed = signed(world)
    assert [ask(world, headers=replayed)[0] for _ in range(2)] == [200, 401]


def test_the_level_decides_and_is_deny_by_default():
    world = bot_world(Site(jwk_of(BOT)), levels={})
    assert reasons(ask(world, headers=signed(world))) == (403, ["directory-signed"])
    limited = {"levels": {"directory": "limit"}, "limit": {"requests": 2, "seconds": 60}}
    world = bot_world(Site(jwk_of(BOT)), **limited)
    assert [ask(world, headers=signed(world))[0] for _ in range(3)] == [200, 200, 429]


def test_signers_that_are_not_listed_prove_nothing():
    world = bot_world(Site(jwk_of(BOT)))
    for agent in ("https://other.example", f"{BOTS}/keys.json", "https://bots.example:8443"):
        assert reasons(ask(world, headers=signed(world, agent=agent)))[1][0] == "signature-unverified"
    stranger = AgentKey.generate()
    assert reasons(ask(world, headers=signed(world, key=stranger)))[1][0] == "signature-unverified"


def test_a_signer_that_names_an_agent_too_is_refused():
    world = bot_world(Site(jwk_of(BOT)), SessionWorld())
    named = [("ServiceID", DID)]
    assert reasons(ask(world, headers=signed(world, headers=named))) == (401, ["signature-invalid"])
    sign_in = world.sign_ins[0]
    challenge = sign_in.begin()
    answer = world.agent().answer(challenge, SHOP)
    token = sign_in.complete(answer.public_key, challenge, answer.signature)["token"]
    with_session = signed(world, headers=bearer(token))
    assert reasons(ask(world, headers=with_session)) == (401, ["identification-conflict"])


def test_signatures_that_cover_the_host_alone():
    site = Site(jwk_of(BOT))
    strict = bot_world(site)
    host_only = ["@authority"]
    assert reasons(ask(strict, headers=signed(strict, covered=host_only))) == (401, ["signature-invalid"])
    world = bot_world(site, directories=[{"url": BOTS, "profile": "wba"}])
    assert ask(world, headers=signed(world, covered=host_only))[0] == 200
    assert ask(world, "POST", headers=signed(world, "POST", covered=host_only))[0] == 401


def test_signatures_of_an_hour():
    world = bot_world(Site(jwk_of(BOT)), directories=[{"url": BOTS, "maxLifetimeSeconds": 3600}])
    assert ask(world, headers=signed(world, lifetime=3600))[0] == 200
    old = signed(world, age=301, lifetime=3600)
    assert [ask(world, headers=old)[0] for _ in range(2)] == [200, 200]
    empty = [("Content-Digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")]
    post = signed(world, "POST", headers=empty, age=301, lifetime=3600)
    assert reasons(ask(world, "POST", headers=post)) == (503, ["replay-unchecked", "no-identification"])
    assert reasons(ask(world, headers=signed(world, lifetime=3601))) == (401, ["signature-invalid"])


def test_an_agent_gets_no_rules_of_a_directory():
    world = World()
    key_set = f"{world.service.service}/agent/{DID.rpartition(':')[2]}/jwks.json"
    world = bot_world(Site(), world, directories=[{"url": key_set, "profile": "wba"}])
    own = {"key": world.service.key, "agent": key_set}
    for changes in ({"lifetime": 301}, {"covered": ["@authority"]}):
        assert reasons(ask(world, headers=signed(world, **own, **changes))) == (401, ["signature-invalid"])
    assert ask(world, headers=signed(world, **own))[0] == 200


def test_keys_in_a_client_document():
    card, keys = f"{BOTS}/card", f"{BOTS}/keys.json"
    jwks = {"keys": [jwk_of(BOT)]}

    def status_for(document):
        asked = []

        def fetch(url):
            asked.append(url)
            return json.dumps(jwks if url == keys else document).encode()

        world = bot_world(fetch, directories=[{"url": card}])
        return ask(world, headers=signed(world, agent=card, dialect="cimd"))[0], asked

    assert status_for({"client_id": card, "jwks": jwks}) == (200, [card])
    assert status_for({"client_id": card, "jwks_uri": keys}) == (200, [card, keys])
    others = ({"client_id": keys, "jwks": jwks}, {"jwks": jwks}, {"client_id": card, "jwks": jwks, "jwks_uri": keys}, jwks)
    for document in (*others, {"client_id": card, "jwks_uri": "https://127.0.0.1/keys.json"}):
        assert status_for(document) == (503, [card]), document


def test_a_directory_that_is_down():
    site = Site(jwk_of(BOT))
    world = bot_world(site)
    site.keys = None
    assert ask(world, headers=signed(world))[0] == 503
    site.keys = [jwk_of(BOT)]
    # It is left alone for a while.
    assert ask(world, headers=signed(world))[0] == 503
    world.clock.seconds += 30
    assert ask(world, headers=signed(world))[0] == 200
    assert len(site.asked) == 2


def key_sets(site, clock):
    directories = KeyDirectories([Directory(BOTS)], site, clock, clock)
    agent = SignatureAgent("origin", BOTS)
    return lambda key: directories.find_key(agent, key.thumbprint)


def test_keys_are_cached_and_a_failure_keeps_them():
    clock, site = Clock(), Site(jwk_of(BOT))
    find = key_sets(site, clock)
    assert find(BOT).public_key == BOT.public_bytes
    site.keys = None
    clock.seconds += 60
    assert find(BOT).did is None
    assert find(AgentKey.generate()) == "directory-unavailable"
    assert len(site.asked) == 2
    site.keys = []
    clock.seconds += 30
    assert find(BOT) == "unknown-key"
    # A new key is found once the pause is over.
    site.keys = [jwk_of(BOT)]
    assert find(BOT) == "unknown-key"
    clock.seconds += 30
    assert find(BOT).public_key == BOT.public_bytes


def test_a_key_counts_in_its_time():
    clock = Clock()
    now = clock.seconds
    for times in ({"nbf": now + 1}, {"exp": now}, {"exp": now * 1000}, {"nbf": None}, {"exp": "2030"}, {"nbf": True}):
        assert key_sets(Site(jwk_of(BOT, **times)), clock)(BOT) == "unknown-key", times
    for times in ({"nbf": now}, {"exp": now + 1}, {"nbf": now * 1000, "exp": (now + 1) * 1000}):
        assert key_sets(Site(jwk_of(BOT, **times)), clock)(BOT).public_key == BOT.public_bytes, times


def test_requests_that_wait_cause_one_fetch():
    started, go = threading.Event(), threading.Event()
    site = Site(jwk_of(BOT))

    def slow(url):
        started.set()
        go.wait()
        return site(url)

    find, found = key_sets(slow, Clock()), []
    threads = [threading.Thread(target=lambda: found.append(find(BOT))) for _ in range(4)]
    for each in threads:
        each.start()
    started.wait()
    go.set()
    for each in threads:
        each.join()
    assert (len(site.asked), [each.public_key for each in found]) == (1, [BOT.public_bytes] * 4)


def test_what_is_no_key():
    good = jwk_of(BOT)
    for other in ({**good, "kty": "EC"}, {**good, "use": "enc"}, {**good, "x": good["x"] + "="}, {"x": 1}, 1, None):
        assert read_key_set({"keys": [other, good]}).keys() == {BOT.thumbprint}, other
    # Of small order, and a kid that is another key's.
    assert read_key_set({"keys": [{**good, "x": "A" * 43}, {**good, "kid": "x"}]}).keys() == {BOT.thumbprint}
    for value in (None, [], {}, {"keys": {}}, {"keys": [good] * 65}):
        assert read_key_set(value) is None


ADDRESSES = vectors("key-directories")


@pytest.mark.parametrize("case", ADDRESSES["valid"] + ADDRESSES["invalid"], ids=lambda case: case["name"])
def test_addresses_of_directories(case):
    assert directory_url(case["text"]) == case.get("url")


def test_mistakes():
    with pytest.raises(PolicyError) as caught:
        read_policy({"directories": [{"url": "http://a.example", "profile": "x", "name": 1}, 1]})
    address = "url must be an https address at a host name, such as `https://bots.example`"
    assert caught.value.mistakes == [
        "policy.directories[0].name is unknown",
        f"policy.directories[0].{address}",
        "policy.directories[0].profile must be `strict` or `wba`",
        "policy.directories[1] must be an object",
        f"policy.directories[1].{address}",
    ]
    with pytest.raises(PolicyError):
        Gate("https://id.example", {"directories": [{"url": BOTS}]})


@pytest.mark.parametrize("address", ["1.1.1.1", "192.0.1.1", "223.255.255.255", "2606:4700:4700::1111", "2001:200::1"])
def test_public_addresses(address):
    assert is_public_address(address)


@pytest.mark.parametrize(
    "address",
    "0.1.2.3 127.0.0.1 ::1 10.0.0.1 172.31.255.255 192.168.0.1 fc00::1 100.64.0.1 169.254.169.254 fe80::1%eth0 192.0.0.170 "
    "2001:db8::1 3fff::1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::ffff:127.0.0.1 ::ffff:7f00:1 64:ff9b::7f00:1 "
    "2002:7f00:1:: 2001:0:7f00:1:: 100::1 5f00::1 2a00::1.1.1.1 localhost 1.1.1 0x1.1.1.1".split(" ") + [""],
)
def test_addresses_that_are_not_public(address):
    assert not is_public_address(address)


@pytest.fixture
def page(monkeypatch, tmp_path):
    """A server for ``bots.example`` whose certificate is trusted. ``answer``: what it sends"""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bots.example")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("bots.example")]), False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "server.pem"
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(pem + certificate.public_bytes(Encoding.PEM))
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(file)
    listener = socket.create_server(("127.0.0.1", 0))

    class Page:
        answer = b""
        requests = []
        connections = []

    state = Page()

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
                state.connections.append(connection)
                secure = server_context.wrap_socket(connection, server_side=True)
                state.connections.append(secure)
                state.requests.append(secure.recv(4096).decode())
                secure.sendall(state.answer)
                if state.answer:
                    secure.close()
            except OSError:
                if listener.fileno() < 0:
                    return

    threading.Thread(target=serve, daemon=True).start()
    default_context = ssl.create_default_context

    def connect_there(address, timeout):
        assert address == ("203.0.113.1", 443)
        connection = socket.socket()
        connection.settimeout(timeout)
        connection.connect(listener.getsockname())
        return connection

    def trusting():
        context = default_context()
        context.load_verify_locations(file)
        return context

    monkeypatch.setattr(_public_page.socket, "getaddrinfo", lambda *_a, **_n: [(0, 0, 0, "", ("203.0.113.1", 443))])
    monkeypatch.setattr(_public_page, "is_public_address", lambda each: each == "203.0.113.1")
    monkeypatch.setattr(_public_page.socket, "create_connection", connect_there)
    monkeypatch.setattr(_public_page.ssl, "create_default_context", trusting)
    # A busy machine is no reason for a failure.
    monkeypatch.setattr(_public_page, "_ADDRESS_SECONDS", 60.0)
    yield state
    listener.close()
    for each in state.connections:
        each.close()


def response(body, status="200 OK", *lines):
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines])
    return f"{head}\r\n\r\n".encode() + body


def test_a_page_is_read_from_the_address_that_was_checked(page):
    page.answer = response(b"{}")
    assert fetch_public_page(f"{BOTS}/keys.json", 60, 10) == b"{}"
    [request] = page.requests
    assert request.startswith("GET /keys.json HTTP/1.1\r\n")
    assert "\r\nHost: bots.example\r\n" in request


@pytest.mark.parametrize(
    "answer",
    [
        response(b"x" * 11),
        response(b"", "302 Found", "Location: https://10.0.0.1/"),
        response(b"{}", "404 Not Found"),
        b"no HTTP\r\n\r\n",
    ],
)
def test_other_answers_are_failures(page, answer):
    page.answer = answer
    with pytest.raises(OSError):
        fetch_public_page(BOTS, 60, 10)
    assert len(page.requests) == 1


def test_a_certificate_of_another_name_is_refused(page):
    page.answer = response(b"{}")
    with pytest.raises(OSError):
        fetch_public_page("https://other.example/", 60, 10)
    assert page.requests == []


def test_a_server_that_never_answers(page):
    with pytest.raises(OSError):
        fetch_public_page(f"{BOTS}/", 0.2, 10)


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["1.1.1.1", "10.0.0.1"], []])
def test_hosts_with_other_addresses_are_not_connected_to(monkeypatch, addresses):
    found = [(0, 0, 0, "", (each, 443)) for each in addresses]
    monkeypatch.setattr(_public_page.socket, "getaddrinfo", lambda *_a, **_n: found)
    monkeypatch.setattr(_public_page.socket, "create_connection", lambda *_a: pytest.fail("connected"))
    with pytest.raises(OSError):
        fetch_public_page(BOTS, 60, 10)
