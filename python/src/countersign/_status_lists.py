"""The status lists of one issuer in memory, and the restrictions that no head has confirmed yet."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Deque, Dict, List, Mapping, Optional, Tuple

from .feed_chain import INVALID, LIST_LENGTH, VALID, FeedChain, FeedLine, FeedPosition

# Changes that are remembered, to apply them to a list that is from before them.
_MAX_CHANGES = 10_000
# Restrictions that no head has confirmed. More of them come only from somebody who withholds heads.
_MAX_OVERLAY = 100_000
# A forged line is noticed within a second, and its restriction goes away with a state of the service this much later. In
# milliseconds.
_SETTLED_MS = 5000


@dataclass
class _List:
    entries: bytearray
    #: The number of the newest change that is in it.
    n: int


@dataclass(frozen=True)
class HeldRestriction:
    """A restriction by a line that no verified position has confirmed."""

    status: int
    epoch: str
    n: int
    #: Milliseconds since 1970, by ``StatusFollower.now()``.
    arrived_at: float


@dataclass(frozen=True)
class ListedStatus:
    """The entry of a status list, with the position up to which it is known."""

    status: int
    #: The epoch and the number of the position; ``None`` for a restriction after the key that signed it was removed.
    feed: Optional[Tuple[str, int]]
    #: Milliseconds since 1970.
    as_of: float


class StatusLists:
    """Lists, chain and overlay. Times are arguments, and callers must not use it from several threads at once."""

    def __init__(self) -> None:
        self._lists: Dict[int, _List] = {}
        self._overlay: Dict[Tuple[int, int], HeldRestriction] = {}
        # Those that heads have confirmed.
        self._changes: Deque[FeedLine] = deque()
        # All changes after this one are in ``_changes``.
        self._known_from = 0
        self._chain: Optional[FeedChain] = None

    @property
    def verified(self) -> Optional[FeedPosition]:
        """The newest verified position; ``None`` without a snapshot that counts."""
        return None if self._chain is None else self._chain.verified

    def load(self, position: FeedPosition, lists: Mapping[int, bytearray]) -> bool:
        """Takes over all lists of a verified snapshot.

        :returns: ``False`` if it is older than what was verified: nothing has changed then
        """
        known = self.verified
        if known is not None and position.as_of < known.as_of:
            return False
        is_same_epoch = known is not None and position.epoch == known.epoch
        if known is not None and is_same_epoch:
            if position.n < known.n or (position.n == known.n and position.chain != known.chain):
                return False
        # Fetched alone, and newer than the snapshot.
        newer = {number: each for number, each in self._lists.items() if is_same_epoch and each.n > position.n}
        self._lists = {number: _List(entries, position.n) for number, entries in lists.items()}
        self._lists.update(newer)
        self._changes.clear()
        self._known_from = position.n
        self._chain = FeedChain(position)
        self._settle(position)
        return True

    def apply(self, line: FeedLine, now: float) -> None:
        """Takes over the next line: a restriction at once, the end of one with the next head.

        :param now: milliseconds since 1970
        :raises FeedFault: and what is known stays
        """
        assert self._chain is not None
        self._chain.apply(line)
        known = self._lists.get(line.list)
        if line.status == VALID or (known is not None and line.n <= known.n):
            return
        key = (line.list, line.idx)
        held = self._overlay.get(key)
        if held is None and len(self._overlay) >= _MAX_OVERLAY:
            return
        status = INVALID if held is not None and held.status == INVALID else line.status
        epoch = self._chain.verified.epoch
        self._overlay[key] = HeldRestriction(status, epoch, line.n, now)

    def accept(self, head: FeedPosition) -> bool:
        """Takes over a verified head, and the lines that it confirms.

        :returns: ``False`` if it is not newer
        :raises FeedFault: and what is known stays
        """
        assert self._chain is not None
        confirmed = self._chain.accept(head)
        if confirmed is None:
            return False
        for line in confirmed:
            self._remember(line)
            known = self._lists.get(line.list)
            if known is not None and line.n > known.n:
                _set(known.entries, line)
        for each in self._lists.values():
            each.n = max(each.n, head.n)
        self._settle(head)
        return True

    def replace(self, number: int, entries: bytearray, feed: Tuple[str, int]) -> bool:
        """Takes over a verified list that was fetched alone, and applies the later changes to it.

        :param feed: the epoch and the number of its position
        :returns: ``False`` if it is of another epoch, older than the known one, or from before the known changes
        """
        position, (epoch, n) = self.verified, feed
        known = self._lists.get(number)
        if position is None or position.epoch != epoch or n < self._known_from:
            return False
        if known is not None and n < known.n:
            return False
        for line in self._changes:
            if line.list == number and line.n > n:
                _set(entries, line)
        self._lists[number] = _List(entries, max(n, position.n))
        in_list = [key for key, row in self._overlay.items() if key[0] == number and row.epoch == epoch and row.n <= n]
        for key in in_list:
            del self._overlay[key]
        return True

    def reconnect(self) -> None:
        """The feed continues from the verified position: forgets unconfirmed lines, but not the overlay."""
        if self._chain is not None:
            self._chain.reconnect()

    def distrust(self) -> None:
        """A key that has signed a part of this no longer counts. Restrictions stay, here and in the overlay."""
        self._changes.clear()
        self._chain = None

    def listed(self, number: int, idx: int) -> Optional[ListedStatus]:
        """The entry without the overlay; ``None`` if nothing is known of it."""
        position, known = self.verified, self._lists.get(number)
        if known is None:
            return None
        # What the draft does not assign, or the list does not have, is invalid.
        status = _at(known.entries, idx) if 0 <= idx < LIST_LENGTH else INVALID
        if position is None:
            return None if status == VALID else ListedStatus(status, None, 0)
        return ListedStatus(status, (position.epoch, max(position.n, known.n)), position.as_of)

    def has(self, number: int) -> bool:
        """Whether a list is known."""
        return number in self._lists

    def held(self, number: int, idx: int) -> Optional[HeldRestriction]:
        """The restriction in the overlay."""
        return self._overlay.get((number, idx))

    def status(self, number: int, idx: int) -> Optional[int]:
        """The entry with the overlay; ``None`` if the list is not known."""
        listed, held = self.listed(number, idx), self.held(number, idx)
        if listed is None:
            return None
        return listed.status if held is None or listed.status == INVALID else held.status

    def _remember(self, line: FeedLine) -> None:
        self._changes.append(line)
        if len(self._changes) > _MAX_CHANGES:
            self._known_from = self._changes.popleft().n

    def _settle(self, position: FeedPosition) -> None:
        """A position that has the number, or is of a later time, is the truth about a restriction: true ones are in the lists."""
        settled: List[Tuple[int, int]] = [
            key
            for key, row in self._overlay.items()
            if (row.epoch == position.epoch and row.n <= position.n)
            or position.as_of >= row.arrived_at + _SETTLED_MS
        ]
        for key in settled:
            del self._overlay[key]


def _at(entries: bytearray, idx: int) -> int:
    return entries[idx >> 2] >> (idx & 3) * 2 & 3


def _set(entries: bytearray, line: FeedLine) -> None:
    """What is invalid stays so: an entry is never used again."""
    shift = (line.idx & 3) * 2
    if _at(entries, line.idx) != INVALID:
        entries[line.idx >> 2] = entries[line.idx >> 2] & ~(3 << shift) | line.status << shift
