"""A worker of an agent with a key of its own, to which the agent has delegated (docs/delegation.md)."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import Callable, Iterable, List, Optional, Sequence, Tuple, Union

from ._chains import Chain, UnreadableChain, read_chain
from ._http import HeaderList, header_fields
from ._jws import parse_jws
from ._limits import is_within_limits
from ._naming import Naming
from ._request_signer import RequestSigner, RequestToSign, request_to_sign
from ._sign_delegation import DelegateRequest, DelegationSource, sign_delegation
from .agent import audience_of, not_listed, origin_in
from .certificates import issuer_origin
from .delegation import DelegationLimits, SignedDelegation
from .errors import CountersignError
from .keys import AgentKey

# How long before it expires a chain is replaced, since the request takes time; of a short one after three quarters.
_MARGIN = 30.0
# How long after a chain was asked for the next 401, or one that is about to expire, does not ask for another one.
_PAUSE = 5.0


@dataclass(frozen=True)
class _HeldChain:
    text: str
    chain: Chain
    issuer: str
    renew_at: float

    @property
    def limits(self) -> DelegationLimits:
        # Verifiers read those of the last hop, which those before it cover.
        return self.chain.hops[-1].limits

    @property
    def expires_at(self) -> int:
        return self.chain.hops[-1].expires_at


class DelegatedAgent:
    """A worker of an agent. It has no DID and no certificate: sites see the agent and the key. It cannot sign in, answer challenges, or act
    at the service. Use it with the adapters of ``countersign.requests`` and ``countersign.httpx`` as an ``Agent``.

    :param chain: what ``Agent.delegate`` returned for the key, or a function that gets it from the agent: it is called before the first
        request, before the chain expires, and once after a 401
    :param key: the key that was delegated to
    :param audiences: the origins that it signs for, of those in the delegation; by default all of them
    :param short_name: in DIDs (``svc:agent:…``), if the service has another one
    :param id_header: the identification header, if the service has another one
    :param now: the clock, in Unix seconds
    :raises CountersignError: ``INVALID_ARGUMENT`` if the chain is none; ``UNUSABLE_KEY`` if it is for another key
    """

    def __init__(
        self,
        chain: Union[str, Callable[[], str]],
        key: AgentKey,
        audiences: Optional[Iterable[str]] = None,
        short_name: str = "svc",
        id_header: str = "ServiceID",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._key = key
        self._audiences = None if audiences is None else frozenset(audience_of(each) for each in audiences)
        try:
            self._naming = Naming(short_name, id_header)
        except ValueError as cause:
            raise CountersignError("INVALID_ARGUMENT", f"naming: {cause}.") from cause
        self._now = now
        self._ask = None if isinstance(chain, str) else chain
        self._held = self._read(chain) if isinstance(chain, str) else None
        self._asked_at = self._refused_at = -math.inf
        self._asking = threading.Lock()

    @property
    def did(self) -> Optional[str]:
        """The agent's DID; ``None`` before a function has returned the first chain."""
        held = self._held
        return None if held is None else held.chain.root.did

    @property
    def expires_at(self) -> Optional[int]:
        """When the delegation ends, in Unix seconds; ``None`` before a function has returned the first chain."""
        held = self._held
        return None if held is None else held.expires_at

    @property
    def public_key(self) -> str:
        """32 bytes in padded standard base64: that of the delegate."""
        return self._key.public_key

    @property
    def id_header(self) -> str:
        """The name of the identification header."""
        return self._naming.id_header

    def own_did(self) -> str:
        """The agent's DID. If there is no chain yet, it asks the function.

        :raises CountersignError: ``OUTSIDE_DELEGATION`` if the delegation has expired
        """
        return self._current().chain.root.did

    def sign_request(
        self,
        method: str,
        url: str,
        headers: HeaderList = (),
        body: Optional[bytes] = None,
        nonce: Optional[str] = None,
    ) -> List[Tuple[str, str]]:
        """Signs a request as ``Agent.sign_request``, with the chain and the agent's DID.

        :returns: the headers to set
        :raises CountersignError: ``OUTSIDE_DELEGATION`` if the request is outside the limits, or the delegation has expired;
            ``WRONG_AUDIENCE``; ``INVALID_ARGUMENT`` if the request cannot be signed
        """
        request = request_to_sign(method, url, headers, body, nonce)
        held = self._current()
        origin = request.url.origin
        if self._audiences is not None and origin not in self._audiences:
            raise not_listed(origin)
        _assert_allowed(held.limits, request)
        signer = RequestSigner(self._naming, held.issuer, held.chain.root.did, self._key, held.text)
        return signer.sign(request, int(self._now()))

    def signs_for(self, url: str) -> bool:
        """Whether a URL is at an origin that it signs for. Of a delegation that a function has not returned yet, nothing is known: then
        :meth:`sign_request` decides."""
        origin, held = origin_in(url), self._held
        if self._audiences is not None:
            return origin in self._audiences
        return origin is not None and (held is None or origin in held.limits.origins)

    def check_unlisted(self, url: str) -> None:
        """:raises CountersignError: ``WRONG_AUDIENCE``: nothing is sent without a signature"""
        raise not_listed(origin_in(url) or "this address")

    def renew_after_refusal(self, sent_chain: Optional[str]) -> bool:
        """After a 401: whether it is worth to sign again. The function is called once for all requests that were refused with one chain.

        :param sent_chain: that of the request
        """
        if self._ask is None:
            return False
        with self._asking:
            # Another request was refused too, and there is a newer chain.
            if self._held is None or sent_chain != self._held.text:
                return True
            if self._now() - self._refused_at < _PAUSE:
                return False
            self._refused_at = self._now()
            self._held = None
            return True

    def delegate(
        self,
        public_key: str,
        origins: Sequence[str],
        methods: Optional[Sequence[str]] = None,
        paths: Optional[Sequence[str]] = None,
        mcp: Optional[Sequence[str]] = None,
        expires_in_seconds: int = 3600,
        max_depth: int = 0,
    ) -> SignedDelegation:
        """Delegates to a further key, if the chain allows it: no more than this delegate may do, and for no longer. Arguments as for
        ``Agent.delegate``; limits that are left out are those of this delegate.

        :raises CountersignError: ``DELEGATION_NOT_ALLOWED``, ``INVALID_ARGUMENT``; ``OUTSIDE_DELEGATION`` if the delegation has expired
        """
        held = self._current()
        last = held.chain.hops[-1]
        source = DelegationSource(held.text, last.limits, last.max_depth, last.expires_at, self._key)
        request = DelegateRequest(public_key, origins, methods, paths, mcp, expires_in_seconds, max_depth)
        return sign_delegation(source, request, self._now())

    def _current(self) -> _HeldChain:
        """A chain that has not expired."""
        with self._asking:
            held, now = self._held, self._now()
            # One that has not expired yet is better than none, or than asking for each request.
            is_held = held is not None and held.expires_at > now
            is_due = (held is None or held.renew_at <= now) and not (is_held and now - self._asked_at < _PAUSE)
            if self._ask is not None and is_due:
                self._asked_at = now
                try:
                    held = self._held = self._read(self._ask())
                except Exception:
                    if not is_held:
                        raise
            if held is not None and held.expires_at > now:
                return held
        raise CountersignError(
            "OUTSIDE_DELEGATION", "The delegation has expired. Ask the agent for another one."
        )

    def _read(self, text: str) -> _HeldChain:
        chain = read_chain(text)
        if isinstance(chain, UnreadableChain) or not self._is_own(chain.root.did):
            raise CountersignError(
                "INVALID_ARGUMENT",
                "chain is a certificate of this deployment and 1 to 3 delegations, as Agent.delegate returns it.",
            )
        last = chain.hops[-1]
        if last.keyid != self._key.thumbprint:
            raise CountersignError("UNUSABLE_KEY", "This chain delegates to another key.")
        issuer = issuer_origin(str(parse_jws(chain.root.certificate, "certificate").payload.get("iss")))
        margin = min(_MARGIN, (last.expires_at - last.issued_at) / 4)
        return _HeldChain(text, chain, issuer, last.expires_at - margin)

    def _is_own(self, did: str) -> bool:
        return did.startswith(self._naming.did_prefix) and self._naming.tail_of(did) is not None


def _assert_allowed(limits: DelegationLimits, request: RequestToSign) -> None:
    method, origin, path = request.method, request.url.origin, request.url.path
    if not is_within_limits(limits, method, origin, path, header_fields(request.headers)):
        raise CountersignError(
            "OUTSIDE_DELEGATION", f"{method} {origin}{path} is outside the limits of this delegation."
        )


__all__ = ["DelegatedAgent"]
