"""Verifying the signature of a request (RFC 9421, Web Bot Auth), with the same result as the TypeScript packages."""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass, replace
from typing import Callable, List, Optional, Sequence, Union

from ._chains import (
    Chain,
    ProvenChains,
    UnreadableChain,
    chain_fault,
    chain_refusal,
    delegation_of,
    is_chain,
    read_chain,
)
from ._ed25519 import base64url, is_signature, thumbprint
from ._http import (
    TAG,
    Component,
    HeaderFields,
    RawRequest,
    SignatureAgent,
    SignedParts,
    covered_field,
    field_value,
    header_fields,
    is_safe_method,
    matches_content_digest,
    parse_content_digest,
    parse_signature_agent,
    read_authority,
    read_components,
    read_path,
    signature_base,
    singleton_headers,
    strict_components,
)
from ._limits import is_within_limits
from ._naming import Naming
from ._structured_fields import (
    Date,
    InnerList,
    Item,
    Parameters,
    StructuredFieldError,
    Token,
    parse_dictionary,
    serialize_member,
)
from ._urls import is_loopback, is_origin, parse_url
from .approvals import RequestApproval
from .delegation import Delegation, DelegationLimits, DelegationPolicy, DelegationRoot
from .nonces import NonceStore, UsedNonce

#: How far ahead of this clock a signature may have been made, in seconds.
MAX_CLOCK_SKEW = 30
#: How long a signature by an agent may be valid, in seconds. No nonce is remembered for longer after it was created.
MAX_LIFETIME = 300
#: How long a signature by a key of a directory may be valid, in seconds: 24 hours (draft-meunier-webbotauth-httpsig-protocol).
MAX_DIRECTORY_LIFETIME = 86_400

_MAX_FIELD_LENGTH = 8192
_MAX_SIGNATURES = 4
_MAX_COMPONENTS = 32
_KEYID = re.compile("[A-Za-z0-9_-]{43}")
_NONCE = re.compile("[A-Za-z0-9_-]{22,128}")
# Of the profile `wba`: base64 in either alphabet, with or without padding.
_WBA_NONCE = re.compile("[A-Za-z0-9+/_-]{1,1024}={0,2}")

# Ed25519 keys that standards publish, so that everyone has them: RFC 9421 appendix B.1.4, RFC 8037 appendix A.
_PUBLISHED_TEST_KEYS = frozenset(
    (
        "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    )
)

# Verdict and HTTP status of each reason.
_MEANINGS = {
    "unsigned": ("unverified", 401),
    "limits": ("invalid", 401),
    "malformed": ("invalid", 401),
    "no-audience": ("unverified", 401),
    "bad-host": ("invalid", 400),
    "authority": ("invalid", 401),
    "insecure": ("invalid", 401),
    "bad-path": ("invalid", 400),
    "components": ("invalid", 401),
    "not-yet-valid": ("invalid", 401),
    "expired": ("invalid", 401),
    "lifetime": ("invalid", 401),
    "test-key": ("invalid", 401),
    "delegation-refused": ("invalid", 403),
    "delegation-invalid": ("invalid", 401),
    "delegation-expired": ("invalid", 401),
    "delegation-ended": ("invalid", 401),
    "untrusted-agent": ("unverified", 401),
    "unknown-key": ("unverified", 401),
    "directory-unavailable": ("unverified", 503),
    "algorithm": ("invalid", 401),
    "bad-signature": ("invalid", 401),
    "identification-mismatch": ("invalid", 401),
    "suspended": ("invalid", 403),
    "revoked": ("invalid", 403),
    "delegation-limit": ("invalid", 403),
    "approval-required": ("invalid", 403),
    "approval-invalid": ("invalid", 403),
    "approval-mismatch": ("invalid", 403),
    "approval-expired": ("invalid", 403),
    "not-admitted": ("invalid", 403),
    "nonce": ("invalid", 401),
    "replay": ("invalid", 401),
    "too-many-requests": ("unverified", 429),
    "replay-unchecked": ("unverified", 503),
    "digest": ("invalid", 401),
    "approval-used": ("invalid", 403),
    "approval-unchecked": ("invalid", 503),
}


@dataclass(frozen=True)
class SigningKey:
    """A key that was found. ``did`` and ``status`` are ``None`` for keys that no Countersign service vouches for.

    :ivar delegation: for ``admit``: the chain with which the request was sent. Then the key is that of the delegate, and DID and status
        are those of the agent
    """

    public_key: bytes
    did: Optional[str] = None
    status: Optional[str] = None
    delegation: Optional[Delegation] = None


@dataclass(frozen=True)
class SignatureRules:
    """Which signatures of a signer count. Whose key it is decides on them.

    :ivar profile: ``strict``: everything in the request that matters is covered; ``wba``: requests that change no state may have
        signatures over the host alone, without a nonce
    :ivar max_lifetime_seconds: the longest time from ``created`` to ``expires``
    """

    profile: str = "strict"
    max_lifetime_seconds: float = MAX_LIFETIME


_AGENT_RULES = SignatureRules()

#: Finds the key of a signature, or says why not: ``untrusted-agent``, ``unknown-key`` or ``directory-unavailable``.
KeyLookup = Callable[[SignatureAgent, str], Union[SigningKey, str]]

#: Verifies the certificate at the root of a chain and its status: returns the key in the certificate with DID and status of the agent, or
#: says why not: as ``KeyLookup``, ``delegation-invalid`` if the certificate is not one of this agent, or ``delegation-ended`` if it was
#: replaced or revoked, or the agent has another key.
RootLookup = Callable[[DelegationRoot], Union[SigningKey, str]]


#: Looks at a request whose signer is proven, besides its signature.
Examine = Callable[[SignedParts, Optional[str], Optional[str]], Optional[str]]


@dataclass(frozen=True)
class SignatureResult:
    """The result of verifying the signature of a request.

    :ivar verdict: ``verified``; ``invalid``: refuse the request; ``unverified``: it could not be decided, so the request
        proves nothing
    :ivar reason: why it is not verified, from a closed list; ``None`` if it is
    :ivar status: the HTTP status for a request that needs proof
    :ivar did: the agent, once its signature has been checked
    :ivar keyid: the JWK thumbprint that the signature names; proven only with ``verified``
    :ivar profile: that of the signer, ``strict`` or ``wba``, whatever the signature covers
    :ivar replay: ``checked`` or ``unchecked``
    :ivar digest: ``checked``, ``unchecked`` or ``none``
    :ivar content_digest: the covered field, to compare where the body is visible
    :ivar delegation: the chain of delegations with which the request was sent, then ``did`` is the agent and ``keyid`` the delegate's key;
        ``None`` without one
    :ivar approval: with ``verified`` the approval of the request, if one is required
    """

    verdict: str = "unverified"
    reason: Optional[str] = None
    status: int = 401
    did: Optional[str] = None
    keyid: Optional[str] = None
    signature_agent: Optional[SignatureAgent] = None
    profile: Optional[str] = None
    replay: str = "unchecked"
    digest: str = "unchecked"
    content_digest: Optional[str] = None
    delegation: Optional[Delegation] = None
    approval: Optional[RequestApproval] = None


@dataclass(frozen=True)
class _Input:
    components: List[Component]
    params: str
    created: Optional[int]
    expires: Optional[int]
    keyid: str
    nonce: Optional[str]
    alg: Optional[str]
    signature: bytes
    agent: SignatureAgent

    def covers(self, name: str) -> bool:
        return any(each.name == name for each in self.components)


@dataclass(frozen=True)
class _Checked:
    """What was checked before the key is known."""

    request: RawRequest
    received: SignedParts
    read: _Input
    rules: SignatureRules


class RequestVerifier:
    """Verifies Web Bot Auth signatures. It uses no network, clock or store but those that it is given.

    :param audiences: the origins at which agents reach the site, such as ``https://shop.example``; they never come from a
        request
    :param find_key: finds the key of a signature
    :param nonces: ``None``: the caller detects replays itself
    :param naming: the names of the deployment whose agents are expected
    :param rules_of: the rules for signers whose keys are at a place that you trust besides the service; ``None``: those for agents.
        Keys of agents have the rules for agents, whatever it returns
    :param admit: the site's policy, asked with the key and its place before the nonce is recorded
    :param now: the clock, in Unix seconds
    :param allow_test_keys: accept keys that are published in standards; for tests only
    :param delegation: which chains of delegations are accepted; ``None``: none
    :param find_root: verifies the certificate at the root of a chain
    :param proven: chains that were verified; shared by verifiers that live shorter
    :param examine: asked before ``admit`` with the request, the covered ``Content-Digest`` and the DID of the signer; returns a reason to
        refuse the request, or ``None``
    :raises ValueError: if an audience is not an origin, or ``delegation`` comes without ``find_root``
    """

    def __init__(
        self,
        audiences: Sequence[str],
        find_key: KeyLookup,
        nonces: Optional[NonceStore],
        naming: Naming = Naming(),
        rules_of: Callable[[SignatureAgent], Optional[SignatureRules]] = lambda agent: None,
        admit: Optional[Callable[[SigningKey, SignatureAgent], bool]] = None,
        now: Callable[[], float] = time.time,
        allow_test_keys: bool = False,
        delegation: Optional[DelegationPolicy] = None,
        find_root: Optional[RootLookup] = None,
        proven: Optional[ProvenChains] = None,
        examine: Optional[Examine] = None,
    ) -> None:
        for each in audiences:
            if not is_origin(each):
                raise ValueError("an audience is an origin, such as https://shop.example")
        if delegation is not None and find_root is None:
            raise ValueError("delegation needs find_root")
        self._audiences = list(audiences)
        self._hosts = {each.partition("//")[2] for each in audiences}
        self._find_key = find_key
        self._nonces = nonces
        self._naming = naming
        self._rules_of = rules_of
        self._admit = admit
        self._now = now
        self._allow_test_keys = allow_test_keys
        self._delegation = delegation
        self._find_root = find_root
        self._proven = proven or ProvenChains()
        self._examine = examine

    def verify(self, request: RawRequest) -> SignatureResult:
        """Verifies the signature of a request. Never raises for what a request contains."""
        fields = header_fields(request.headers)
        known = SignatureResult()
        read = read_signature(fields, singleton_headers(self._naming.id_header))
        if isinstance(read, str):
            return refused(read, known)
        known = replace(known, keyid=read.keyid, signature_agent=read.agent)
        received = self._receive(request, fields)
        if isinstance(received, str):
            return refused(received, known)
        # Whose key it is decides on the rules, not what the signature covers.
        rules = self._rules_of(read.agent) or _AGENT_RULES
        known = replace(known, profile=rules.profile)
        fault = None if self._covers_enough(rules, received, read) else "components"
        fault = fault or _times_fault(rules, read, self._now()) or self._test_key_fault(read.keyid)
        if fault is not None:
            return refused(fault, known)
        certificate = field_value(fields, f"{self._naming.id_header.lower()}-certificate")
        checked = _Checked(request, received, read, rules)
        if certificate is not None and is_chain(certificate):
            return self._verify_delegated(checked, certificate, known)
        key = self._find_key(read.agent, read.keyid)
        if isinstance(key, str):
            return refused(key, known)
        return self._verify_by(checked, key, read.keyid, None, known)

    def _verify_delegated(self, checked: _Checked, text: str, known: SignatureResult) -> SignatureResult:
        """Instead of the lookup of a key: the steps a to l of a chain (docs/delegation.md)."""
        policy, find_root = self._delegation, self._find_root
        if policy is None or find_root is None:
            return refused("delegation-refused", replace(known, delegation=delegation_of(())))
        chain = self._proven.get(text) or read_chain(text)

        def refuse(reason: str, fault: Optional[str] = None) -> SignatureResult:
            return refused(reason, replace(known, delegation=delegation_of(chain.hops, fault)))

        if isinstance(chain, UnreadableChain):
            return refuse("delegation-invalid", "format")
        root, now = chain.root, self._now()
        if any(self._test_key_fault(each) for each in (root.keyid, *(hop.keyid for hop in chain.hops))):
            return refuse("test-key")
        fault = chain_fault(chain, checked.read.keyid, now)
        if fault is not None:
            return refuse("delegation-invalid", fault)
        refusal = chain_refusal(chain, policy, now)
        if refusal is not None:
            return refuse(refusal)
        agent = checked.read.agent
        found = find_root(DelegationRoot(agent, root.certificate, root.did, root.keyid))
        if isinstance(found, str):
            return refuse(found, "root" if found == "delegation-invalid" else None)
        # Whoever looks it up has compared them. A key that is not the one in the certificate proves nothing of the chain.
        if found.did != root.did or found.public_key != root.public_key:
            return refuse("delegation-invalid", "root")
        if chain.unproven is not None:
            if not _is_signed_chain(chain):
                return refuse("delegation-invalid", "signature")
            self._proven.add(text, chain)
        delegation = delegation_of(chain.hops)
        key = replace(found, public_key=chain.keys[-1], delegation=delegation)
        known = replace(known, delegation=delegation)
        return self._verify_by(checked, key, root.keyid, chain.hops[-1].limits, known)

    def _verify_by(
        self,
        checked: _Checked,
        key: SigningKey,
        agent_keyid: str,
        limits: Optional[DelegationLimits],
        known: SignatureResult,
    ) -> SignatureResult:
        """The steps after the lookup of the key.

        :param agent_keyid: the key whose share of the nonce store the request takes
        :param limits: those of the last hop
        """
        request, received, read, rules = checked.request, checked.received, checked.read, checked.rules
        fault = _signature_fault(received, read, key)
        if fault is not None:
            return refused(fault, known)
        digest_field = field_value(received.fields, "content-digest") if read.covers("content-digest") else None
        if key.did is not None:
            rules = _AGENT_RULES
        known = replace(known, did=key.did, content_digest=digest_field, profile=rules.profile)
        fault = self._agent_fault(received, read, key)
        if fault is None and limits is not None and not _is_within(limits, received):
            fault = "delegation-limit"
        if fault is None and self._examine is not None:
            fault = self._examine(received, digest_field, key.did)
        if fault is None and self._admit is not None and not self._admit(key, read.agent):
            fault = "not-admitted"
        if fault is not None:
            return refused(fault, known)
        replay = self._record_nonce(rules, received.method, read, agent_keyid)
        if replay not in ("checked", "unchecked"):
            return refused(replay, known)
        known = replace(known, replay=replay)
        digest = _digest_of(digest_field, received.has_content, request)
        if digest == "mismatch":
            return refused("digest", known)
        return replace(known, verdict="verified", reason=None, status=200, digest=digest)

    def _receive(self, request: RawRequest, fields: HeaderFields) -> Union[SignedParts, str]:
        if not self._audiences:
            return "no-audience"
        authority = read_authority(request, fields)
        if authority is None:
            return "bad-host"
        if authority not in self._hosts:
            return "authority"
        origin = f"{request.scheme}://{authority}"
        url = parse_url(origin)
        # `@authority` does not cover the scheme, so what was captured on http would verify as https.
        if request.scheme == "http" and not (url is not None and is_loopback(url.hostname)):
            return "insecure"
        if origin not in self._audiences:
            return "insecure" if request.scheme == "http" else "authority"
        path = read_path(request.target, origin)
        if path is None:
            return "bad-path"
        content = request.content_is_present(fields)
        return SignedParts(request.method, origin, path[0], path[1], fields, content)

    def _covers_enough(self, rules: SignatureRules, received: SignedParts, read: _Input) -> bool:
        if rules.profile == "wba" and is_safe_method(received.method):
            return read.covers("@authority") or read.covers("@target-uri")
        has_query = received.query is not None
        id_header = self._naming.id_header
        required = strict_components(
            received.method,
            received.fields,
            has_query,
            received.has_content,
            Component("signature-agent"),
            id_header,
        )
        own = id_header.lower()
        covered = all(each.name == own or read.covers(each.name) for each in required)
        # `@query` has the same value for a lone `?` as for no query.
        return covered and (has_query or not read.covers("@query"))

    def _test_key_fault(self, keyid: str) -> Optional[str]:
        refused = not self._allow_test_keys and keyid in _PUBLISHED_TEST_KEYS
        return "test-key" if refused else None

    def _agent_fault(self, received: SignedParts, read: _Input, key: SigningKey) -> Optional[str]:
        # Agents of a Countersign service can always sign everything, also if a directory has their key.
        if key.did is not None:
            if not self._covers_enough(_AGENT_RULES, received, read):
                return "components"
            if _exceeds_lifetime(_AGENT_RULES, read):
                return "lifetime"
        name = self._naming.id_header.lower()
        identification = field_value(received.fields, name)
        if identification is not None:
            tail = self._naming.tail_of(identification)
            same = tail is not None and key.did is not None and tail == self._naming.tail_of(key.did)
            if not same or not read.covers(name):
                return "identification-mismatch"
        return key.status if key.status in ("suspended", "revoked") else None

    def _record_nonce(self, rules: SignatureRules, method: str, read: _Input, agent_keyid: str) -> str:
        is_wba = rules.profile == "wba"
        if read.nonce is None and is_wba and is_safe_method(method):
            return "unchecked"
        pattern = _WBA_NONCE if is_wba else _NONCE
        if read.nonce is None or pattern.fullmatch(read.nonce) is None:
            return "nonce"
        if self._nonces is None:
            return "unchecked"
        digest = hashlib.sha256(f"{read.keyid} {read.nonce}".encode("ascii")).digest()
        # Signatures of a day must not fill the store: of an older one, nobody can tell.
        remembered_until = min(read.expires or 0, (read.created or 0) + MAX_LIFETIME)
        entry = UsedNonce(
            keyid=agent_keyid,
            nonce=read.nonce,
            hash=base64url(digest),
            created_at=read.created or 0,
            expires_at=remembered_until + MAX_CLOCK_SKEW,
        )
        try:
            outcome = "unchecked" if self._now() > remembered_until else self._nonces.record(entry)
        except Exception:  # A store that fails cannot tell, whatever it raises.
            outcome = "unchecked"
        if outcome == "used":
            return "replay"
        if outcome == "share-exceeded":
            return "too-many-requests"
        if outcome == "fresh":
            return "checked"
        return "unchecked" if is_safe_method(method) else "replay-unchecked"


def refused(reason: str, known: SignatureResult) -> SignatureResult:
    """The result for a request that does not count for a reason."""
    verdict, status = _MEANINGS[reason]
    return replace(known, verdict=verdict, reason=reason, status=status)


def read_signature(fields: HeaderFields, singletons: Sequence[str]) -> Union[_Input, str]:
    """The one signature of a request for Web Bot Auth, or the reason why it cannot be read."""
    signature_input = field_value(fields, "signature-input")
    signature = field_value(fields, "signature")
    if signature_input is None and signature is None:
        return "unsigned"
    if any(sum(map(len, lines)) > _MAX_FIELD_LENGTH for lines in fields.values()):
        return "limits"
    if signature_input is None or signature is None:
        return "malformed"
    if any(len(fields.get(name, ())) > 1 for name in singletons):
        return "malformed"
    try:
        return _read_fields(fields, signature_input, signature)
    except StructuredFieldError:
        return "malformed"



def _read_fields(fields: HeaderFields, signature_input: str, signature: str) -> Union[_Input, str]:
    inputs = parse_dictionary(signature_input)
    signatures = parse_dictionary(signature)
    if len(inputs) > _MAX_SIGNATURES or len(signatures) > _MAX_SIGNATURES:
        return "limits"
    # The signature is found by its tag, since intermediaries may change labels.
    tagged = [
        (label, member)
        for label, member in inputs.items()
        if type(member.params.get("tag")) is str and member.params["tag"] == TAG
    ]
    if not tagged:
        return "unsigned"
    if len(tagged) > 1:
        return "malformed"
    label, member = tagged[0]
    value = signatures.get(label)
    if not isinstance(member, InnerList) or not isinstance(value, Item):
        return "malformed"
    if not isinstance(value.value, bytes) or value.params:
        return "malformed"
    if len(member.items) > _MAX_COMPONENTS:
        return "limits"
    components = read_components(member)
    for each in components:
        if not each.name.startswith("@"):
            covered_field(fields, each.name)
    agent = next((each for each in components if each.name == "signature-agent"), None)
    if agent is None:
        return "malformed"
    keyid = _text(member.params, "keyid")
    if keyid is None or _KEYID.fullmatch(keyid) is None:
        return "malformed"
    place = parse_signature_agent(covered_field(fields, "signature-agent"), agent.key)
    if place is None:
        return "untrusted-agent"
    return _Input(
        components=components,
        params=serialize_member(member),
        created=_seconds(member.params, "created"),
        expires=_seconds(member.params, "expires"),
        keyid=keyid,
        nonce=_text(member.params, "nonce"),
        alg=_text(member.params, "alg"),
        signature=value.value,
        agent=place,
    )


def _text(params: Parameters, name: str) -> Optional[str]:
    value = params.get(name)
    if value is None or (isinstance(value, str) and not isinstance(value, Token)):
        return value
    raise StructuredFieldError(f"the parameter {name} has another type")


def _seconds(params: Parameters, name: str) -> Optional[int]:
    value = params.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, (bool, Date))):
        return value
    raise StructuredFieldError(f"the parameter {name} has another type")


def _exceeds_lifetime(rules: SignatureRules, read: _Input) -> bool:
    if read.created is None or read.expires is None or read.expires <= read.created:
        return True
    return read.expires - read.created > rules.max_lifetime_seconds


def _times_fault(rules: SignatureRules, read: _Input, now: float) -> Optional[str]:
    if _exceeds_lifetime(rules, read):
        return "lifetime"
    if (read.created or 0) > now + MAX_CLOCK_SKEW:
        return "not-yet-valid"
    return "expired" if (read.expires or 0) < now else None


def _signature_fault(received: SignedParts, read: _Input, key: SigningKey) -> Optional[str]:
    if thumbprint(key.public_key) != read.keyid:
        return "unknown-key"
    if read.alg is not None and read.alg != "ed25519":
        return "algorithm"
    try:
        base = signature_base(received, read.components, read.params)
    except StructuredFieldError:
        return "malformed"
    good = is_signature(key.public_key, base.encode("utf-8"), read.signature, key.delegation is not None)
    return None if good else "bad-signature"


def _is_signed_chain(chain: Chain) -> bool:
    """Step j: each hop is signed by the key before it."""
    keys = (chain.root.public_key, *chain.keys)
    return all(
        is_signature(keys[at], each.signing_input, each.signature, True) for at, each in enumerate(chain.unproven or ())
    )


def _is_within(limits: DelegationLimits, received: SignedParts) -> bool:
    return is_within_limits(limits, received.method, received.origin, received.path, received.fields)


def _digest_of(field: Optional[str], has_content: bool, request: RawRequest) -> str:
    if field is None:
        return "unchecked" if has_content else "none"
    try:
        if request.body is not None:
            return "checked" if matches_content_digest(field, request.body) else "mismatch"
        parse_content_digest(field)
        return "unchecked"
    except StructuredFieldError:
        return "mismatch"
