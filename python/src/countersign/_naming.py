"""The names that depend on a deployment's short name and on its identification header."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional, Tuple

from ._urls import is_origin

_BASE58 = "[1-9A-HJ-NP-Za-km-z]"
_TAIL = re.compile(_BASE58 + "{24}")
_CHALLENGE_NONCE = re.compile("[A-Za-z0-9_-]{22,128}")


@dataclass(frozen=True)
class Naming:
    """The names of one deployment.

    :param short_name: in DIDs (``svc:agent:…``), claim tokens and signed bytes
    :param id_header: the identification header
    """

    short_name: str = "svc"
    id_header: str = "ServiceID"

    def __post_init__(self) -> None:
        if re.fullmatch("[a-z][a-z0-9]{0,15}", self.short_name) is None:
            raise ValueError("the short name is not a word")
        if re.fullmatch("[A-Za-z][A-Za-z0-9-]{0,31}", self.id_header) is None:
            raise ValueError("the header name is not one")

    @property
    def did_prefix(self) -> str:
        return f"{self.short_name}:agent:"

    @property
    def did_field(self) -> str:
        """The JSON field that carries a DID."""
        return f"{self.short_name}Did"

    @property
    def challenge_prefix(self) -> str:
        return f"{self.short_name}-challenge-v1:"

    def parse_challenge(self, text: str) -> Optional[Tuple[str, str]]:
        """The audience and the nonce of a challenge ``svc-challenge-v1:<audience>:<nonce>``; ``None`` if it is none."""
        audience, _, nonce = text[len(self.challenge_prefix) :].rpartition(":")
        if not text.startswith(self.challenge_prefix) or not is_origin(audience):
            return None
        return (audience, nonce) if _CHALLENGE_NONCE.fullmatch(nonce) else None

    def did_of(self, tail: str) -> str:
        return self.did_prefix + tail

    def tail_of(self, text: str) -> Optional[str]:
        """The last 24 characters of a DID, given in full or as a bare tail; ``None`` if the text is neither."""
        tail = text[len(self.did_prefix) :] if text.startswith(self.did_prefix) else text
        return tail if _TAIL.fullmatch(tail) else None

    def did_of_key_set(self, service: str, url: str) -> Optional[str]:
        """The agent whose key set is at an address of a service; ``None`` if none is."""
        prefix, suffix = f"{service}/agent/", "/jwks.json"
        if not url.startswith(prefix) or not url.endswith(suffix):
            return None
        tail = self.tail_of(url[len(prefix) : -len(suffix)])
        return None if tail is None else self.did_of(tail)

    def forwarded_header(self, name: str) -> str:
        """The header in which a middleware passes a part of its decision to the site, such as ``X-ServiceID-DID``."""
        return f"X-{self.id_header}-{name}"
