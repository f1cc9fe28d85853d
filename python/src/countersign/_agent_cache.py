"""What the service says about agents, kept for some seconds."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Callable, Optional

from ._bounded_map import BoundedMap
from .decision import AgentData, LookupResult
from .errors import CountersignError
from .registry import Registry

_MAX_AGENTS = 10_000
_MAX_UNKNOWN_AGENTS = 1_000
# How long after a failure the service is not asked.
_PAUSE_SECONDS = 1.0
# Errors of the service itself. Any other error is about the one agent that was asked for.
_SERVICE_ERRORS = ("NETWORK", "UNAVAILABLE", "RATE_LIMITED")


@dataclass(frozen=True)
class Entry:
    agent: Optional[AgentData]
    requested_at: float


class AgentCache:
    """Looks agents up at the service and keeps the responses."""

    def __init__(
        self,
        registry: Registry,
        seconds: float,
        with_grade: bool,
        with_key: bool,
        now: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._seconds = seconds
        self._with_grade = with_grade
        self._with_key = with_key
        self._blocked_until = -math.inf
        self._now = now
        self._agents: "BoundedMap[str, Entry]" = BoundedMap(_MAX_AGENTS)
        # Kept apart, so that a flood of invented DIDs evicts no agent.
        self._unknown: "BoundedMap[str, Entry]" = BoundedMap(_MAX_UNKNOWN_AGENTS)

    def get_fresh(self, did: str) -> Optional[Entry]:
        entry = self._get(did)
        return entry if entry is not None and self._now() - entry.requested_at < self._seconds else None

    def lookup(self, did: str) -> LookupResult:
        """Asks the service. Never raises: every error becomes an unreachable service."""
        requested_at = self._now()
        # After a failure, so that requests do not each wait for a service that is down.
        if requested_at < self._blocked_until:
            return self._unreachable(did)
        try:
            agent = self._fetch(did)
        except CountersignError as error:
            if error.code in _SERVICE_ERRORS:
                self._blocked_until = self._now() + _PAUSE_SECONDS
            return self._unreachable(did)
        known = self._get(did)
        if known is not None and known.agent is not None and agent is not None:
            # An earlier key than before comes from a stale cache: its holder may have lost it since.
            if (agent.key_sequence or 0) < (known.agent.key_sequence or 0):
                return self._unreachable(did)
        target, other = (self._unknown, self._agents) if agent is None else (self._agents, self._unknown)
        target.set(did, Entry(agent, requested_at))
        other.remove(did)
        return LookupResult(True, agent)

    def _fetch(self, did: str) -> Optional[AgentData]:
        try:
            lookup = self._registry.lookup(did)
            grade = self._registry.grade(did)["grade"] if self._with_grade else None
            data = AgentData(
                did=did,
                status=lookup["certificate"]["status"],
                verified=lookup["verified"] is True,
                identity_method=lookup["owner"]["identityMethod"],
                grade=grade,
            )
            if not self._with_key:
                return data
            agent = self._registry.agent(did)
            return replace(
                data,
                key_age_seconds=_age_of(agent["keyChangedAt"]),
                owner_age_seconds=_age_of(agent["ownerChangedAt"]) if "ownerChangedAt" in agent else None,
                public_key=base64.b64decode(agent["publicKey"], validate=True),
                keyid=agent["keyThumbprint"],
                key_sequence=int(agent["keySequence"]),
            )
        except CountersignError as error:
            if error.code == "NOT_FOUND":
                return None
            raise
        except (KeyError, TypeError, ValueError) as cause:
            message = "The response is not that of a Countersign service."
            raise CountersignError("PROTOCOL", message) from cause

    def _unreachable(self, did: str) -> LookupResult:
        entry = self._get(did)
        if entry is None:
            return LookupResult(False)
        return LookupResult(False, entry.agent, self._now() - entry.requested_at)

    def _get(self, did: str) -> Optional[Entry]:
        return self._agents.get(did) or self._unknown.get(did)


def _age_of(timestamp: str) -> float:
    changed = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return (datetime.now(timezone.utc) - changed).total_seconds()
