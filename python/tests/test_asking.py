"""Agents that ask for approvals: against a real service, a site and an owner if test/python.slow.test.ts has started them, and against
responses of its own."""

import asyncio
import json
import os
import urllib.request
from datetime import timezone

import pytest
from countersign import Agent, AgentKey, ApprovalOptions, CountersignError, DelegatedAgent
from support import DID
from test_enrolment import answering

SERVICE = os.environ.get("COUNTERSIGN_TEST_SERVICE", "")
APPROVALS = json.loads(os.environ.get("COUNTERSIGN_TEST_APPROVALS", "{}"))
needs_service = pytest.mark.skipif(not SERVICE, reason="needs a service: run test/python.slow.test.ts")
ORDERS = iter(range(1_000_000))


def purchase():
    """A purchase that differs from every other one."""
    return json.dumps({"order": next(ORDERS), "total": "129.00", "to": "Zoë GmbH"}, ensure_ascii=False).encode()


def owner(act, approval=""):
    """What the owner does: ``approve``, ``deny``, ``off``, ``on``."""
    with urllib.request.urlopen(f"{APPROVALS['owner']}/{act}?{approval}", timeout=30) as response:
        assert response.status == 200


def approving(**settings):
    """Approves as soon as the owner is asked."""
    return ApprovalOptions(on_pending=lambda pending: owner("approve", pending.id), **settings)


@pytest.fixture
def agent():
    agent = Agent(SERVICE, AgentKey.from_jwk(APPROVALS["jwk"]), audiences=[APPROVALS["site"]])
    agent.whoami()
    return agent


def reasons(answer):
    return answer.json()["error"]["reasons"][0]


class Clients:
    """The adapters, with one form: a call returns the status and the text, and errors are those of the package."""

    @staticmethod
    def requests(agent, url, approval=None, headers=()):
        pytest.importorskip("requests")
        from countersign.requests import signing_session

        with signing_session(agent, approval=approval) as session:
            answer = session.post(url, data=purchase(), headers={"Content-Type": "application/json", **dict(headers)})
            return answer.status_code, answer.text

    @staticmethod
    def httpx(agent, url, approval=None, headers=()):
        httpx = pytest.importorskip("httpx")
        from countersign.httpx import SigningTransport

        with httpx.Client(transport=SigningTransport(agent, approval=approval), timeout=30) as client:
            kind = {"Content-Type": "application/json; charset=utf-8", **dict(headers)}
            answer = client.post(url, content=purchase(), headers=kind)
            return answer.status_code, answer.text

    @staticmethod
    def httpx_async(agent, url, approval=None, headers=()):
        httpx = pytest.importorskip("httpx")
        from countersign.httpx import AsyncSigningTransport

        async def ask():
            transport = AsyncSigningTransport(agent, approval=approval)
            async with httpx.AsyncClient(transport=transport, timeout=30) as client:
                kind = {"Content-Type": "application/json", **dict(headers)}
                answer = await client.post(url, content=purchase(), headers=kind)
                return answer.status_code, answer.text

        return asyncio.run(ask())


each_client = pytest.mark.parametrize("client", ["requests", "httpx", "httpx_async"])


@needs_service
@each_client
def test_an_adapter_asks_the_owner_and_sends_the_request_once_more(agent, client):
    send, url = getattr(Clients, client), f"{APPROVALS['site']}/orders?a=b"
    asked = []

    def on_pending(pending):
        asked.append(pending)
        owner("approve", pending.id)

    status, text = send(agent, url, ApprovalOptions("Printer paper", 3600, 60, on_pending))
    assert (status, [text]) == (200, [each.id for each in asked])
    assert asked[0].approve_url == f"{SERVICE}/dashboard/approvals/{asked[0].id}"
    assert asked[0].expires_at.tzinfo == timezone.utc
    # Without the setting, the refusal is the answer.
    status, text = send(agent, url)
    assert (status, json.loads(text)["error"]["reasons"][0]) == (403, "approval-required")


@needs_service
@each_client
def test_what_the_owner_does_not_approve_is_an_error(agent, client):
    send, url = getattr(Clients, client), f"{APPROVALS['site']}/orders"

    def code_of(approval, **changes):
        with pytest.raises(CountersignError) as caught:
            send(agent, url, approval, **changes)
        return caught.value.code

    assert code_of(ApprovalOptions(on_pending=lambda pending: owner("deny", pending.id))) == "APPROVAL_DENIED"
    # Two denials in a row would end the test.
    assert send(agent, url, approving())[0] == 200
    assert code_of(approving(), headers={"Content-Type": "text/plain"}) == "VALIDATION_ERROR"
    owner("off")
    assert code_of(approving()) == "APPROVALS_OFF"
    owner("on")


@needs_service
def test_a_token_is_sent_with_its_request_only_by_a_delegate_too(agent):
    pytest.importorskip("requests")
    from countersign.requests import signing_session

    site, kind = APPROVALS["site"], [("Content-Type", "application/json")]

    def approved(url, body):
        pending = agent.request_approval("POST", url, kind, body, "Paper", valid_seconds=60)
        assert pending.check() is None
        with pytest.raises(CountersignError) as caught:
            pending.wait(timeout=0)
        assert caught.value.code == "TIMEOUT"
        # The same question is the same approval.
        assert agent.request_approval("POST", url, kind, body, "Paper", valid_seconds=60).id == pending.id
        owner("approve", pending.id)
        return {**dict(kind), "ServiceID-Approval": pending.wait()}

    key = AgentKey.generate()
    worker = DelegatedAgent(agent.delegate(key.public_key, [site], methods=["POST"]).chain, key)
    body, url = purchase(), f"{site}/orders/1"
    headers = approved(url, body)
    with signing_session(worker) as session:
        answers = [session.post(url, data=body, headers=headers) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 403]
    assert reasons(answers[1]) == "approval-used"
    with pytest.raises(CountersignError) as caught:
        signing_session(worker, approval=ApprovalOptions())
    assert caught.value.code == "INVALID_ARGUMENT"

    # Of two addresses of a redirect, the token goes to the one that was approved.
    body, moved = purchase(), f"{site}/to?/orders/2"
    for url, expected in ((f"{site}/orders/2", [False, True]), (moved, [True, False])):
        headers = approved(url, body)
        with signing_session(agent) as session:
            answer = session.post(moved, data=body, headers=headers)
        sent = [each.request for each in (*answer.history, answer)]
        assert ["ServiceID-Approval" in each.headers for each in sent] == expected
        assert answer.status_code == (200 if expected[1] else 403)


ASKED = {
    "id": "ap_" + "A" * 22,
    "state": "pending",
    "expiresAt": "2099-01-01T00:00:00.000Z",
    "approveUrl": "https://id.example/dashboard/approvals/ap_",
    "pollSeconds": 0,
}
PENDING = (200, {}, {"id": ASKED["id"], "state": "pending"})
APPROVED = (200, {}, {"id": ASKED["id"], "state": "approved", "token": "a.b.c"})
UNAVAILABLE = (503, {}, {"error": {"code": "UNAVAILABLE", "message": "soon", "requestId": "req_1"}})


def asking(asked, *states):
    """What waiting for an approval gives with these responses, and the requests."""
    with answering(asked, *states) as (service, requests):
        agent = Agent(service, AgentKey.generate(), did=DID)
        try:
            pending = agent.request_approval("POST", "https://shop.example/orders", [], None)
            return pending.wait(30), requests
        except CountersignError as error:
            return error.code, requests


def test_waiting_ends_with_the_decision():
    outcome, requests = asking((201, {}, ASKED), PENDING, UNAVAILABLE, PENDING, APPROVED)
    assert outcome == "a.b.c"
    path, headers, body = requests[0]
    named = {name.lower(): value for name, value in headers.items()}
    assert (path, named["serviceid"]) == (f"/api/v1/agent/{DID}/approvals", DID)
    assert json.loads(body) == {"request": {"method": "POST", "url": "https://shop.example/orders"}}
    assert {each[0] for each in requests[1:]} == {f"/api/v1/approvals/{ASKED['id']}"}
    for state, code in (
        ({"state": "denied"}, "APPROVAL_DENIED"),
        ({"state": "cancelled"}, "APPROVAL_DENIED"),
        ({"state": "expired"}, "APPROVAL_EXPIRED"),
        ({"state": "approved"}, "APPROVAL_EXPIRED"),
        ({"state": "other"}, "PROTOCOL"),
    ):
        assert asking((201, {}, ASKED), PENDING, (200, {}, state))[0] == code
    # Nobody can decide any more, and the service fails.
    late = {**ASKED, "expiresAt": "2020-01-01T00:00:00.000Z"}
    assert asking((201, {}, late), UNAVAILABLE)[0] == "UNAVAILABLE"
    for wrong in ({}, {**ASKED, "id": "../x"}, {**ASKED, "expiresAt": "soon"}, {**ASKED, "pollSeconds": None}):
        assert asking((201, {}, wrong))[0] == "PROTOCOL"


def test_only_utf_8_can_be_approved():
    with pytest.raises(CountersignError) as caught:
        Agent("https://id.example", AgentKey.generate(), did=DID).request_approval(
            "POST", "https://shop.example/", [("Content-Type", "application/json")], b"\xff"
        )
    assert caught.value.code == "INVALID_ARGUMENT"


@each_client
def test_a_site_that_cannot_tell_whether_an_approval_was_used_gets_one_request(client):
    refusal = (503, {"Retry-After": "0"}, {"error": {"code": "UNAVAILABLE", "reasons": ["approval-unchecked"]}})
    with answering(refusal) as (site, requests):
        agent = Agent("https://id.example", AgentKey.generate(), did=DID, audiences=[site])
        with pytest.raises(CountersignError) as caught:
            getattr(Clients, client)(agent, f"{site}/orders", headers={"ServiceID-Approval": "a.b.c"})
        assert (caught.value.code, len(requests)) == ("APPROVAL_UNCHECKED", 1)
        # Without an approval, it is a response as any other.
        assert getattr(Clients, client)(agent, f"{site}/orders")[0] == 503
