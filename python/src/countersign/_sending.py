"""What the adapters for requests and httpx share: when a request is signed and sent again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Mapping, Optional

from .agent import Agent, challenge_nonce, sign_again_after

#: The longest wait before a request is signed again, in seconds.
MAX_RETRY_AFTER = 60.0


@dataclass(frozen=True)
class Again:
    """A request is to be signed and sent once more: after a wait in seconds, with a nonce of the site or another one."""

    wait: float
    nonce: Optional[str]


def again_after(
    agent: Agent, url: str, status: int, headers: Mapping[str, str], max_retry_after: float
) -> Optional[Again]:
    """What a response asks for.

    :param headers: of the response, whatever the case of their names
    :returns: ``None``: nothing, or a longer wait than ``max_retry_after``, or the request was not signed
    """
    if not agent.signs_for(url):
        return None
    requested = headers.get("accept-signature")
    nonce = challenge_nonce(status, requested)
    if nonce is not None:
        return Again(0.0, nonce)
    wait = sign_again_after(status, requested, headers.get("retry-after"), time.time())
    return None if wait is None or wait > max_retry_after else Again(wait, None)
