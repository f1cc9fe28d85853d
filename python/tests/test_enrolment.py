"""Enrolment: against a real service if test/python.slow.test.ts has started one, and against responses of its own."""

import json
import os
import threading
import traceback
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from countersign import (
    AgentKey,
    CountersignError,
    Registry,
    enrol,
    gcp_token,
    github_actions_token,
    keep_enrolled,
    token_file,
)
from support import Clock

SERVICE = os.environ.get("COUNTERSIGN_TEST_SERVICE", "")
ENROLMENT = json.loads(os.environ.get("COUNTERSIGN_TEST_ENROLMENT", "{}"))
RULE = "er_" + "z" * 22
TOKEN = f"{'h' * 24}.{'p' * 24}.{'s' * 24}"
DID = "svc:agent:" + "A" * 24


@contextmanager
def answering(*answers):
    """A server with one response after the other: status, headers, body. Yields its address and the requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, answer = answers[min(len(requests), len(answers) - 1)]
            requests.append((self.path, dict(self.headers), body.decode()))
            data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *_args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def refused(code, call):
    with pytest.raises(CountersignError) as caught:
        call()
    assert caught.value.code == code
    text = "".join(traceback.format_exception(type(caught.value), caught.value, caught.value.__traceback__))
    assert TOKEN not in text and "bearer-secret" not in text
    return caught.value


@pytest.mark.skipif(not SERVICE, reason="needs a service: run test/python.slow.test.ts")
def test_enrols_renews_and_ends(tmp_path):
    path = tmp_path / "token"
    path.write_text(ENROLMENT["token"] + "\n")
    key = AgentKey.generate()
    asked = []

    def token(audience):
        asked.append(audience)
        return token_file(path)(audience)

    first = enrol(SERVICE, ENROLMENT["rule"], token, key)
    assert asked == [f"{SERVICE}/enrol/{ENROLMENT['rule']}/{key.thumbprint}"]
    assert (first.agent_id, first.renewed) == ("crawler", False)
    assert datetime.now(timezone.utc) < first.renew_after < first.ends_at
    with pytest.raises(CountersignError) as caught:
        enrol(SERVICE, ENROLMENT["rule"], token, AgentKey.generate())
    assert caught.value.code == "CONFLICT" and ENROLMENT["token"] not in str(caught.value)
    again = next(keep_enrolled(SERVICE, ENROLMENT["rule"], token, key))
    assert (again.did, again.renewed) == (first.did, True)
    assert Registry(SERVICE).lookup(first.did)["verified"] is True
    ended = first.end()
    assert (ended["did"], ended["status"], ended["statusReason"]) == (first.did, "revoked", "enrolment_ended")
    assert again.end()["status"] == "revoked"


def test_the_token_follows_no_redirect_and_is_in_no_error():
    with answering((200, {}, {})) as (thief, stolen):
        error = {"error": {"code": "FORBIDDEN", "message": f"No: {TOKEN}", "requestId": "req_1"}}
        location = {"Location": f"{thief}/api/v1/enrol"}
        for answer, code in (
            ((302, location, {}), "PROTOCOL"),
            ((307, location, {}), "PROTOCOL"),
            ((403, {}, error), "FORBIDDEN"),
            ((201, {}, {"svcDid": DID}), "PROTOCOL"),
        ):
            with answering(answer) as (service, received):
                refused(code, lambda: enrol(service, RULE, lambda _: TOKEN, AgentKey.generate()))
                assert [json.loads(body)["token"] for _, _, body in received] == [TOKEN]
        assert stolen == []


def test_sends_nothing_but_a_token():
    with answering((200, {}, {})) as (service, received):
        for text in ("<html>", "a.b", f"{TOKEN}\n", "x" * 9000 + ".a.b", AgentKey.generate().to_pem()):
            refused("NO_PLATFORM_TOKEN", lambda: enrol(service, RULE, lambda _: text, AgentKey.generate()))
        refused("INVALID_ARGUMENT", lambda: enrol(service, "er_1", lambda _: TOKEN, AgentKey.generate()))
        assert received == []


def test_keeps_an_agent_enrolled_until_it_is_stopped():
    clock = Clock()
    waited = []

    class Stop(threading.Event):
        def wait(self, timeout):
            waited.append(timeout)
            clock.seconds += timeout

    start = clock.seconds
    renew_after = datetime.fromtimestamp(start, timezone.utc) + timedelta(hours=1)
    times = {name: renew_after.strftime("%Y-%m-%dT%H:%M:%S.000Z") for name in ("renewAfter", "endsAt")}
    enrolled = {"svcDid": DID, "agentId": "a", "renewed": True, **times}
    away = {"error": {"code": "UNAVAILABLE", "message": "away", "requestId": "req_1"}}
    no = {"error": {"code": "FORBIDDEN", "message": "no", "requestId": "req_1"}}
    ok = (200, {}, enrolled)
    stop, failures, dids = Stop(), [], []
    with answering((503, {}, away), ok, (403, {}, no), ok) as (service, received):

        def on_failure(error, delay):
            assert 0 < delay <= 2
            failures.append(error.code)

        key = AgentKey.generate()
        for enrolment in keep_enrolled(service, RULE, lambda _: TOKEN, key, stop, on_failure, clock):
            dids.append(enrolment.did)
            if len(dids) == 2:
                stop.set()
        assert (dids, failures, len(received)) == ([DID, DID], ["UNAVAILABLE", "FORBIDDEN"], 4)
        assert max(waited) <= 60 and 3200 < clock.seconds - start < 4000
    with answering((403, {}, no)) as (service, _):
        refused("FORBIDDEN", lambda: list(keep_enrolled(service, RULE, lambda _: TOKEN, AgentKey.generate())))


def test_asks_github_actions(monkeypatch):
    monkeypatch.delenv("ACTIONS_ID_TOKEN_REQUEST_URL", raising=False)
    refused("NO_PLATFORM_TOKEN", lambda: github_actions_token()("x"))
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "bearer-secret")
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", "http://example.org/token")
    refused("NO_PLATFORM_TOKEN", lambda: github_actions_token()("x"))
    with answering((200, {}, {"value": TOKEN})) as (url, received):
        monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f"{url}/token?api-version=2.0")
        assert github_actions_token()("https://id.example/enrol/x") == TOKEN
        path, headers, _ = received[0]
        assert path == "/token?api-version=2.0&audience=https%3A%2F%2Fid.example%2Fenrol%2Fx"
        assert headers["Authorization"] == "Bearer bearer-secret"
        for answer in ((302, {"Location": f"{url}/other"}, {}), (403, {}, TOKEN), (200, {}, TOKEN)):
            with answering(answer) as (other, asked):
                monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", other)
                refused("NO_PLATFORM_TOKEN", lambda: github_actions_token()("x"))
                assert len(asked) == 1
        assert len(received) == 1


def test_asks_the_metadata_server(monkeypatch):
    with answering((200, {}, TOKEN)) as (url, received):
        monkeypatch.setenv("GCE_METADATA_HOST", url[len("http://") :])
        assert gcp_token()("https://id.example/enrol/x") == TOKEN
        path, headers, _ = received[0]
        assert path.endswith("/default/identity?audience=https%3A%2F%2Fid.example%2Fenrol%2Fx&format=full")
        assert headers["Metadata-Flavor".title()] == "Google"


def test_reads_a_file_each_time(tmp_path):
    path = tmp_path / "token"
    source = token_file(path)
    refused("NO_PLATFORM_TOKEN", lambda: source("x"))
    for text in ("a.b.c", "d.e.f"):
        path.write_text(text + "\n")
        assert source("x") == text
