"""The policy of a gateway: the same file, with the same meaning and messages, as the package ``@countersign/gateway``."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import unquote_to_bytes

from ._naming import Naming

LEVELS = ("none", "unknown", "directory", "unverified", "verified")

# Whatever servers read differently: parts of paths that they resolve, merge or cut off, characters that no URL may contain,
# and encoded characters that need no encoding or separate parts of a URL.
_AMBIGUOUS = re.compile(
    r"^(?!/)|//|/\.{1,2}(?:/|$)|[^\x21-\x7e]|[\\;#?]"
    r"|%(?!2[02]|3[ce]|5[bde]|60|7[bcd]|[89a-f][0-9a-f])",
    re.IGNORECASE,
)
_AMBIGUOUS_METHOD = re.compile("[^A-Z-]")
_PROVIDER = re.compile(r"[\x21-\x7e]{1,64}")
_ROUTE_PATH = re.compile(r"/[^\s?#*]*")
_METHOD = re.compile("[A-Z]+")
_MAX_MESSAGE_LENGTH = 300


class PolicyError(ValueError):
    """A policy is invalid. ``mistakes`` has one message for each mistake."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("The gateway cannot start:\n" + "\n".join(f"- {each}" for each in mistakes))
        self.mistakes = list(mistakes)


@dataclass(frozen=True)
class Rules:
    """What decides on a request: that of the policy, or of one of its routes."""

    levels: Mapping[str, str]
    statuses: Tuple[str, ...] = ("active",)
    minimum_grade: Optional[str] = None
    minimum_key_age_seconds: float = 0
    identity_methods: Optional[Tuple[str, ...]] = None
    allow: Tuple[str, ...] = ()
    deny: Tuple[str, ...] = ()
    require_proof: bool = False
    refusal_status: Optional[int] = None
    refusal_message: Optional[str] = None
    unreachable: str = "deny"
    max_stale_seconds: float = 300


@dataclass(frozen=True)
class Route:
    """Rules for some paths and methods."""

    path: str
    methods: Optional[Tuple[str, ...]]
    rules: Rules


@dataclass(frozen=True)
class Policy:
    """A validated policy with all defaults filled in."""

    rules: Rules
    mode: str = "enforce"
    limit_requests: float = 60
    limit_seconds: float = 60
    cache_seconds: float = 5
    preflight: str = "pass"
    routes: Tuple[Route, ...] = field(default=())

    @property
    def all_rules(self) -> List[Rules]:
        """The rules of the routes in order, followed by the policy's own."""
        return [each.rules for each in self.routes] + [self.rules]

    def rules_for(self, method: str, target: str) -> List[Rules]:
        """The rules that apply to a request: one, or all of them if servers may read the path or the method differently.

        :param target: path and query, as sent
        """
        if not self.routes:
            return [self.rules]
        path = _comparable_path(target.partition("?")[0])
        if path is None or _AMBIGUOUS_METHOD.search(method):
            return self.all_rules
        for route in self.routes:
            # Servers answer HEAD with the handler for GET.
            named = route.methods is None or method in route.methods
            if (named or (method == "HEAD" and "GET" in (route.methods or ()))) and _matches(
                route.path, path
            ):
                return [route.rules]
        return [self.rules]


SUGGESTED_LEVELS = {
    "none": "deny",
    "unknown": "deny",
    "directory": "deny",
    "unverified": "limit",
    "verified": "allow",
}


def read_policy(value: Any, naming: Naming = Naming()) -> Policy:
    """Validates a policy and fills in the defaults. The fields are those of the gateway's README.

    :param value: an object, or its text in JSON
    :raises PolicyError: listing every mistake
    """
    if isinstance(value, (str, bytes)):
        try:
            value = json.loads(value)
        except ValueError:
            raise PolicyError(["policy must be JSON"]) from None
    reader = _Reader(naming)
    policy = reader.policy({} if value is None else value)
    if reader.mistakes:
        raise PolicyError(reader.mistakes)
    return policy


class _Reader:
    """Reads one policy, and collects its mistakes."""

    _RULES = (
        "levels",
        "statuses",
        "minimumGrade",
        "minimumKeyAgeSeconds",
        "identityMethods",
        "allow",
        "deny",
        "requireProof",
        "refusal",
        "unreachable",
        "maxStaleSeconds",
    )
    _POLICY = ("mode", "limit", "cacheSeconds", "preflight", "directories")

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self.mistakes: List[str] = []

    def policy(self, value: Any) -> Policy:
        given = self._record(value, "policy", (*self._RULES, *self._POLICY, "routes"))
        rules = self._rules(given, "policy", Rules(SUGGESTED_LEVELS))
        limit = self._record(given.get("limit", {}), "policy.limit", ("requests", "seconds"))
        if given.get("directories"):
            self.mistakes.append("policy.directories is not supported by this package")
        return Policy(
            rules=rules,
            mode=self._choice(given, "policy", "mode", ("enforce", "shadow"), "enforce"),
            limit_requests=self._number(limit, "policy.limit", "requests", 1, 1_000_000, 60),
            limit_seconds=self._number(limit, "policy.limit", "seconds", 1, 86_400, 60),
            cache_seconds=self._number(given, "policy", "cacheSeconds", 0, 60, 5),
            preflight=self._choice(given, "policy", "preflight", ("pass", "decide"), "pass"),
            routes=tuple(self._routes(given.get("routes", []), rules)),
        )

    def _routes(self, value: Any, rules: Rules) -> List[Route]:
        if not isinstance(value, list):
            self.mistakes.append("policy.routes must be a list of routes")
            return []
        return [self._route(each, f"policy.routes[{i}]", rules) for i, each in enumerate(value)]

    def _route(self, value: Any, place: str, rules: Rules) -> Route:
        given = self._record(value, place, (*self._RULES, "path", "methods"))
        path = given.get("path")
        if not isinstance(path, str) or not _is_route_path(path):
            self.mistakes.append(
                f"{place}.path must be `/exact` or `/prefix/*`, as in the URL, without unnecessary percent-encoding"
            )
            path = "/"
        methods = None
        if given.get("methods") is not None:
            methods = self._list(
                given["methods"],
                f"{place}.methods",
                "a list of methods",
                "a method such as GET",
                lambda each: isinstance(each, str) and _METHOD.fullmatch(each) is not None,
                1,
            )
        return Route(path, methods, self._rules(given, place, rules))

    def _rules(self, given: Mapping[str, Any], place: str, defaults: Rules) -> Rules:
        refusal_status, refusal_message = defaults.refusal_status, defaults.refusal_message
        if "refusal" in given:
            refusal_status, refusal_message = self._refusal(given["refusal"], f"{place}.refusal")
        return Rules(
            levels=self._levels(given.get("levels", {}), f"{place}.levels", defaults.levels),
            statuses=self._statuses(given, place, defaults),
            minimum_grade=self._grade(given, place, defaults),
            minimum_key_age_seconds=self._number(
                given, place, "minimumKeyAgeSeconds", 0, 2_592_000, defaults.minimum_key_age_seconds
            ),
            identity_methods=self._identity_methods(given, place, defaults),
            allow=self._dids(given, place, "allow", defaults.allow),
            deny=self._dids(given, place, "deny", defaults.deny),
            require_proof=self._boolean(given, place, "requireProof", defaults.require_proof),
            refusal_status=refusal_status,
            refusal_message=refusal_message,
            unreachable=self._choice(
                given, place, "unreachable", ("deny", "flag", "allow", "stale"), defaults.unreachable
            ),
            max_stale_seconds=self._number(
                given, place, "maxStaleSeconds", 0, 86_400, defaults.max_stale_seconds
            ),
        )

    def _levels(self, value: Any, place: str, defaults: Mapping[str, str]) -> Dict[str, str]:
        given = self._record(value, place, LEVELS)
        levels = dict(defaults)
        for level in LEVELS:
            levels[level] = self._choice(given, place, level, ("allow", "limit", "deny"), levels[level])
        return levels

    def _statuses(self, given: Mapping[str, Any], place: str, defaults: Rules) -> Tuple[str, ...]:
        if "statuses" not in given:
            return defaults.statuses
        return self._list(
            given["statuses"],
            f"{place}.statuses",
            "a list of `active`, `suspended`, `revoked`",
            "`active`, `suspended` or `revoked`",
            lambda each: each in ("active", "suspended", "revoked"),
        )

    def _grade(self, given: Mapping[str, Any], place: str, defaults: Rules) -> Optional[str]:
        if "minimumGrade" not in given:
            return defaults.minimum_grade
        grade = given["minimumGrade"]
        if grade is None or grade in ("A", "B", "C", "D", "E"):
            return grade
        self.mistakes.append(f"{place}.minimumGrade must be `A`, `B`, `C`, `D` or `E`, or `null`")
        return None

    def _identity_methods(
        self, given: Mapping[str, Any], place: str, defaults: Rules
    ) -> Optional[Tuple[str, ...]]:
        if "identityMethods" not in given:
            return defaults.identity_methods
        if given["identityMethods"] is None:
            return None
        return self._list(
            given["identityMethods"],
            f"{place}.identityMethods",
            "a list of identity providers, or `null`",
            "the id of an identity provider",
            lambda each: isinstance(each, str) and _PROVIDER.fullmatch(each) is not None,
            1,
        )

    def _dids(
        self, given: Mapping[str, Any], place: str, name: str, default: Tuple[str, ...]
    ) -> Tuple[str, ...]:
        if name not in given:
            return default
        texts = self._list(
            given[name],
            f"{place}.{name}",
            "a list of DIDs",
            "a DID of the service or its 24 characters",
            lambda each: isinstance(each, str) and self._naming.tail_of(each) is not None,
        )
        return tuple(self._naming.did_of(self._naming.tail_of(each) or "") for each in texts)

    def _refusal(self, value: Any, place: str) -> Tuple[Optional[int], Optional[str]]:
        if value is None:
            return None, None
        given = self._record(value, place, ("status", "message"))
        status, message = given.get("status"), given.get("message")
        if "status" in given and (isinstance(status, bool) or status not in (402, 403, 404)):
            self.mistakes.append(f"{place}.status must be `402`, `403` or `404`")
            status = None
        if "message" in given and not _is_message(message):
            self.mistakes.append(f"{place}.message must be a text of at most 300 characters")
            message = None
        return status, message

    def _record(self, value: Any, place: str, known: Sequence[str]) -> Dict[str, Any]:
        if not isinstance(value, dict):
            self.mistakes.append(f"{place} must be an object")
            return {}
        for name in value:
            if name not in known:
                self.mistakes.append(f"{place}.{name} is unknown")
        return value

    def _choice(
        self, given: Mapping[str, Any], place: str, name: str, values: Sequence[str], default: str
    ) -> str:
        if name not in given:
            return default
        if given[name] in values:
            return given[name]
        codes = [f"`{each}`" for each in values]
        self.mistakes.append(f"{place}.{name} must be {', '.join(codes[:-1])} or {codes[-1]}")
        return default

    def _boolean(self, given: Mapping[str, Any], place: str, name: str, default: bool) -> bool:
        value = given.get(name, default)
        if isinstance(value, bool):
            return value
        self.mistakes.append(f"{place}.{name} must be `true` or `false`")
        return default

    def _number(
        self,
        given: Mapping[str, Any],
        place: str,
        name: str,
        least: int,
        most: int,
        default: float,
    ) -> float:
        value = given.get(name, default)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most:
            return value
        self.mistakes.append(f"{place}.{name} must be a number from {least} to {most}")
        return default

    def _list(
        self,
        value: Any,
        place: str,
        accepts: str,
        each_accepts: str,
        is_valid: Callable[[Any], bool],
        least: int = 0,
    ) -> Tuple[Any, ...]:
        if not isinstance(value, list) or len(value) < least:
            self.mistakes.append(f"{place} must be {accepts}")
            return ()
        for i, each in enumerate(value):
            if not is_valid(each):
                self.mistakes.append(f"{place}[{i}] must be {each_accepts}")
        return tuple(each for each in value if is_valid(each))


def _is_message(value: Any) -> bool:
    if not isinstance(value, str) or not value:
        return False
    try:
        return len(value.encode("utf-16-le")) // 2 <= _MAX_MESSAGE_LENGTH
    except UnicodeEncodeError:
        return False


def _is_route_path(path: str) -> bool:
    base = path[:-1] if path.endswith("/*") else path
    return _ROUTE_PATH.fullmatch(base) is not None and _comparable_path(path) is not None


def _comparable_path(path: str) -> Optional[str]:
    """The form in which paths are compared: without encodings, in lower case, because many routers ignore letter case.

    :returns: ``None`` if servers may interpret the path differently
    """
    if _AMBIGUOUS.search(path):
        return None
    if "%" not in path:
        return path.lower()
    try:
        return unicodedata.normalize("NFC", unquote_to_bytes(path).decode("utf-8")).lower()
    except UnicodeDecodeError:
        return None


def _matches(pattern: str, path: str) -> bool:
    """Whether a comparable path is one of a route. Ignores a slash at the end, because many servers do."""
    comparable = _comparable_path(pattern) or pattern
    if not comparable.endswith("*"):
        bare = comparable[:-1] if len(comparable) > 1 and comparable.endswith("/") else comparable
        return path in (bare, f"{bare}/")
    return path.startswith(comparable[:-1]) or path == comparable[:-2]
