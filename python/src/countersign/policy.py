"""The policy of a gateway: the same file, with the same meaning and messages, as the package ``@countersign/gateway``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ._naming import Naming
from ._paths import comparable_path
from .approvals import METHODS, ApprovalPolicy
from .delegation import MAX_DELEGATION_SECONDS, MAX_HOPS, DelegationPolicy
from .directories import Directory, directory_url
from .verification import MAX_DIRECTORY_LIFETIME

LEVELS = ("none", "unknown", "directory", "unverified", "verified")

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
    minimum_owner_age_seconds: float = 0
    identity_methods: Optional[Tuple[str, ...]] = None
    allow: Tuple[str, ...] = ()
    deny: Tuple[str, ...] = ()
    delegation: Optional[DelegationPolicy] = None
    approval: Optional[ApprovalPolicy] = None
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
    directories: Tuple[Directory, ...] = ()
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
        path = comparable_path(target.partition("?")[0])
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
            value = json.loads(value, parse_constant=_refuse_constant)
        except ValueError:
            raise PolicyError(["policy must be JSON"]) from None
    reader = _Reader(naming)
    policy = reader.policy({} if value is None else value)
    if reader.mistakes:
        raise PolicyError(reader.mistakes)
    return policy


class _Reader:
    """Reads one policy, and collects its mistakes in the order of the TypeScript package."""

    _RULES = (
        "levels",
        "statuses",
        "minimumGrade",
        "minimumKeyAgeSeconds",
        "minimumOwnerAgeSeconds",
        "requireLogged",
        "identityMethods",
        "allow",
        "deny",
        "delegation",
        "approval",
        "requireProof",
        "refusal",
        "unreachable",
        "maxStaleSeconds",
    )
    _POLICY = ("mode", "limit", "cacheSeconds", "preflight", "directories", "trust", "offline")

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self.mistakes: List[str] = []

    def policy(self, value: Any) -> Policy:
        given = self._record(value, "policy", (*self._RULES, *self._POLICY, "routes"))
        mode = self._choice(given, "policy", "mode", ("enforce", "shadow"), "enforce")
        limit: Mapping[str, Any] = {}
        if "limit" in given:
            limit = self._record(given["limit"], "policy.limit", ("requests", "seconds"))
        requests = self._number(limit, "policy.limit", "requests", 1, 1_000_000, 60)
        seconds = self._number(limit, "policy.limit", "seconds", 1, 86_400, 60)
        cache_seconds = self._number(given, "policy", "cacheSeconds", 0, 60, 5)
        preflight = self._choice(given, "policy", "preflight", ("pass", "decide"), "pass")
        directories = self._directories(given["directories"]) if "directories" in given else ()
        if given.get("trust", []) != []:
            self.mistakes.append("policy.trust is not supported by this package")
        if "offline" in given:
            self.mistakes.append("policy.offline is not supported by this package")
        rules = self._rules(given, "policy", Rules(SUGGESTED_LEVELS))
        routes = tuple(self._routes(given["routes"], rules)) if "routes" in given else ()
        return Policy(rules, mode, requests, seconds, cache_seconds, preflight, directories, routes)

    def _directories(self, value: Any) -> Tuple[Directory, ...]:
        if not isinstance(value, list):
            accepts = "a list of objects with `url` (https), `profile` (`strict` or `wba`) and `maxLifetimeSeconds`"
            self.mistakes.append(f"policy.directories must be {accepts} (1 to {MAX_DIRECTORY_LIFETIME})")
            return ()
        return tuple(self._directory(each, f"policy.directories[{i}]") for i, each in enumerate(value))

    def _directory(self, value: Any, place: str) -> Directory:
        given = self._record(value, place, ("url", "profile", "maxLifetimeSeconds"))
        text = given.get("url")
        url = directory_url(text) if isinstance(text, str) else None
        if url is None:
            accepts = "an https address at a host name, such as `https://bots.example`"
            self.mistakes.append(f"{place}.url must be {accepts}")
        profile = self._choice(given, place, "profile", ("strict", "wba"), "strict")
        most = MAX_DIRECTORY_LIFETIME
        return Directory(url or "", profile, self._number(given, place, "maxLifetimeSeconds", 1, most, most))

    def _routes(self, value: Any, rules: Rules) -> List[Route]:
        if not isinstance(value, list):
            self.mistakes.append("policy.routes must be a list of routes")
            return []
        return [self._route(each, f"policy.routes[{i}]", rules) for i, each in enumerate(value)]

    def _route(self, value: Any, place: str, rules: Rules) -> Route:
        given = self._record(value, place, (*self._RULES, "path", "methods"))
        given_path = given.get("path")
        path = given_path if isinstance(given_path, str) and _is_route_path(given_path) else None
        path_mistake = (
            f"{place}.path must be `/exact` or `/prefix/*`, as in the URL, without unnecessary percent-encoding"
        )
        if "path" in given and path is None:
            self.mistakes.append(path_mistake)
        methods = None
        if given.get("methods") is not None:
            methods = self._list(
                given["methods"], f"{place}.methods", "a list of methods", "a method such as GET", _is_method, 1
            )
        if "path" not in given:
            self.mistakes.append(path_mistake)
        return Route(path or "/", methods, self._rules(given, place, rules))

    def _rules(self, given: Mapping[str, Any], place: str, defaults: Rules) -> Rules:
        levels = dict(defaults.levels)
        if "levels" in given:
            levels.update(self._levels(given["levels"], f"{place}.levels"))
        statuses = defaults.statuses
        if "statuses" in given:
            statuses = self._list(
                given["statuses"],
                f"{place}.statuses",
                "a list of `active`, `suspended`, `revoked`",
                "`active`, `suspended` or `revoked`",
                _is_status,
            )
        grade = defaults.minimum_grade
        if "minimumGrade" in given:
            grade = None
            if given["minimumGrade"] is not None:
                grade = self._choice(given, place, "minimumGrade", ("A", "B", "C", "D", "E"), "A")
        key_age = self._number(
            given, place, "minimumKeyAgeSeconds", 0, 2_592_000, defaults.minimum_key_age_seconds
        )
        owner_age = self._number(
            given, place, "minimumOwnerAgeSeconds", 0, 2_592_000, defaults.minimum_owner_age_seconds
        )
        # Ignoring it would admit keys that the policy refuses.
        if given.get("requireLogged") is not None:
            self.mistakes.append(f"{place}.requireLogged is not supported by this package")
        methods = defaults.identity_methods
        if "identityMethods" in given:
            methods = None
            if given["identityMethods"] is not None:
                methods = self._list(
                    given["identityMethods"],
                    f"{place}.identityMethods",
                    "a list of identity providers",
                    "the id of an identity provider",
                    _is_provider,
                    1,
                )
        allow = self._dids(given, place, "allow", defaults.allow)
        deny = self._dids(given, place, "deny", defaults.deny)
        delegation = defaults.delegation
        if "delegation" in given:
            delegation = self._delegation(given["delegation"], f"{place}.delegation")
        approval = defaults.approval
        if "approval" in given:
            approval = self._approval(given["approval"], f"{place}.approval")
        require_proof = self._boolean(given, place, "requireProof", defaults.require_proof)
        refusal = defaults.refusal_status, defaults.refusal_message
        if "refusal" in given:
            refusal = self._refusal(given["refusal"], f"{place}.refusal")
        choices = ("deny", "flag", "allow", "stale")
        return Rules(
            levels=levels,
            statuses=statuses,
            minimum_grade=grade,
            minimum_key_age_seconds=key_age,
            minimum_owner_age_seconds=owner_age,
            identity_methods=methods,
            allow=allow,
            deny=deny,
            delegation=delegation,
            approval=approval,
            require_proof=require_proof,
            refusal_status=refusal[0],
            refusal_message=refusal[1],
            unreachable=self._choice(given, place, "unreachable", choices, defaults.unreachable),
            max_stale_seconds=self._number(
                given, place, "maxStaleSeconds", 0, 86_400, defaults.max_stale_seconds
            ),
        )

    def _levels(self, value: Any, place: str) -> Dict[str, str]:
        given = self._record(value, place, LEVELS)
        actions = ("allow", "limit", "deny")
        return {
            level: self._choice(given, place, level, actions, "deny") for level in LEVELS if level in given
        }

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

    def _delegation(self, value: Any, place: str) -> Optional[DelegationPolicy]:
        if value is None:
            return None
        given = self._record(value, place, ("maxDepth", "maxSeconds", "mcp"))
        max_depth = self._integer(given, place, "maxDepth", MAX_HOPS, 1)
        max_seconds = self._integer(given, place, "maxSeconds", MAX_DELEGATION_SECONDS, 3_600)
        return DelegationPolicy(max_depth, max_seconds, self._boolean(given, place, "mcp", False))

    def _approval(self, value: Any, place: str) -> Optional[ApprovalPolicy]:
        if value is None:
            return None
        given = self._record(value, place, ("maxAgeSeconds", "by", "bodyCheckedByApplication"))
        max_age = self._integer(given, place, "maxAgeSeconds", 3_600, 600, 60)
        by: Tuple[str, ...] = ("passkey",)
        if "by" in given:
            each = "`passkey` or `mandate`"
            by = self._list(given["by"], f"{place}.by", f"a list of {each}", each, lambda one: one in METHODS, 1)
        checked = self._boolean(given, place, "bodyCheckedByApplication", False)
        return ApprovalPolicy(max_age, by, checked)

    def _refusal(self, value: Any, place: str) -> Tuple[Optional[int], Optional[str]]:
        if value is None:
            return None, None
        given = self._record(value, place, ("status", "message"))
        status, message = given.get("status"), given.get("message")
        if "status" in given and not (_is_number(status) and status in (402, 403, 404)):
            self.mistakes.append(f"{place}.status must be `402`, `403` or `404`")
            status = None
        if "message" in given and not _is_message(message):
            self.mistakes.append(f"{place}.message must be a text of at most 300 characters")
            message = None
        return None if status is None else int(status), message

    def _record(self, value: Any, place: str, known: Sequence[str]) -> Dict[str, Any]:
        if not isinstance(value, dict):
            self.mistakes.append(f"{place} must be an object")
            return {}
        # JavaScript lists names that are array indexes first.
        indexes = sorted((each for each in value if _is_index(each)), key=int)
        for name in (*indexes, *(each for each in value if not _is_index(each))):
            if name not in known:
                self.mistakes.append(f"{place}.{name} is unknown")
        return value

    def _choice(
        self, given: Mapping[str, Any], place: str, name: str, values: Sequence[str], default: str
    ) -> str:
        if name not in given:
            return default
        if given[name] in values:
            return str(given[name])
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
        self, given: Mapping[str, Any], place: str, name: str, least: int, most: int, default: float
    ) -> float:
        value = given.get(name, default)
        if _is_number(value) and least <= value <= most:
            return float(value)
        self.mistakes.append(f"{place}.{name} must be a number from {least} to {most}")
        return default

    def _integer(
        self, given: Mapping[str, Any], place: str, name: str, most: int, default: int, least: int = 1
    ) -> int:
        value = given.get(name, default)
        # In JSON, `1.0` is an integer too.
        if _is_number(value) and least <= value <= most and value == int(value):
            return int(value)
        self.mistakes.append(f"{place}.{name} must be an integer from {least} to {most}")
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


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_index(name: Any) -> bool:
    return re.fullmatch("0|[1-9][0-9]{0,9}", str(name)) is not None and int(name) < 2**32 - 1


def _is_method(value: Any) -> bool:
    return isinstance(value, str) and _METHOD.fullmatch(value) is not None


def _is_status(value: Any) -> bool:
    return value in ("active", "suspended", "revoked")


def _is_provider(value: Any) -> bool:
    return isinstance(value, str) and _PROVIDER.fullmatch(value) is not None


def _is_message(value: Any) -> bool:
    if not isinstance(value, str) or not value:
        return False
    try:
        return len(value.encode("utf-16-le")) // 2 <= _MAX_MESSAGE_LENGTH
    except UnicodeEncodeError:
        return False


def _is_route_path(path: str) -> bool:
    base = path[:-1] if path.endswith("/*") else path
    return _ROUTE_PATH.fullmatch(base) is not None and comparable_path(path) is not None


def _matches(pattern: str, path: str) -> bool:
    """Whether a comparable path is one of a route. Ignores a slash at the end, because many servers do."""
    comparable = comparable_path(pattern) or pattern
    if not comparable.endswith("*"):
        bare = comparable[:-1] if len(comparable) > 1 and comparable.endswith("/") else comparable
        return path in (bare, f"{bare}/")
    return path.startswith(comparable[:-1]) or path == comparable[:-2]
