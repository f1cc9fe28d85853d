"""What the adapters for requests and httpx share: when a request is signed and sent again, and when an approval is asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import List, Mapping, Optional, Protocol, Tuple

from ._http import HeaderList
from .agent import Agent, challenge_nonce, sign_again_after
from .approval_requests import (
    ApprovalOptions,
    PendingApproval,
    asks_for_approval,
    is_approval_for,
    may_refuse,
)
from .errors import CountersignError

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


class Approvals:
    """What an adapter does about approvals.

    :param options: how to ask for one; ``None``: not at all
    :raises CountersignError: ``INVALID_ARGUMENT`` if a delegate would have to ask
    """

    def __init__(self, agent: SigningAgent, options: Optional[ApprovalOptions]) -> None:
        self.header = f"{agent.id_header}-Approval"
        self.options = ApprovalOptions() if options is None else options
        self._signs_for = agent.signs_for
        self._asking: Optional[Agent] = None
        if options is None:
            return
        if not isinstance(agent, Agent):
            message = "A delegate cannot ask for an approval. Ask the agent for its token, and send it in the header."
            raise CountersignError("INVALID_ARGUMENT", message)
        self._asking = agent

    def is_foreign(self, token: Optional[str], url: str) -> bool:
        """Whether a token that a request carries is for another one. A redirect has copied it."""
        return token is not None and not is_approval_for(token, url)

    def may_concern(self, url: str, token: Optional[str], status: int, content_type: Optional[str]) -> bool:
        """Whether :meth:`asks` has to read the body of a response.

        :param token: that of the request
        """
        is_expected = token is not None or self._asking is not None
        return is_expected and self._signs_for(url) and may_refuse(status, content_type)

    def asks(self, token: Optional[str], status: int, body: bytes) -> bool:
        """Whether to ask the owner after this response.

        :raises CountersignError: ``APPROVAL_UNCHECKED``
        """
        return asks_for_approval(status, body) and token is None and self._asking is not None

    def ask(self, method: str, url: str, headers: HeaderList, body: Optional[bytes]) -> PendingApproval:
        """:raises CountersignError: those of ``Agent.request_approval``"""
        assert self._asking is not None
        given = self.options
        settings = (given.message, given.expires_in_seconds, given.valid_seconds)
        return self._asking.request_approval(method, url, headers, body, *settings)
