"""Which statement about the status of an agent counts: the one of the newest position (docs/certificates.md, "If list and staple disagree")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from ._status_lists import HeldRestriction, ListedStatus
from .feed_chain import SUSPENDED, VALID

# What a staple says that the service signed at the same moment as a lookup was answered may be older. In milliseconds.
_LATER_MS = 5000


@dataclass(frozen=True)
class StapledStatus:
    """A verified staple for the agent and its key."""

    #: ``active``, ``suspended`` or ``revoked``.
    status: str
    #: The epoch and the number of its position; ``None`` if it has none.
    feed: Optional[Tuple[str, int]]
    #: Milliseconds since 1970.
    issued_at: float


@dataclass(frozen=True)
class LookedUpStatus:
    """What the service has answered last, if it was a restriction. ``at``: milliseconds since 1970, by ``StatusFollower.now()``."""

    status: str
    at: float


@dataclass(frozen=True)
class Verdict:
    """What is known of an agent.

    :ivar verdict: ``active``, ``suspended``, ``revoked``, ``replaced`` (the certificate is invalid for good), or ``unreachable``: what
        decides is too old, or nothing does
    :ivar source: ``list``, ``staple``, ``lookup`` or ``None``
    :ivar as_of: milliseconds since 1970; of a list that of the newest head
    """

    verdict: str
    source: Optional[str] = None
    as_of: Optional[float] = None


@dataclass(frozen=True)
class _Statement:
    is_active: bool
    source: str
    #: Epoch and number.
    feed: Optional[Tuple[str, int]]
    as_of: float
    age_ms: float


def weigh(
    listed: Optional[ListedStatus],
    held: Optional[HeldRestriction],
    staples: Sequence[StapledStatus],
    looked_up: Optional[LookedUpStatus],
    now: float,
    max_stale_ms: float,
    keys_overdue_ms: float = 0,
) -> Verdict:
    """Decides by the newest position. Ages only decide whether what wins is too old, and a restriction never is.

    :param listed: the entry of the status list; ``None`` if the list is not known
    :param held: the restriction of the overlay
    :param now: milliseconds since 1970
    :param keys_overdue_ms: for how long the keys of the issuer should have been confirmed
    """
    if listed is not None and listed.status not in (VALID, SUSPENDED):
        return Verdict("replaced")
    if held is not None and held.status != SUSPENDED:
        return Verdict("replaced")
    revoked = next((each for each in staples if each.status == "revoked"), None)
    if revoked is not None:
        return Verdict("revoked", "staple", revoked.issued_at)

    statements: List[_Statement] = []
    if held is not None:
        statements.append(_Statement(False, "list", (held.epoch, held.n), held.arrived_at, 0))
    elif listed is not None:
        is_active, as_of = listed.status == VALID, listed.as_of
        if not is_active or looked_up is None or as_of > looked_up.at:
            age = max(0.0, now - as_of, keys_overdue_ms)
            statements.append(_Statement(is_active, "list", listed.feed, as_of, age))
    own = listed.feed if listed is not None else (held.epoch, held.n) if held is not None else None
    for staple in staples:
        is_active, at = staple.status == "active", staple.issued_at
        is_of_feed = (listed is None and held is None) or _is_comparable(own, staple.feed)
        is_later = looked_up is None or at >= looked_up.at + _LATER_MS
        if not is_active or (is_of_feed and is_later):
            statements.append(_Statement(is_active, "staple", staple.feed, at, max(0.0, now - at)))

    winner = _newest(statements)
    if looked_up is not None and (winner is None or looked_up.status == "revoked" and not winner.is_active):
        return Verdict(looked_up.status, "lookup", looked_up.at)
    if winner is None:
        return Verdict("unreachable")
    if not winner.is_active:
        return Verdict("suspended", winner.source, winner.as_of)
    verdict = "active" if winner.age_ms <= max_stale_ms else "unreachable"
    return Verdict(verdict, winner.source, winner.as_of)


def _is_comparable(one: Optional[Tuple[str, int]], other: Optional[Tuple[str, int]]) -> bool:
    return one is not None and other is not None and one[0] == other[0]


def _newest(statements: Sequence[_Statement]) -> Optional[_Statement]:
    """The one of the highest position; of equal ones a restriction, then the youngest. Where positions cannot be compared, a
    restriction."""
    if not statements:
        return None
    is_comparable = all(_is_comparable(each.feed, statements[0].feed) for each in statements)

    def rank(each: _Statement) -> Tuple[int, bool, float]:
        n = each.feed[1] if is_comparable and each.feed is not None else 0
        return n, not each.is_active, -each.age_ms

    return max(statements, key=rank)
