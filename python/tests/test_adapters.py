"""The adapters for requests and httpx: no signature leaves the agent's audiences, or is sent twice."""

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from countersign import Agent, CountersignError
from support import DID, FakeService


@pytest.fixture
def servers():
    """Two servers that answer with what they received; ``/to?<address>`` redirects with 307."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("content-length") or 0))
            seen.append((self.server.server_port, self.path, {k.lower(): v for k, v in self.headers.items()}))
            path, _, query = self.path.partition("?")
            self.send_response(307 if path == "/to" else 200)
            if path == "/to":
                self.send_header("Location", query)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_POST = do_GET

        def log_message(self, *_args):
            pass

    running = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    for each in running:
        threading.Thread(target=each.serve_forever, daemon=True).start()
    yield [f"http://127.0.0.1:{each.server_port}" for each in running], seen
    for each in running:
        each.shutdown()
        each.server_close()


def agent_for(origin):
    service = FakeService()
    return Agent(service, service.key, did=DID, audiences=[origin])


def check(seen, path):
    """The redirect, then ``path`` at the same origin, then the other origin."""
    first, second, other = seen
    assert (first[1].partition("?")[0], second[1], other[1]) == ("/to", path, "/other")
    assert first[2]["serviceid"] == second[2]["serviceid"] == DID
    assert first[2]["signature"] != second[2]["signature"]
    names = ("signature", "signature-input", "signature-agent", "serviceid", "content-digest")
    assert [name for name in names if name in other[2]] == []


def test_requests(servers):
    requests = pytest.importorskip("requests")
    from countersign.requests import SigningAdapter

    (here, there), seen = servers
    with requests.Session() as session:
        session.mount("http://", SigningAdapter(agent_for(here)))
        session.post(f"{here}/to?/back", data="é")
        session.get(f"{here}/to?{there}/other", headers={"ServiceID": DID})
        del seen[2]
        check(seen, "/back")
        with pytest.raises(CountersignError):
            session.post(here, data=iter([b"streamed"]))


def test_httpx(servers):
    httpx = pytest.importorskip("httpx")
    from countersign.httpx import SigningTransport

    (here, there), seen = servers
    with httpx.Client(transport=SigningTransport(agent_for(here)), follow_redirects=True) as client:
        client.post(f"{here}/to?/back", content=b"x")
        client.get(f"{here}/to?{there}/other", headers={"ServiceID": DID})
    del seen[2]
    check(seen, "/back")


def test_httpx_async(servers):
    httpx = pytest.importorskip("httpx")
    from countersign.httpx import AsyncSigningTransport

    (here, there), seen = servers

    async def ask():
        transport = AsyncSigningTransport(agent_for(here))
        async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
            await client.post(f"{here}/to?/back", content=b"x")
            await client.get(f"{here}/to?{there}/other", headers={"ServiceID": DID})

    asyncio.run(ask())
    del seen[2]
    check(seen, "/back")


def test_requests_that_cannot_be_signed():
    agent = agent_for("https://shop.example")
    for url in ("https://shop.example", "https://shop.example/a/../b", "https://shop.example/ä"):
        assert agent.signs_for(url)
        with pytest.raises(CountersignError) as caught:
            agent.sign_request("GET", url)
        assert caught.value.code == "INVALID_ARGUMENT"
    for url in ("https://other.example/", "https://shop.example@other.example/", "http://shop.example/"):
        assert not agent.signs_for(url)
        with pytest.raises(CountersignError):
            agent.sign_request("GET", url)
