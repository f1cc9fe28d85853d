"""A map of limited size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, Optional, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """A map that forgets the entry that was set the longest time ago."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: "OrderedDict[K, V]" = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> Optional[V]:
        return self._entries.get(key)

    def set(self, key: K, value: V) -> None:
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            if len(self._entries) > self._limit:
                self._entries.popitem(last=False)

    def remove(self, key: K) -> None:
        with self._lock:
            if key in self._entries:
                del self._entries[key]
