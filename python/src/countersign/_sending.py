"""What the adapters for requests and httpx share: when a request is signed and sent again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import List, Mapping, Optional, Protocol, Tuple

from ._http import HeaderList
from .agent import challenge_nonce, sign_again_after

#: The longest wait before a request is signed again, in seconds.
MAX_RETRY_AFTER = 60.0


class SigningAgent(Protocol):
    """What the adapters need of an ``Agent`` or a ``DelegatedAgent``."""

    @property
    def id_header(self) -> str: ...

    def own_did(self) -> str: ...

    def signs_for(self, url: str) -> bool: ...

    def check_unlisted(self, url: str) -> None: ...

    def sign_request(
        self,
        method: str,
        url: str,
        headers: HeaderList = (),
        body: Optional[bytes] = None,
        nonce: Optional[str] = None,
    ) -> List[Tuple[str, str]]: ...

    def renew_after_refusal(self, sent_chain: Optional[str]) -> bool: ...


@dataclass(frozen=True)
class Again:
    """A request is to be signed and sent once more: after a wait in seconds, with a nonce of the site or another one."""

    wait: float
    nonce: Optional[str]


def again_after(
    agent: SigningAgent,
    url: str,
    sent: Mapping[str, str],
    status: int,
    headers: Mapping[str, str],
    max_retry_after: float,
) -> Optional[Again]:
    """What a response asks for. A delegate whose chain was refused gets another one, if it can.

    :param sent: the headers of the request, whatever the case of their names
    :param headers: of the response, likewise
    :returns: ``None``: nothing, or a longer wait than ``max_retry_after``, or the request was not signed
    """
    if not agent.signs_for(url):
        return None
    requested = headers.get("accept-signature")
    nonce = challenge_nonce(status, requested)
    is_renewed = status == 401 and agent.renew_after_refusal(sent.get(f"{agent.id_header}-Certificate"))
    if nonce is not None or is_renewed:
        return Again(0.0, nonce)
    wait = sign_again_after(status, requested, headers.get("retry-after"), time.time())
    return None if wait is None or wait > max_retry_after else Again(wait, None)
