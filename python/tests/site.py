"""Sites behind the middleware, which answer with what they received: ``site.py wsgi|asgi <service> signatures|delegates|sessions|directories``.

They require proof, of which they accept one kind; or have the policy ``POLICY`` and directories that serve ``KEY_SET``. The address is printed on the first line; they end with their standard input.
"""

import asyncio
import json
import os
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

from countersign.asgi import AsgiGateway
from countersign.gateway import Gate
from countersign.registry import Registry
from countersign.sessions import AgentSignIn
from countersign.wsgi import WsgiGateway, agent_of


class OlderStore:
    """Nonces of this test: signatures are never older than it."""

    def __init__(self):
        self._used = set()

    def record(self, nonce):
        if nonce.hash in self._used:
            return "used"
        self._used.add(nonce.hash)
        return "fresh"


def gate_for(service, origin, proof):
    # A busy machine is no reason for a decision.
    registry, policy = Registry(service, timeout=60), {"requireProof": True}
    if proof == "delegates":
        policy = {**policy, "cacheSeconds": 0, "delegation": {"maxDepth": 2, "maxSeconds": 3600, "mcp": False}}
    if proof in ("signatures", "delegates"):
        return Gate(registry, policy, audiences=[origin], nonces=OlderStore())
    if proof == "directories":
        key_set = os.environ["KEY_SET"].encode()
        policy, fetch = os.environ["POLICY"], lambda url: key_set
        return Gate(registry, policy, audiences=[origin], nonces=OlderStore(), fetch_directory=fetch)
    sign_in = AgentSignIn(registry, origin, "a secret of at least thirty-two bytes")
    return Gate(registry, policy, sessions=sign_in, sign_in_path="/agent-sign-in")


def answer_of(decision, body, headers):
    signature = decision.signature
    told = signature and {"profile": signature.profile, "replay": signature.replay}
    agent = {"did": decision.did, "proof": decision.proof, "signature": told}
    return json.dumps({**agent, "agent": agent, "body": body, "headers": headers}).encode("utf-8")


def wsgi_app(environ, start_response):
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length).decode("utf-8")
    decision = agent_of(environ)
    headers = {name: value for name, value in environ.items() if name.startswith("HTTP_X_SERVICEID")}
    start_response("200 OK", [("content-type", "application/json")])
    return [answer_of(decision, body, headers)]


async def asgi_app(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    decision = scope["countersign.decision"]
    headers = {
        name.decode(): value.decode()
        for name, value in scope["headers"]
        if name.lower().startswith(b"x-serviceid")
    }
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]}
    await send(start)
    await send({"type": "http.response.body", "body": answer_of(decision, body.decode(), headers)})


class Quiet(WSGIRequestHandler):
    def log_message(self, *_args):
        pass


def start_wsgi(service, proof, app=wsgi_app):
    """Starts a server. :returns: its origin, and what stops it"""
    server = make_server("127.0.0.1", 0, None, handler_class=Quiet)
    origin = f"http://127.0.0.1:{server.server_port}"
    server.set_app(WsgiGateway(app, gate_for(service, origin, proof)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    def stop():
        server.shutdown()
        server.server_close()

    return origin, stop


async def serve_asgi(service, proof):
    async def connected(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        headers = [
            (name.strip().lower().encode("latin-1"), value.strip().encode("latin-1"))
            for name, _, value in (line.partition(":") for line in lines)
        ]
        length = int(dict(headers).get(b"content-length", b"0"))
        messages = [{"type": "http.request", "body": await reader.readexactly(length)}]
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": headers,
            "client": ("127.0.0.1", 1),
        }

        async def receive():
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.start":
                writer.write(f"HTTP/1.1 {message['status']} Answer\r\nConnection: close\r\n".encode())
                for name, value in message["headers"]:
                    writer.write(name + b": " + value + b"\r\n")
                writer.write(b"\r\n")
            else:
                writer.write(message["body"])
                await writer.drain()
                writer.close()

        await site(scope, receive, send)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    site = AsgiGateway(asgi_app, gate_for(service, origin, proof))
    print(origin, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "wsgi":
        print(start_wsgi(*sys.argv[2:])[0], flush=True)
        sys.stdin.read()
    else:
        asyncio.run(serve_asgi(*sys.argv[2:]))
