"""The ASGI middleware: what a site sees, and what attackers try."""

import asyncio
import json

import pytest
from countersign.asgi import AsgiGateway, agent_of
from support import DID, SHOP, World

FORGED = [("X-ServiceID-DID", "x"), ("x_serviceid_proof", "signature"), ("X.ServiceID.Verified", "true")]


async def site(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = [[name.decode(), value.decode()] for name, value in scope["headers"]]
    data = json.dumps({"did": agent_of(scope).did, "headers": headers, "body": body.decode()})
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": data.encode()})


def ask(world, method="GET", target="/", headers=(), chunks=(b"",), app=site, **more):
    """Sends a request. :returns: its status and its body"""
    path, _, query = target.partition("?")
    fields = [("Host", "shop.example"), *headers]
    scope = {
        "type": "http",
        "method": method,
        "scheme": "https",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in fields],
        "client": ("203.0.113.1", 1),
        **more,
    }
    parts = list(chunks)
    sent = []

    async def receive():
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message):
        sent.append(message)

    asyncio.run(AsgiGateway(app, world.gate)(scope, receive, send))
    if sent[0]["type"] != "http.response.start":
        return sent[0]["type"], b""
    return sent[0]["status"], sent[1]["body"]


def test_a_signed_request_is_admitted_and_forged_headers_are_replaced():
    world = World()
    status, data = ask(world, headers=[*FORGED, *world.sign()])
    assert status == 200
    seen = json.loads(data)
    assert seen["did"] == DID
    names = [name for name, _ in seen["headers"] if "serviceid" in name]
    assert sorted(names) == sorted(
        ["serviceid"] + [f"x-serviceid-{each}" for each in ("decision", "verified", "proof", "did", "status", "identity-level", "issuer")]
    )
    assert dict(seen["headers"])["x-serviceid-did"] == DID


def test_replays_changed_bodies_and_strangers_are_refused():
    world = World()
    signed = world.sign("POST", "/orders", [], b"12")
    assert ask(world, "POST", "/orders", signed, [b"1", b"2"])[0] == 200
    assert ask(world, "POST", "/orders", signed, [b"12"])[0] == 401
    assert ask(world, "POST", "/orders", world.sign("POST", "/orders", [], b"12"), [b"1", b"3"])[0] == 401
    assert ask(world, headers=[("ServiceID", DID)])[0] == 401
    # HTTP/2: content that no header announces.
    assert ask(world, "DELETE", "/orders/1", world.sign("DELETE", "/orders/1"), [b"1"])[0] == 401
    assert ask(world, "DELETE", "/orders/1", world.sign("DELETE", "/orders/1"))[0] == 200


def test_the_site_receives_a_body_that_was_compared():
    world = World()
    data = ask(world, "POST", "/", world.sign("POST", "/", [], b"abc"), [b"a", b"", b"bc"])[1]
    assert json.loads(data)["body"] == "abc"


def test_several_hosts_other_schemes_and_unknown_paths_are_refused():
    world = World()
    assert ask(world, headers=[*world.sign(), ("Host", "shop.example")])[0] == 400
    assert ask(world, headers=world.sign(), scheme="http")[0] == 401
    assert ask(world, headers=world.sign(), raw_path=None)[0] == 400
    assert ask(world, target="/b", headers=world.sign("GET", "/a"))[0] == 401


def test_repeated_identification_is_refused():
    world = World()
    assert ask(world, headers=[*world.sign(), ("ServiceID", DID)])[0] == 401


def test_websockets():
    world = World()
    assert ask(world, type="websocket", scheme="wss")[0] == "websocket.close"

    async def accept(scope, _receive, send):
        assert agent_of(scope).did == DID
        await send({"type": "websocket.accept"})

    assert ask(world, headers=world.sign(), type="websocket", scheme="wss", app=accept)[0] == "websocket.accept"


def test_fastapi():
    fastapi = pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    app, world = fastapi.FastAPI(), World()
    app.add_middleware(AsgiGateway, gate=world.gate)

    @app.post("/orders/{name}")
    async def order(name: str, request: fastapi.Request):
        return {"did": agent_of(request.scope).did, "name": name, "body": (await request.body()).decode()}

    client = testclient.TestClient(app, base_url=SHOP)
    signed = dict(world.sign("POST", "/orders/1?a=b", [], b"x"))
    got = client.post("/orders/1?a=b", content=b"x", headers=signed)
    assert got.json() == {"did": DID, "name": "1", "body": "x"}
    assert client.post("/orders/1?a=b", content=b"x", headers=signed).status_code == 401


# FastAPI resolves annotations at run time by the names of this module.
try:
    import fastapi
except ImportError:
    fastapi = None
