"""Enrolment: an identity for a workload by the token of its platform, without a stored secret."""

from __future__ import annotations

import base64
import hashlib
import random
import re
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Iterator, Optional, Union, cast

from ._ed25519 import base64url
from ._platform_tokens import TokenSource, gcp_token, github_actions_token, token_file
from .errors import CountersignError
from .keys import AgentKey
from .registry import Registry
from .results import EnrolmentEnded

__all__ = [
    "Enrolment",
    "TokenSource",
    "enrol",
    "gcp_token",
    "github_actions_token",
    "keep_enrolled",
    "token_file",
]

_RULE = re.compile("er_[1-9A-HJ-NP-Za-km-z]{22}")
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_TOKEN_MAX_LENGTH = 8192
_TRANSIENT = frozenset(("NETWORK", "RATE_LIMITED", "INTERNAL_ERROR", "UNAVAILABLE"))
# Workloads that have started together do not stay together.
_SPREAD = 0.1
_FIRST_RETRY_SECONDS = 1.0
_LONGEST_RETRY_SECONDS = 300.0
# A timer stands still while a machine sleeps, so the clock is read at least this often.
_LONGEST_PAUSE_SECONDS = 60.0


@dataclass(frozen=True)
class Enrolment:
    """The agent of a workload that has enrolled."""

    did: str
    #: The label of the agent, which the rule gives it.
    agent_id: str
    #: Whether the agent existed before; ``False``: it is new.
    renewed: bool
    #: When to enrol again.
    renew_after: datetime
    #: When the agent is revoked, unless the workload enrols again.
    ends_at: datetime
    _registry: Registry
    _key: AgentKey
    _now: Callable[[], float]

    def __repr__(self) -> str:
        return f"<Enrolment {self.did}>"

    def end(self) -> EnrolmentEnded:
        """Ends the agent, at once and for good; the workload can enrol again with a new key. Ending it again does no harm.

        :raises CountersignError: ``INVALID_SIGNATURE``, ``NOT_FOUND``, ``NETWORK``
        """
        issued_at = int(self._now())
        lines = (self._registry.service, self.did, self._key.thumbprint, str(issued_at))
        signature = _signature(self._registry, self._key, "enrol-end", *lines)
        path = f"/api/v1/agent/{self.did}/enrolment/end"
        ended = self._registry.call("POST", path, {"issuedAt": issued_at, "signature": signature})
        return cast(EnrolmentEnded, self._registry.with_did(ended))


def enrol(
    service: Union[str, Registry],
    rule: str,
    token: TokenSource,
    key: AgentKey,
    now: Callable[[], float] = time.time,
) -> Enrolment:
    """Enrols a workload: the service certifies its key by the token that its platform gives it. The same call renews the agent, so a
    retry is harmless. Call it again after ``renew_after``, or use :func:`keep_enrolled`.

    The token is sent to the service only, never along a redirect, and no error repeats it.

    :param service: its ``BASE_URL``, which is in the audience of the token, or a :class:`Registry`
    :param rule: the id of the enrolment rule: ``er_`` and 22 base58 characters
    :param token: called with the audience to ask for, ``<service>/enrol/<rule>/<thumbprint of the key>``: nobody can use such a token
        with another key. :func:`github_actions_token`, :func:`gcp_token`, :func:`token_file`, or your own
    :param key: of the workload. The DID follows the key
    :param now: the clock, in Unix seconds
    :raises CountersignError: ``FORBIDDEN`` if the rule does not admit the token; ``TOKEN_EXPIRED``; ``CONFLICT`` if another key has used
        the token, or the rule has no seat left; ``AGENT_NOT_ACTIVE``; ``KEY_ALREADY_CLAIMED``; ``IDENTITY_REQUIRED``; ``NOT_FOUND``;
        ``NO_PLATFORM_TOKEN`` if the platform gives no token; ``INVALID_ARGUMENT``; ``NETWORK``
    """
    registry = service if isinstance(service, Registry) else Registry(service)
    if _RULE.fullmatch(rule) is None:
        raise CountersignError("INVALID_ARGUMENT", "The id of an enrolment rule is er_ and 22 base58 characters.")
    platform_token = token(f"{registry.service}/enrol/{rule}/{key.thumbprint}")
    # Whatever else a source has read, such as a page or a private key, is not sent.
    is_token = len(platform_token) <= _TOKEN_MAX_LENGTH and _TOKEN.fullmatch(platform_token) is not None
    if not is_token:
        raise CountersignError(
            "NO_PLATFORM_TOKEN",
            f"The platform gave no token: a JWT in compact form, of at most {_TOKEN_MAX_LENGTH} characters, is needed.",
        )
    issued_at = int(now())
    # Without the signature of the token, which can be changed without the key of the platform.
    token_hash = base64url(hashlib.sha256(platform_token.rpartition(".")[0].encode("ascii")).digest())
    lines = (registry.service, rule, token_hash, key.thumbprint, str(issued_at))
    body = {
        "rule": rule,
        "token": platform_token,
        "publicKey": key.public_key,
        "issuedAt": issued_at,
        "signature": _signature(registry, key, "enrol", *lines),
    }
    try:
        answer = registry.call("POST", "/api/v1/enrol", body)
    except CountersignError as error:
        if platform_token not in str(error):
            raise
        message = "The enrolment failed. The message of the response is left out, since it repeats the token."
        raise CountersignError(error.code, message, error.status, error.request_id) from None
    return _enrolment(registry, answer, key, now)


def keep_enrolled(
    service: Union[str, Registry],
    rule: str,
    token: TokenSource,
    key: AgentKey,
    stop: Optional[threading.Event] = None,
    on_failure: Optional[Callable[[Exception, float], None]] = None,
    now: Callable[[], float] = time.time,
) -> Iterator[Enrolment]:
    """Enrols a workload and renews its agent until ``stop`` is set. Yields each enrolment, and renews while you iterate: at ``renew_after``,
    varied by 10 %. Failures are retried, at first after a second and at most every 5 minutes. Run the loop in a thread of its own, beside
    your program; it starts no thread.

    :param stop: ends the iteration, also while it waits. The agent goes on until ``ends_at``: call ``end()`` to end it at once
    :param on_failure: called with the error and the seconds until the next attempt
    :raises CountersignError: as :func:`enrol`, if the first enrolment is refused; failures of the network, and later refusals, are retried
    """
    stopped = threading.Event() if stop is None else stop
    registry = service if isinstance(service, Registry) else Registry(service)
    is_enrolled, failures = False, 0
    while not stopped.is_set():
        try:
            enrolment = enrol(registry, rule, token, key, now)
        except Exception as error:
            if not is_enrolled and not _may_pass(error):
                raise
            longest = min(_LONGEST_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2.0 ** min(failures, 16))
            delay = longest * random.uniform(0.5, 1)
            failures += 1
            due = now() + delay
            if on_failure is not None:
                on_failure(error, delay)
        else:
            is_enrolled, failures = True, 0
            left = enrolment.renew_after.timestamp() - now()
            due = now() + max(_FIRST_RETRY_SECONDS, left * random.uniform(1 - _SPREAD, 1 + _SPREAD))
            yield enrolment
        while not stopped.is_set() and now() < due:
            stopped.wait(min(due - now(), _LONGEST_PAUSE_SECONDS))


def _may_pass(error: Exception) -> bool:
    return isinstance(error, CountersignError) and (error.code in _TRANSIENT or (error.status or 0) >= 500)


def _enrolment(registry: Registry, answer: Dict[str, Any], key: AgentKey, now: Callable[[], float]) -> Enrolment:
    try:
        return Enrolment(
            did=str(answer[registry.naming.did_field]),
            agent_id=str(answer["agentId"]),
            renewed=answer["renewed"] is True,
            renew_after=_time(answer["renewAfter"]),
            ends_at=_time(answer["endsAt"]),
            _registry=registry,
            _key=key,
            _now=now,
        )
    except (KeyError, TypeError, ValueError):
        raise CountersignError("PROTOCOL", "The response is not that of a Countersign service.") from None


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)


def _signature(registry: Registry, key: AgentKey, operation: str, *lines: str) -> str:
    """Over 0xFF, which never occurs in UTF-8, so that no challenge can be these bytes, and the lines."""
    name = f"{registry.naming.short_name}-{operation}-v1"
    message = b"\xff" + "\n".join((name, *lines)).encode("utf-8")
    return base64.b64encode(key.sign(message)).decode("ascii")
