"""The limits of delegations: reading them, comparing those of two hops, and a request with them."""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, Optional, Sequence, Tuple

from ._http import HeaderFields, field_value
from ._paths import is_unambiguous_path
from ._urls import is_loopback, is_origin, parse_url
from .delegation import DelegationLimits

# URLs take more, such as `a!b`, which no name of a host has.
_ORIGIN = re.compile(r"https?://(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_METHOD = re.compile("[A-Z]{1,16}")
_PATH = re.compile(r'/[^*"\\]*(?:(?<=/)\*)?')
_MAX_PATH_LENGTH = 128
_MCP_METHOD = re.compile("[A-Za-z/_-]{1,64}")
_MCP_NAME = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,128}")

# With these, many servers handle a request as one with another method or path.
_OVERRIDES = frozenset(
    ("x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url")
)


def read_limits(value: object) -> Optional[DelegationLimits]:
    """Reads limits from parsed JSON.

    :returns: ``None`` if a value is missing, repeated, or none of its kind
    """
    if not isinstance(value, dict):
        return None
    origins = _values_of(value.get("origins"), 8, _is_limit_origin)
    given = {
        name: _values_of(value[name], most, is_of_kind)
        for name, most, is_of_kind in (
            ("methods", 8, lambda text: _METHOD.fullmatch(text) is not None),
            ("paths", 8, _is_limit_path),
            ("mcp", 16, _is_mcp_limit),
        )
        if name in value
    }
    if origins is None or None in given.values():
        return None
    return DelegationLimits(origins, given.get("methods"), given.get("paths"), given.get("mcp"))


def limits_as_json(limits: DelegationLimits) -> Mapping[str, Any]:
    """In the order of the members, which verifiers compare as text."""
    members = (("methods", limits.methods), ("paths", limits.paths), ("mcp", limits.mcp))
    return {"origins": limits.origins, **{name: value for name, value in members if value is not None}}


def _values_of(value: object, most: int, is_of_kind: Callable[[str], bool]) -> Optional[Tuple[str, ...]]:
    """``None`` unless it is a list of 1 to ``most`` different values of a kind."""
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= most:
        return None
    if not all(isinstance(each, str) and is_of_kind(each) for each in value):
        return None
    return tuple(value) if len(set(value)) == len(value) else None


def _is_limit_origin(text: str) -> bool:
    url = parse_url(text) if _ORIGIN.fullmatch(text) and is_origin(text) else None
    return url is not None and (url.scheme == "https" or is_loopback(url.hostname))


def _is_limit_path(text: str) -> bool:
    return len(text) <= _MAX_PATH_LENGTH and _PATH.fullmatch(text) is not None and is_unambiguous_path(text)


def _is_mcp_limit(text: str) -> bool:
    method, space, name = text.partition(" ")
    return _MCP_METHOD.fullmatch(method) is not None and (not space or _MCP_NAME.fullmatch(name) is not None)


def covers_limits(before: DelegationLimits, after: DelegationLimits) -> bool:
    """Whether every request within the limits of a hop is within those of the hop before it."""
    return (
        _covers_values(before.origins, after.origins, str.__eq__)
        and _covers_values(before.methods, after.methods, str.__eq__)
        and _covers_values(before.paths, after.paths, _matches_path)
        and _covers_values(before.mcp, after.mcp, str.__eq__)
    )


def _covers_values(
    before: Optional[Sequence[str]], after: Optional[Sequence[str]], covers: Callable[[str, str], bool]
) -> bool:
    if before is None:
        return True
    return after is not None and all(any(covers(limit, value) for limit in before) for value in after)


def _matches_path(limit: str, path: str) -> bool:
    """Byte for byte: ``/prefix/*`` is what begins with ``/prefix/``, also as a limit."""
    return path.startswith(limit[:-1]) if limit.endswith("*") else path == limit


def is_within_limits(limits: DelegationLimits, method: str, origin: str, path: str, fields: HeaderFields) -> bool:
    """Whether a request is within the limits of a delegation.

    :param origin: scheme and authority, such as ``https://shop.example``
    :param path: as sent, without the query
    """
    if origin not in limits.origins:
        return False
    if (limits.methods is not None or limits.paths is not None) and has_override(fields):
        return False
    if limits.methods is not None and method not in limits.methods:
        return False
    if limits.paths is not None:
        if not is_unambiguous_path(path) or not any(_matches_path(each, path) for each in limits.paths):
            return False
    return limits.mcp is None or _mcp_call_of(fields) in limits.mcp


def has_override(fields: HeaderFields) -> bool:
    """Whether a header overrides the method or the path, with any character in place of a hyphen: servers map ``X_HTTP_Method``
    to the same variable."""
    return any(name.startswith("x") and re.sub("[^a-z0-9]", "-", name) in _OVERRIDES for name in fields)


def _mcp_call_of(fields: HeaderFields) -> Optional[str]:
    """A method with a space in it could be taken for a method and a name."""
    method, name = field_value(fields, "mcp-method"), field_value(fields, "mcp-name")
    if method is None or _MCP_METHOD.fullmatch(method) is None:
        return None
    return method if name is None else f"{method} {name}"
