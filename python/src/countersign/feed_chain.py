"""The chain of a status feed: whether no change was left out, repeated, swapped or altered on the way. Nothing here waits or asks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, List, NoReturn, Optional

from ._jws import is_number

#: Entries of a status list.
LIST_LENGTH = 131_072
VALID, INVALID, SUSPENDED = 0, 1, 2

_NAME = "countersign-feed-v1"


class FeedFault(Exception):
    """The feed shows what its service would not send. ``reason``: ``form``, ``number``, ``position`` or ``epoch``."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class FeedLine:
    """A line of the feed: an entry of a status list that has changed. It is not signed."""

    #: The number of the change, from 1 in each epoch.
    n: int
    list: int
    idx: int
    #: ``VALID``, ``INVALID`` or ``SUSPENDED``.
    status: int


@dataclass(frozen=True)
class FeedPosition:
    """A position in the feed, as a verified head or manifest of a snapshot has it."""

    epoch: str
    #: The number of the newest change.
    n: int
    #: 32 bytes.
    chain: bytes
    #: Milliseconds since 1970: the time up to which the service knew its data.
    as_of: int


def first_chain(issuer: str, epoch: str) -> bytes:
    """The chain value of an epoch before its first change: ``chain(0)``."""
    return hashlib.sha256(f"{_NAME}\n{issuer}\n{epoch}\n".encode("utf-8")).digest()


def next_chain(chain: bytes, line: FeedLine) -> bytes:
    """The chain value after a change: ``chain(n)``. ``chain`` is that of the change before it."""
    text = f"{line.n} {line.list} {line.idx} {line.status}\n"
    return hashlib.sha256(chain + text.encode("ascii")).digest()


def read_feed_line(value: Any) -> FeedLine:
    """Reads a line of the feed that is no head.

    :param value: the parsed JSON
    :raises FeedFault: ``form``
    """
    if not isinstance(value, dict):
        _malformed()
    return FeedLine(
        n=_integer(value.get("n"), 1, 2**53 - 1),
        list=_integer(value.get("list"), 0, 2**53 - 1),
        idx=_integer(value.get("idx"), 0, LIST_LENGTH - 1),
        status=_integer(value.get("status"), VALID, SUSPENDED),
    )


class FeedChain:
    """Follows the chain from a verified position. Lines are proven by the next head."""

    def __init__(self, position: FeedPosition) -> None:
        self._verified = position
        self._n = position.n
        self._chain = position.chain
        self._unconfirmed: List[FeedLine] = []

    @property
    def verified(self) -> FeedPosition:
        """The newest position that a head has proven."""
        return self._verified

    def apply(self, line: FeedLine) -> None:
        """Adds the next line.

        :raises FeedFault: ``number`` if a line was left out, repeated or swapped
        """
        if line.n != self._n + 1:
            raise FeedFault("number", f"The change {line.n} follows the change {self._n}.")
        self._n = line.n
        self._chain = next_chain(self._chain, line)
        self._unconfirmed.append(line)

    def accept(self, head: FeedPosition) -> Optional[List[FeedLine]]:
        """Compares a verified head with the lines.

        :returns: the lines that it confirms; ``None`` for a head that is not newer, which changes nothing
        :raises FeedFault: ``epoch``; ``position`` if the lines are not those of the service
        """
        if head.as_of <= self._verified.as_of:
            return None
        if head.epoch != self._verified.epoch:
            raise FeedFault("epoch", "Another epoch has begun.")
        if (head.n, head.chain) != (self._n, self._chain):
            raise FeedFault("position", f"The head is not that of the lines up to {self._n}.")
        confirmed, self._unconfirmed = self._unconfirmed, []
        self._verified = head
        return confirmed

    def reconnect(self) -> None:
        """Forgets the lines that no head has confirmed: the feed continues from the verified position."""
        self._n, self._chain = self._verified.n, self._verified.chain
        self._unconfirmed = []


def _integer(value: Any, least: int, most: int) -> int:
    """As JSON means it: ``1.0`` is one too."""
    if is_number(value) and least <= value <= most and value == int(value):
        return int(value)
    _malformed()


def _malformed() -> NoReturn:
    raise FeedFault("form", "A line of the feed has another form than it should have.")


__all__ = ["FeedChain", "FeedFault", "FeedLine", "FeedPosition", "first_chain", "next_chain", "read_feed_line"]
