"""How an agent asks its owner to approve one request (docs/approvals.md)."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Mapping, Optional

from ._http import HeaderList, field_value, header_fields
from ._jws import parse_jws
from .errors import CountersignError
from .registry import Registry

#: Failures of the service that may pass.
_TRANSIENT = ("NETWORK", "RATE_LIMITED", "INTERNAL_ERROR", "UNAVAILABLE")
#: How long after the time for the decision such failures are still waited for, in seconds: clocks differ.
_CLOCK_SKEW = 60.0
_ID = re.compile("ap_[A-Za-z0-9_-]{22}")
_JSON_TYPE = re.compile(r"(application/json)\s*;\s*charset=\"?utf-8\"?", re.IGNORECASE)
#: The reason of a gateway, by the status of its refusal.
_REASONS = {403: "approval-required", 503: "approval-unchecked"}


@dataclass(frozen=True)
class PendingApproval:
    """An approval that the owner has been asked for.

    :ivar id: ``ap_…``
    :ivar approve_url: the page on which the owner decides
    :ivar expires_at: until when the owner can decide
    :ivar poll_seconds: how long to wait between two calls of :meth:`check`
    """

    id: str
    approve_url: str
    expires_at: datetime
    poll_seconds: float
    _registry: Registry

    def check(self) -> Optional[str]:
        """Asks once for the decision, for programs that must not block. Short failures of the service count as no decision.

        :returns: the token; ``None`` while nobody has decided
        :raises CountersignError: ``APPROVAL_DENIED``, ``APPROVAL_EXPIRED``; ``NETWORK`` if the service fails after the time for the
            decision
        """
        try:
            progress = self._registry.call("GET", f"/api/v1/approvals/{self.id}")
        except CountersignError as error:
            if error.code not in _TRANSIENT or time.time() > self.expires_at.timestamp() + _CLOCK_SKEW:
                raise
            return None
        state, token = progress.get("state"), progress.get("token")
        if state == "pending":
            return None
        if state == "approved" and isinstance(token, str):
            return token
        code, message = _ENDS.get(str(state), ("PROTOCOL", "The response is not that of a Countersign service."))
        raise CountersignError(code, message)

    def wait(self, timeout: Optional[float] = None) -> str:
        """Waits for the decision. Several calls do no harm.

        :param timeout: in seconds; by default until the time for the decision is over. The owner can still decide after a timeout
        :returns: the token: send it in the header ``ServiceID-Approval`` of the request
        :raises CountersignError: ``APPROVAL_DENIED``, ``APPROVAL_EXPIRED``; ``TIMEOUT``
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            token = self.check()
            if token is not None:
                return token
            left = self.poll_seconds if until is None else until - time.monotonic()
            if until is not None and left <= 0:
                raise CountersignError("TIMEOUT", "The owner has not decided yet.")
            time.sleep(max(0.0, min(self.poll_seconds, left)))


_ENDS = {
    "denied": ("APPROVAL_DENIED", "The owner has denied this request."),
    "cancelled": (
        "APPROVAL_DENIED",
        "The approval was cancelled: the agent is not active, has another key or owner, or may no longer ask.",
    ),
    "expired": ("APPROVAL_EXPIRED", "The owner has not decided in time. Ask again."),
    "approved": ("APPROVAL_EXPIRED", "The approval has expired before it was used. Ask again."),
}


@dataclass(frozen=True)
class ApprovalOptions:
    """How an agent asks its owner for an approval if a site requires one.

    :param message: what you say about the request, at most 200 characters. The owner sees it as a quotation, below the request itself
    :param expires_in_seconds: how long the owner has to decide: 60 to 86,400. By default 900
    :param valid_seconds: how long the approval is valid after the decision: 60 to 3,600. By default 600
    :param on_pending: called once the owner has been asked: show them ``approve_url`` if you can. What it raises ends the request
    """

    message: Optional[str] = None
    expires_in_seconds: Optional[int] = None
    valid_seconds: Optional[int] = None
    on_pending: Optional[Callable[[PendingApproval], object]] = None


def question_for(
    method: str,
    url: str,
    headers: HeaderList,
    body: Optional[bytes],
    options: Mapping[str, object],
) -> bytes:
    """What the service is asked.

    :param options: by their names in the API; ``None``: left out
    :raises CountersignError: ``INVALID_ARGUMENT`` if the body is not UTF-8
    """
    question: Dict[str, object] = {"request": _described(method, url, headers, body)}
    question.update({name: value for name, value in options.items() if value is not None})
    return json.dumps(question).encode("ascii")


def pending_in(answer: Mapping[str, Any], registry: Registry) -> PendingApproval:
    """:raises CountersignError: ``PROTOCOL``"""
    try:
        expires_at = datetime.strptime(answer["expiresAt"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
        found = str(answer["id"]), str(answer["approveUrl"]), expires_at, float(answer["pollSeconds"])
        if _ID.fullmatch(found[0]):
            return PendingApproval(*found, registry)
    except (KeyError, TypeError, ValueError):
        pass
    raise CountersignError("PROTOCOL", "The response is not that of a Countersign service.")


def _described(method: str, url: str, headers: HeaderList, body: Optional[bytes]) -> Dict[str, str]:
    """The request exactly as it will be sent."""
    request = {"method": method, "url": url.partition("#")[0]}
    if body:
        given = field_value(header_fields(headers), "content-type") or ""
        # Sites accept the type with this parameter too, which says what JSON is anyway.
        plain = _JSON_TYPE.fullmatch(given)
        request["contentType"] = plain.group(1) if plain else given
        try:
            request["body"] = body.decode("utf-8")
        except UnicodeDecodeError as cause:
            raise CountersignError("INVALID_ARGUMENT", "Only a body of JSON in UTF-8 can be approved.") from cause
    return request


def may_refuse(status: int, content_type: Optional[str]) -> bool:
    """Whether a response can be a refusal that is about an approval, so that its body is worth to be read."""
    return status in _REASONS and (content_type or "").partition(";")[0].strip().lower() == "application/json"


def asks_for_approval(status: int, body: bytes) -> bool:
    """Whether a refusal asks for an approval.

    :raises CountersignError: ``APPROVAL_UNCHECKED``
    """
    try:
        reason = json.loads(body.decode("utf-8"))["error"]["reasons"][0]
    except (ValueError, KeyError, IndexError, TypeError):
        return False
    if reason != _REASONS[status]:
        return False
    if status == 403:
        return True
    raise CountersignError(
        "APPROVAL_UNCHECKED",
        "The site cannot tell whether this approval was used, and never will. Ask again, after you have looked whether the "
        "request was done.",
    )


def is_approval_for(token: str, url: str) -> bool:
    """Whether a token is for a URL. Libraries copy headers to the target of a redirect, which the owner has not approved."""
    try:
        return parse_jws(token, "approval").payload.get("url") == url.partition("#")[0]
    except CountersignError:
        return True


__all__ = ["ApprovalOptions", "PendingApproval"]
