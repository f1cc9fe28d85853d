"""The WSGI middleware: what a site sees, and what attackers try."""

import io
import json
from urllib.parse import unquote
from wsgiref.util import setup_testing_defaults

import pytest
from countersign.gateway import Gate
from countersign.policy import PolicyError
from countersign.wsgi import WsgiGateway, agent_of
from support import DID, SHOP, FakeService, World

FORGED = [
    ("X-ServiceID-DID", "svc:agent:zzzzzzzzzzzzzzzzzzzzzzzz"),
    ("X_ServiceID_Proof", "signature"),
    ("x.serviceid.verified", "true"),
    ("X-SERVICEID-Directory", "https://bots.example"),
]


def site(environ, start_response):
    seen = {name: value for name, value in environ.items() if isinstance(value, str)}
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response("200 OK", [("Vary", "Accept")])
    return [json.dumps({"environ": seen, "body": body.decode()}).encode()]


def ask(world, method="GET", target="/", headers=(), body=b"", app=site, raw=True, server="test"):
    """Sends a request. :returns: its status, the headers of the response, and its body"""
    path, _, query = target.partition("?")
    environ = {"REQUEST_METHOD": method, "PATH_INFO": unquote(path, "latin-1"), "QUERY_STRING": query}
    environ["SERVER_SOFTWARE"] = server
    if raw:
        environ["REQUEST_URI"] = target
    setup_testing_defaults(environ)
    environ.update({"HTTP_HOST": "shop.example", "wsgi.url_scheme": "https", "wsgi.input": io.BytesIO(body)})
    if body:
        environ["CONTENT_LENGTH"] = str(len(body))
    # As wsgiref does: hyphens become underscores, other characters stay, repeated fields are joined.
    for name, value in headers:
        key = name.upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    answer = {}

    def start_response(status, fields, *_):
        answer.update(status=int(status[:3]), headers={name.lower(): value for name, value in fields})

    data = b"".join(WsgiGateway(app, world.gate)(environ, start_response))
    return answer["status"], answer["headers"], data


def test_a_signed_request_is_admitted_and_forged_headers_are_replaced():
    world = World()
    status, headers, data = ask(world, headers=[*FORGED, *world.sign()])
    assert status == 200
    seen = json.loads(data)["environ"]
    forwarded = {name: value for name, value in seen.items() if "SERVICEID" in name and name != "HTTP_SERVICEID"}
    assert forwarded == {
        "HTTP_X_SERVICEID_DECISION": "allow",
        "HTTP_X_SERVICEID_VERIFIED": "true",
        "HTTP_X_SERVICEID_PROOF": "signature",
        "HTTP_X_SERVICEID_ISSUER": "https://id.example",
        "HTTP_X_SERVICEID_DID": DID,
        "HTTP_X_SERVICEID_STATUS": "active",
        "HTTP_X_SERVICEID_IDENTITY_LEVEL": "in-person",
    }
    assert headers["vary"] == "Accept, ServiceID, Signature"


def test_a_named_agent_is_refused_without_proof():
    world = World()
    status, headers, data = ask(world, headers=[("ServiceID", DID), *FORGED])
    assert status == 401
    error = json.loads(data)["error"]
    assert (error["code"], error["reasons"]) == ("UNAUTHENTICATED", ["proof-required", "header-only"])
    assert headers["www-authenticate"] == "ServiceID"
    assert headers["cache-control"] == "no-store"
    assert ask(world)[0] == 401
    assert ask(world, headers=[("Accept", "text/html")])[1]["content-type"].startswith("text/html")


def test_a_replayed_request_is_refused():
    world = World()
    signed = world.sign("POST", "/orders", [], b"1")
    assert [ask(world, "POST", "/orders", signed, b"1")[0] for _ in range(2)] == [200, 401]


@pytest.mark.parametrize("body", [b"2", b"", b"1" * 100])
def test_a_changed_body_is_refused(body):
    world = World()
    assert ask(world, "POST", "/orders", world.sign("POST", "/orders", [], b"1"), body)[0] == 401


def test_an_added_body_is_refused():
    world = World()
    assert ask(world, "DELETE", "/orders/1", world.sign("DELETE", "/orders/1"), b"1")[0] == 401


def test_the_site_can_read_a_body_that_was_compared():
    world = World()
    data = ask(world, "POST", "/", world.sign("POST", "/", [], b"hello"), b"hello")[2]
    assert json.loads(data)["body"] == "hello"


@pytest.mark.parametrize("target", ["/orders/2", "/orders/1?x=1", "/orders/1/", "//orders/1", "/orders/%31"])
def test_another_address_is_refused(target):
    world = World()
    assert ask(world, "GET", target, world.sign("GET", "/orders/1"))[0] in (400, 401)


def test_several_hosts_and_other_hosts_are_refused():
    world = World()
    for host in ("other.example", "shop.example"):
        assert ask(world, headers=[*world.sign(), ("Host", host)])[0] == 400
    other = World()
    other.gate.audiences = ["https://other.example"]
    assert ask(other, headers=other.sign())[0] == 401


def test_expired_foreign_and_suspended_keys_are_refused():
    world = World()
    signed = world.sign()
    world.clock.seconds += 61
    assert ask(world, headers=signed)[0] == 401
    other = World()
    assert ask(world, headers=other.sign())[0] == 401
    world.service.status = "suspended"
    world.clock.seconds += 10
    assert ask(world, headers=world.sign())[0] == 403


def test_a_decoded_path_counts_only_if_it_is_unambiguous():
    world = World()
    assert ask(world, target="/a.b/c", headers=world.sign("GET", "/a.b/c"), raw=False)[0] == 200
    # Two spellings give this path, and the server does not say which was sent.
    for path in ("/a%20b", "/a%25", "/caf%C3%A9"):
        assert ask(world, target=path, headers=world.sign("GET", path))[0] == 200
        assert ask(world, target=path, headers=world.sign("GET", path), raw=False)[0] == 400


def test_ambiguous_paths_get_the_strictest_rules():
    world = World(requireProof=False, routes=[{"path": "/private/*", "levels": {"none": "deny"}}], levels={"none": "allow"})
    assert ask(world, target="/public")[0] == 200
    for target in ("/private/x", "/PRIVATE/x", "/private", "/public/..%2fprivate/x", "//private/x", "/x/../private/x"):
        assert ask(world, target=target)[0] == 401, target
    assert ask(world, target="/public/../private/x", raw=False)[0] == 401


def test_the_default_content_type_of_wsgiref():
    """wsgiref, and runserver of Django, say text/plain if a request has no Content-Type."""
    world = World()
    default = [("Content-Type", "text/plain")]
    assert ask(world, headers=[*world.sign(), *default])[0] == 401
    assert ask(world, headers=[*world.sign(), *default], server="WSGIServer/0.2 CPython/3.11")[0] == 200
    signed = world.sign("GET", "/", default)
    assert ask(world, headers=signed, server="WSGIServer/0.2 CPython/3.11")[0] == 200
    other = [("Content-Type", "text/html")]
    assert ask(world, headers=[*world.sign(), *other], server="WSGIServer/0.2 CPython/3.11")[0] == 401


def test_an_unreachable_service_refuses():
    world = World()
    world.service.down = True
    assert ask(world, "POST", "/", world.sign("POST", "/"))[0] == 503
    calls = world.service.calls
    ask(world, headers=world.sign())
    assert world.service.calls == calls
    world.service.down = False
    world.clock.seconds += 1
    assert ask(world, headers=world.sign())[0] == 200


def test_a_new_key_counts_at_once_and_the_former_one_no_longer():
    world = World(cacheSeconds=60)
    former = world.sign()
    assert ask(world, headers=world.sign())[0] == 200
    world.service.key, world.service.sequence = type(world.service.key).generate(), 2
    assert ask(world, headers=world.sign())[0] == 200
    assert ask(world, headers=former)[0] == 401


def test_the_rate_limit():
    policy = {"levels": {"verified": "limit"}, "limit": {"requests": 2, "seconds": 60}}
    world = World(**policy)
    statuses = [ask(world, headers=world.sign())[0] for _ in range(3)]
    assert statuses == [200, 200, 429]
    world.clock.seconds += 30
    assert ask(world, headers=world.sign())[0] == 200


def test_shadow_mode_refuses_nothing_and_says_so():
    world = World(mode="shadow")
    status, _, data = ask(world, headers=FORGED)
    assert status == 200
    assert json.loads(data)["environ"]["HTTP_X_SERVICEID_DECISION"] == "shadow-deny"


def test_mistakes_in_options():
    with pytest.raises(PolicyError) as caught:
        Gate(FakeService(), {"requireProof": True})
    assert "requireProof" in caught.value.mistakes[0]
    with pytest.raises(PolicyError):
        Gate(FakeService(), audiences=["https://shop.example/"])
    required = {"requireLogged": {"policy": "quorum none"}}
    with pytest.raises(PolicyError) as caught:
        Gate(FakeService(), {**required, "routes": [{"path": "/x", **required}, {"path": "/y", "requireLogged": None}]})
    assert caught.value.mistakes == [
        "policy.requireLogged is not supported by this package",
        "policy.routes[0].requireLogged is not supported by this package",
    ]


def test_flask():
    flask = pytest.importorskip("flask")
    app, world = flask.Flask(__name__), World()
    app.wsgi_app = WsgiGateway(app.wsgi_app, world.gate)

    @app.post("/orders/<path:name>")
    def order(name):
        request = flask.request
        return {"did": agent_of(request.environ).did, "name": name, "json": request.json}

    client, body = app.test_client(), b'{"a":1}'
    kind = [("Content-Type", "application/json")]
    signed = world.sign("POST", "/orders/1", kind, body)
    got = client.post("/orders/1", base_url=SHOP, data=body, headers=signed)
    assert got.get_json() == {"did": DID, "name": "1", "json": {"a": 1}}
    assert client.post("/orders/1", base_url=SHOP, data=body, headers=signed).status_code == 401


def test_django():
    django = pytest.importorskip("django")
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.http import JsonResponse
    from django.urls import re_path

    def view(request):
        return JsonResponse({"did": agent_of(request.META).did, "body": request.body.decode()})

    urls = type("Urls", (), {"urlpatterns": [re_path("", view)]})
    settings.configure(ALLOWED_HOSTS=["shop.example"], ROOT_URLCONF=urls, SECRET_KEY="test")
    assert django.VERSION
    world, app = World(), get_wsgi_application()
    got = ask(world, "POST", "/orders", world.sign("POST", "/orders", [], b"1"), b"1", app)
    assert (got[0], json.loads(got[2])) == (200, {"did": DID, "body": "1"})
    assert ask(world, "POST", "/orders", [("ServiceID", DID)], b"1", app)[0] == 401
