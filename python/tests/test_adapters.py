"""The adapters for requests and httpx: no signature leaves the agent's audiences, or is sent twice."""

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from countersign import Agent, CountersignError
from support import DID, FakeService


CHALLENGE = "challenge-of-the-site-1"


@pytest.fixture
def servers():
    """Two servers that answer with what they received; ``/to?<address>`` redirects with 307, ``/503`` asks to sign with a nonce, and
    ``/later?<seconds>`` to sign again after a time."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {k.lower(): v for k, v in self.headers.items()}
            seen.append((self.server.server_port, self.path, {**headers, "body": body}))
            path, _, query = self.path.partition("?")
            self.send_response(307 if path == "/to" else 503 if path in ("/503", "/later") else 200)
            if path == "/503":
                self.send_header("Accept-Signature", f'sig1=();nonce="{CHALLENGE}";tag="web-bot-auth"')
            if path == "/later":
                self.send_header("Accept-Signature", 'sig1=();tag="web-bot-auth"')
                self.send_header("Retry-After", query)
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
        threading.Thread(target=each.serve_forever, args=(0.01,), daemon=True).start()
    yield [f"http://127.0.0.1:{each.server_port}" for each in running], seen
    for each in running:
        each.shutdown()
        each.server_close()


def agent_for(origin, unlisted="plain"):
    service = FakeService()
    return Agent(service, service.key, did=DID, audiences=[origin], unlisted=unlisted)


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


def check_challenged(seen):
    """The request of an audience is sent once more, with the nonce; others are not."""
    first, second, other = seen
    assert [first[2]["body"], second[2]["body"]] == [b"lamp", b"lamp"]
    assert f'nonce="{CHALLENGE}"' not in first[2]["signature-input"]
    assert f'nonce="{CHALLENGE}"' in second[2]["signature-input"]
    assert "signature" not in other[2]


def test_a_nonce_of_the_site_is_signed_once_requests(servers):
    requests = pytest.importorskip("requests")
    from countersign.requests import SigningAdapter

    (here, there), seen = servers
    with requests.Session() as session:
        session.mount("http://", SigningAdapter(agent_for(here)))
        assert session.post(f"{here}/503", data=b"lamp").status_code == 503
        assert session.post(f"{there}/503", data=b"lamp").status_code == 503
    check_challenged(seen)


def test_a_nonce_of_the_site_is_signed_once_httpx(servers):
    httpx = pytest.importorskip("httpx")
    from countersign.httpx import AsyncSigningTransport, SigningTransport

    (here, there), seen = servers
    with httpx.Client(transport=SigningTransport(agent_for(here))) as client:
        assert client.post(f"{here}/503", content=b"lamp").status_code == 503
        assert client.post(f"{there}/503", content=b"lamp").status_code == 503
    check_challenged(seen)
    seen.clear()

    async def main():
        async with httpx.AsyncClient(transport=AsyncSigningTransport(agent_for(here))) as client:
            assert (await client.post(f"{here}/503", content=b"lamp")).status_code == 503
            assert (await client.post(f"{there}/503", content=b"lamp")).status_code == 503

    asyncio.run(main())
    check_challenged(seen)


def check_later(seen):
    """The request is sent twice, each time with a signature of its own; that which asks for too long a wait, once."""
    first, second, far, other = seen
    assert [first[2]["body"], second[2]["body"]] == [b"lamp", b"lamp"]
    assert first[2]["signature"] != second[2]["signature"]
    assert (far[1], other[1]) == ("/later?61", "/later?0")
    assert "signature" not in other[2]


def test_a_site_that_asks_to_sign_again_later(servers):
    pytest.importorskip("requests")
    httpx = pytest.importorskip("httpx")
    from countersign.httpx import AsyncSigningTransport, SigningTransport
    from countersign.requests import signing_session

    (here, there), seen = servers
    addresses = [f"{here}/later?0", f"{here}/later?61", f"{there}/later?0"]
    with signing_session(agent_for(here)) as session:
        assert [session.post(each, data=b"lamp").status_code for each in addresses] == [503] * 3
    check_later(seen)
    seen.clear()
    with httpx.Client(transport=SigningTransport(agent_for(here))) as client:
        assert [client.post(each, content=b"lamp").status_code for each in addresses] == [503] * 3
    check_later(seen)
    seen.clear()

    async def main():
        async with httpx.AsyncClient(transport=AsyncSigningTransport(agent_for(here))) as client:
            for each in addresses:
                assert (await client.post(each, content=b"lamp")).status_code == 503

    asyncio.run(main())
    check_later(seen)
    seen.clear()
    with signing_session(agent_for(here), max_retry_after=0) as session:
        assert session.get(f"{here}/later?1").status_code == 503
    assert len(seen) == 1


def test_other_origins_are_refused(servers):
    pytest.importorskip("requests")
    httpx = pytest.importorskip("httpx")
    from countersign.httpx import AsyncSigningTransport, SigningTransport
    from countersign.requests import signing_session

    (here, there), seen = servers

    def refused(send, *args):
        with pytest.raises(CountersignError) as caught:
            send(*args)
        assert caught.value.code == "WRONG_AUDIENCE"
        assert f'audiences=["{there}"]' in str(caught.value) and 'unlisted="plain"' in str(caught.value)

    agent = agent_for(here, unlisted="refuse")
    with signing_session(agent) as session:
        assert session.get(f"{here}/a").status_code == 200
        refused(session.get, f"{there}/a")
        refused(session.get, f"{here}/to?{there}/other")
    with httpx.Client(transport=SigningTransport(agent)) as client:
        refused(client.get, f"{there}/a")

    async def main():
        async with httpx.AsyncClient(transport=AsyncSigningTransport(agent)) as client:
            await client.get(f"{there}/a")

    refused(asyncio.run, main())
    assert [each[1].partition("?")[0] for each in seen] == ["/a", "/to"]
    with pytest.raises(CountersignError):
        agent_for(here, unlisted="other")


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
