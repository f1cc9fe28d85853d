"""Signing a request (RFC 9421, Web Bot Auth)."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import List, Optional, Tuple

from ._http import (
    TAG,
    Component,
    HeaderList,
    SignedParts,
    content_digest,
    header_fields,
    signature_base,
    strict_components,
)
from ._naming import Naming
from ._structured_fields import Item, StructuredFieldError, serialize_member, serialize_string
from ._urls import Url, parse_url
from .errors import CountersignError
from .keys import AgentKey

#: How long a signature is valid, in seconds.
SIGNATURE_LIFETIME = 60

_QUERY = re.compile(r"[\x21-\x7e]*")


@dataclass(frozen=True)
class RequestToSign:
    """A request that is about to be signed.

    :ivar url: without its query and fragment
    :ivar query: with its ``?``; ``None`` without one
    :ivar headers: the other headers of the request
    :ivar body: the bytes on the wire; ``None`` without content
    :ivar nonce: that of a response that asks for it; ``None``: a random one
    """

    method: str
    url: Url
    query: Optional[str]
    headers: HeaderList
    body: Optional[bytes]
    nonce: Optional[str]


def request_to_sign(
    method: str, url: str, headers: HeaderList, body: Optional[bytes], nonce: Optional[str]
) -> RequestToSign:
    """:raises CountersignError: ``INVALID_ARGUMENT`` if the URL is not in its normalized form"""
    address, mark, rest = url.partition("#")[0].partition("?")
    parsed = parse_url(address)
    query = mark + rest if mark else None
    if parsed is None or not parsed.path or _QUERY.fullmatch(query or "") is None:
        raise CountersignError(
            "INVALID_ARGUMENT",
            "The URL is not in its normalized form, such as https://shop.example/orders?page=1.",
        )
    return RequestToSign(method, parsed, query, headers, body, nonce)


@dataclass(frozen=True)
class RequestSigner:
    """Who signs.

    :ivar issuer: the origin of the service that publishes the agent's keys
    :ivar did: the agent
    :ivar key: that of the agent, or of its delegate
    :ivar chain: that of the delegate
    """

    naming: Naming
    issuer: str
    did: str
    key: AgentKey
    chain: Optional[str] = None

    def sign(self, request: RequestToSign, created: int) -> List[Tuple[str, str]]:
        """The headers to set.

        :param created: Unix seconds
        :raises CountersignError: ``INVALID_ARGUMENT`` if the request cannot be signed
        """
        method, id_header = request.method, self.naming.id_header
        key_set = f"{self.issuer}/agent/{self.did[len(self.naming.did_prefix) :]}/jwks.json"
        added = [(id_header, self.did), ("Signature-Agent", f'sig1="{key_set}"')]
        if self.chain is not None:
            added.append((f"{id_header}-Certificate", self.chain))
        has_content = bool(request.body)
        if has_content or method in ("POST", "PUT", "PATCH"):
            added.append(("Content-Digest", content_digest(request.body or b"")))
        own = {name.lower() for name, _ in added} | {"signature", "signature-input"}
        kept = [each for each in request.headers if each[0].lower() not in own]
        fields = header_fields([*kept, *added])
        agent = Component("signature-agent", "sig1")
        components = strict_components(method, fields, request.query is not None, has_content, agent, id_header)
        parts = SignedParts(method, request.url.origin, request.url.path, request.query, fields, has_content)
        params = (
            f"({' '.join(each.identifier for each in components)})"
            f";created={created};expires={created + SIGNATURE_LIFETIME}"
            f";keyid={serialize_string(self.key.thumbprint)}"
            f';nonce="{request.nonce or secrets.token_urlsafe(18)}";tag="{TAG}"'
        )
        try:
            base = signature_base(parts, components, params)
        except StructuredFieldError as cause:
            raise CountersignError("INVALID_ARGUMENT", f"This request cannot be signed: {cause}.") from cause
        signature = serialize_member(Item(self.key.sign(base.encode("utf-8"))))
        return [*added, ("Signature-Input", f"sig1={params}"), ("Signature", f"sig1={signature}")]
