"""A request as it was received, and the parts of it that a signature covers (RFC 9421)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from ._structured_fields import (
    InnerList,
    Item,
    StructuredFieldError,
    Token,
    parse_dictionary,
    parse_string_item,
    serialize_member,
    serialize_string,
)
from ._urls import is_canonical_path, is_loopback, is_origin, parse_url

HeaderList = Sequence[Tuple[str, str]]
#: The lines of each header field, by its name in lower case.
HeaderFields = Dict[str, List[str]]

#: The value of the parameter ``tag`` of Web Bot Auth.
TAG = "web-bot-auth"

_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_DIGEST_METHODS = frozenset(("POST", "PUT", "PATCH"))
_DERIVED = frozenset(
    ("@method", "@authority", "@scheme", "@target-uri", "@request-target", "@path", "@query")
)
_COVERED_IF_PRESENT = (
    "content-type",
    "content-encoding",
    "idempotency-key",
    "authorization",
    "mcp-method",
    "mcp-name",
)
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_AUTHORITY = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_ABSOLUTE = re.compile(r"(https?)://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_PRINTABLE = re.compile(r"[\x21-\x7e]*")


@dataclass(frozen=True)
class RawRequest:
    """A request as it was received, before any framework has decoded, joined or normalized a part of it.

    :param method: as sent, such as ``GET``
    :param scheme: ``http`` or ``https``
    :param authority: the ``Host`` header
    :param target: the request target as sent: ``/path?query``, or in absolute form
    :param headers: every header field line, in its order; names in any case
    :param body: the bytes of the body, ``b""`` without content; ``None`` if they are not visible here
    :param has_content: whether there is content, if the body is not visible; by default what the headers say
    """

    method: str
    scheme: str
    authority: str
    target: str
    headers: HeaderList
    body: Optional[bytes] = None
    has_content: Optional[bool] = None

    def content_is_present(self, fields: HeaderFields) -> bool:
        if self.body is not None:
            return len(self.body) > 0
        if self.has_content is not None:
            return self.has_content
        length = field_value(fields, "content-length")
        return "transfer-encoding" in fields or re.fullmatch("0+", length or "0") is None


@dataclass(frozen=True)
class Component:
    """A covered component (RFC 9421 section 2). ``key``: the parameter, which only ``signature-agent`` has here."""

    name: str
    key: Optional[str] = None

    @property
    def identifier(self) -> str:
        parameter = "" if self.key is None else f";key={serialize_string(self.key)}"
        return serialize_string(self.name) + parameter


@dataclass(frozen=True)
class SignedParts:
    """The parts of a request that a signature base is made of."""

    method: str
    #: Scheme and authority, such as ``https://shop.example``.
    origin: str
    path: str
    #: With its ``?``; ``None`` without one.
    query: Optional[str]
    fields: HeaderFields
    has_content: bool


@dataclass(frozen=True)
class SignatureAgent:
    """Where the keys of a signer are published: ``dialect`` is the form of the field ``Signature-Agent``, one of ``ietf``, ``legacy``,
    ``origin``, ``ucp`` and ``cimd``."""

    dialect: str
    url: str

    @property
    def key_set_url(self) -> str:
        if self.dialect in ("legacy", "origin"):
            return self.url.rstrip("/") + "/.well-known/http-message-signatures-directory"
        return self.url


def is_safe_method(method: str) -> bool:
    """Whether a method does not change state (RFC 9110 section 9.2.1)."""
    return method in _SAFE_METHODS


def header_fields(headers: HeaderList) -> HeaderFields:
    """Groups header field lines by name, without surrounding white space."""
    fields: HeaderFields = {}
    for name, value in headers:
        fields.setdefault(name.lower(), []).append(value.strip(" \t"))
    return fields


def field_value(fields: HeaderFields, name: str) -> Optional[str]:
    """The combined value of a header field (RFC 9110 section 5.2). ``name`` is in lower case."""
    lines = fields.get(name)
    return None if lines is None else ", ".join(lines)


def strict_components(
    method: str,
    fields: HeaderFields,
    has_query: bool,
    has_content: bool,
    agent: Component,
    id_header: str,
) -> List[Component]:
    """The components that a signature covers in the profile ``strict``, in their order."""
    names = ["@method", "@authority", "@path"]
    if has_query:
        names.append("@query")
    if has_content or method in _DIGEST_METHODS:
        names.append("content-digest")
    names += [each for each in _COVERED_IF_PRESENT if each in fields]
    own = [each for each in _agent_headers(id_header) if each in fields]
    return [Component(each) for each in names] + [agent] + [Component(each) for each in own]


def singleton_headers(id_header: str) -> List[str]:
    """Header fields that occur once in a request; repeated, two readers could see different ones."""
    return [
        "content-type",
        "content-length",
        "idempotency-key",
        "authorization",
        "mcp-method",
        "mcp-name",
        *_agent_headers(id_header),
    ]


def _agent_headers(id_header: str) -> List[str]:
    name = id_header.lower()
    return [name, f"{name}-certificate", f"{name}-status", f"{name}-approval"]


def read_components(member: InnerList) -> List[Component]:
    """The components of an inner list in ``Signature-Input``.

    :raises StructuredFieldError: for a repeated or unknown component, or one with parameters other than ``key`` of
        ``signature-agent``
    """
    components: List[Component] = []
    for item in member.items:
        name = item.value
        if type(name) is not str:
            raise StructuredFieldError("a component is not a string")
        known = name in _DERIVED if name.startswith("@") else _FIELD_NAME.fullmatch(name)
        if not known:
            raise StructuredFieldError(f"the component {name} is not supported")
        key = item.params.get("key")
        keyed = name == "signature-agent" and len(item.params) == 1 and type(key) is str
        if item.params and not keyed:
            raise StructuredFieldError("a component has parameters")
        if any(each.name == name for each in components):
            raise StructuredFieldError(f"the component {name} is repeated")
        components.append(Component(name, key if keyed else None))  # type: ignore[arg-type]
    return components


def signature_base(parts: SignedParts, components: Sequence[Component], params: str) -> str:
    """The signature base (RFC 9421 section 2.5). ``params`` is the serialized value of ``@signature-params``.

    :raises StructuredFieldError: if a covered field is missing, or is not printable ASCII
    """
    lines = [f"{each.identifier}: {_component_value(parts, each)}" for each in components]
    return "\n".join([*lines, f'"@signature-params": {params}'])


def _component_value(parts: SignedParts, component: Component) -> str:
    name = component.name
    if name == "@method":
        return parts.method
    if name == "@authority":
        return parts.origin.partition("//")[2]
    if name == "@scheme":
        return parts.origin.partition(":")[0]
    if name == "@path":
        return parts.path
    if name == "@query":
        return "?" if parts.query is None else parts.query
    if name == "@request-target":
        return parts.path + (parts.query or "")
    if name == "@target-uri":
        return parts.origin + parts.path + (parts.query or "")
    value = covered_field(parts.fields, name)
    if component.key is None:
        return value
    member = parse_dictionary(value).get(component.key)
    if not isinstance(member, Item):
        raise StructuredFieldError(f"the field {name} has no item {component.key}")
    return serialize_member(member)


def covered_field(fields: HeaderFields, name: str) -> str:
    """The combined value of a covered field. With a line break in it, a field could add a line to the signature base.

    :raises StructuredFieldError: if it is missing or not printable ASCII
    """
    value = field_value(fields, name)
    if value is not None and _VALUE.fullmatch(value):
        return value
    raise StructuredFieldError(f"the field {name} is missing or not printable ASCII")


def read_authority(request: RawRequest, fields: HeaderFields) -> Optional[str]:
    """The authority of a request in lower case, without the default port of its scheme (RFC 9421 section 2.2.3).

    :returns: ``None`` if it has several ``Host`` fields, or one that differs from an absolute target or ``authority``
    """
    named = list(fields.get("host", []))
    absolute = _ABSOLUTE.fullmatch(request.target)
    if len(named) > 1:
        return None
    if absolute is not None:
        if absolute.group(1).lower() != request.scheme:
            return None
        named.append(absolute.group(2))
    authority = _normalize_authority(request.authority, request.scheme)
    if any(_normalize_authority(each, request.scheme) != authority for each in named):
        return None
    return authority


def _normalize_authority(text: str, scheme: str) -> Optional[str]:
    lower = text.lower()
    if _AUTHORITY.fullmatch(lower) is None:
        return None
    default = ":443" if scheme == "https" else ":80"
    return lower[: -len(default)] if lower.endswith(default) else lower


def read_path(target: str, origin: str) -> Optional[Tuple[str, Optional[str]]]:
    """The path and the query of a request target.

    :returns: ``None`` if the path is not in the form that clients send: it could be one resource to the signer and
        another to the site
    """
    absolute = _ABSOLUTE.fullmatch(target)
    rest = target if absolute is None else absolute.group(3)
    path, mark, query = rest.partition("?")
    if _PRINTABLE.fullmatch(rest) is None or "#" in rest or not is_canonical_path(path):
        return None
    return path, mark + query if mark else None


# The dialects by the parameter `type` (draft-meunier-webbotauth-httpsig-protocol, Key Distribution and Discovery).
_DIALECTS = {"directory": "origin", "jwks_uri": "ucp", "cimd": "cimd"}


def parse_signature_agent(field: str, key: Optional[str]) -> Optional[SignatureAgent]:
    """Reads the field ``Signature-Agent`` and detects its dialect. Parameters other than ``type`` are ignored.

    :param key: that of the covered component; ``None`` for the bare string of ``legacy``
    :returns: ``None`` if the member has a type that is not known, or an address that its type does not allow: it must be ignored
    :raises StructuredFieldError: if the field does not contain an address in one of the dialects
    """
    if key is None:
        return _checked_agent("legacy", parse_string_item(field))
    member = parse_dictionary(field).get(key)
    if not isinstance(member, Item) or type(member.value) is not str:
        raise StructuredFieldError("Signature-Agent has no such member")
    url = member.value
    if "type" not in member.params:
        return _checked_agent("origin" if _is_bare_origin(url) else "ietf", url)
    kind = member.params["type"]
    dialect = _DIALECTS.get(kind) if isinstance(kind, Token) else None
    if dialect is None or (dialect == "origin" and not _is_bare_origin(url)):
        return None
    return _checked_agent(dialect, url)


def _checked_agent(dialect: str, text: str) -> SignatureAgent:
    url = parse_url(text)
    if url is None or not (url.scheme == "https" or is_loopback(url.hostname)):
        raise StructuredFieldError("Signature-Agent is not a canonical https address")
    if not _is_bare_origin(text) and (dialect in ("legacy", "origin") or not url.path):
        raise StructuredFieldError("Signature-Agent is not a canonical https address")
    return SignatureAgent(dialect, text)


def _is_bare_origin(text: str) -> bool:
    return is_origin(text[:-1] if text.endswith("/") else text)


def content_digest(body: bytes) -> str:
    """The field ``Content-Digest`` (RFC 9530) with SHA-256 of the bytes on the wire."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode('ascii')}:"


def parse_content_digest(field: str) -> bytes:
    """The SHA-256 digest in a field ``Content-Digest``.

    :raises StructuredFieldError: if the field is malformed or has no ``sha-256``
    """
    member = parse_dictionary(field).get("sha-256")
    if isinstance(member, Item) and not member.params:
        if isinstance(member.value, bytes) and len(member.value) == 32:
            return member.value
    raise StructuredFieldError("Content-Digest has no sha-256 digest")


def matches_content_digest(field: str, body: bytes) -> bool:
    """Whether a body has the digest of a field ``Content-Digest``.

    :raises StructuredFieldError: if the field is malformed or has no ``sha-256``
    """
    return hmac.compare_digest(parse_content_digest(field), hashlib.sha256(body).digest())
