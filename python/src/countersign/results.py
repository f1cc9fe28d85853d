"""The types of what a service answers. At run time they are plain dictionaries, as the service sent them, with ``did`` added."""

from __future__ import annotations

from typing import List, Optional, TypedDict


class OwnerIdentity(TypedDict):
    """How the owner is verified (contract 2.3)."""

    identityMethod: Optional[str]
    #: ``verified`` or ``unverified``.
    identityLevel: str
    claimedAt: str


class Certificate(TypedDict):
    """Contract 2.2."""

    #: The DID.
    id: str
    #: ``active``, ``suspended`` or ``revoked``.
    status: str
    verifyUrl: str


class Lookup(TypedDict):
    """Contract 4.1."""

    #: True while the certificate is active.
    verified: bool
    owner: OwnerIdentity
    certificate: Certificate


class OwnerProfile(TypedDict):
    displayName: str
    username: str


class CardVerification(TypedDict):
    provider: str
    label: str
    verifiedAt: str


class CardChannel(TypedDict):
    kind: str
    handleOrDomain: str


class VerifiedName(TypedDict):
    name: str
    provider: str
    label: str
    verifiedAt: str


class OwnerName(TypedDict):
    selfDeclared: bool
    changedAt: Optional[str]
    verified: Optional[VerifiedName]


class _CardExtras(TypedDict, total=False):
    ownerName: Optional[OwnerName]
    #: True: verified by a provider for development, which accepts any name.
    developmentOnly: bool
    #: ``organisation``; left out if the owner is a person.
    ownerKind: str


class Card(_CardExtras):
    """Contract 2.4."""

    did: str
    displayName: str
    username: Optional[str]
    description: str
    avatarUrl: str
    #: ``active``, ``suspended`` or ``revoked``.
    status: str
    claimedAt: str
    #: ``None``: the account is deleted.
    owner: Optional[OwnerProfile]
    verification: Optional[CardVerification]
    channels: List[CardChannel]
    #: ``A`` to ``E``.
    grade: str
    tier: Optional[int]
    gradeIsFallback: bool
    certificateUrl: str


class AgentLinks(TypedDict):
    self: str
    lookup: str
    card: str
    compactCard: str
    didDocument: str
    certificate: str


class _AgentExtras(TypedDict, total=False):
    #: When the agent came to its owner; left out if it was never transferred.
    ownerChangedAt: str


class AgentObject(Card, _AgentExtras):
    """Contract 4.7: the card, the key and links."""

    #: 32 bytes in padded standard base64.
    publicKey: str
    #: RFC 7638, SHA-256, base64url.
    keyThumbprint: str
    #: The number of the key among those of the agent, from 1.
    keySequence: int
    keyChangedAt: str
    didWeb: str
    identityLevel: str
    statusChangedAt: str
    statusReason: Optional[str]
    updatedAt: str
    links: AgentLinks


class GradePoints(TypedDict):
    identity: int
    reach: int


class VerificationEvidence(TypedDict):
    provider: str
    label: str
    assurance: str
    verifiedAt: str
    expiresAt: Optional[str]


class ChannelEvidence(TypedDict):
    kind: str
    handleOrDomain: str
    tier: int
    checkedAt: str
    freshUntil: Optional[str]


class GradeEvidence(TypedDict):
    verification: Optional[VerificationEvidence]
    channel: Optional[ChannelEvidence]


class NextGrade(TypedDict):
    grade: str
    step: str


class Grade(TypedDict):
    """A grade with the evidence that it rests on."""

    did: str
    status: str
    policyVersion: int
    #: ``A`` to ``E``.
    grade: str
    tier: Optional[int]
    gradeIsFallback: bool
    points: GradePoints
    evidence: GradeEvidence
    next: Optional[NextGrade]


class VerifiedAgent(TypedDict):
    did: str
    displayName: str
    status: str


class Verification(TypedDict):
    """Contract 4.3. Decide by ``verified``."""

    verified: bool
    signatureValid: bool
    certified: bool
    identityLevel: str
    agent: VerifiedAgent


class Rotated(TypedDict):
    did: str
    keySequence: int
    keyChangedAt: str


#: A key of an agent. ``from`` is no name that a class can have.
Key = TypedDict(
    "Key",
    {
        "sequence": int,
        "keyThumbprint": str,
        "from": str,
        "until": Optional[str],
        # ``current``, ``retired``, ``renounced``, ``compromised`` or ``lost``.
        "state": str,
        "changedBy": str,
    },
)


class PendingRecovery(TypedDict):
    reason: str
    startedAt: str
    redeemedAt: Optional[str]
    effectiveAt: Optional[str]
    keyThumbprint: Optional[str]


class Renouncing(TypedDict):
    finalAt: str


class AgentKeys(TypedDict):
    """The keys of an agent, former and current, and what is pending."""

    did: str
    keySequence: int
    keyChangedAt: str
    keys: List[Key]
    recovery: Optional[PendingRecovery]
    renouncing: Optional[Renouncing]


class DelegationsEnded(TypedDict):
    """``endedAt``: every chain under a certificate from before this time is refused; ``None``: the agent may not delegate, so nothing
    ended."""

    did: str
    endedAt: Optional[str]


class EnrolmentEnded(TypedDict):
    """``statusReason``: such as ``enrolment_ended``."""

    did: str
    status: str
    statusReason: Optional[str]


__all__ = [
    "AgentKeys",
    "AgentLinks",
    "AgentObject",
    "Card",
    "CardChannel",
    "CardVerification",
    "Certificate",
    "ChannelEvidence",
    "DelegationsEnded",
    "EnrolmentEnded",
    "Grade",
    "GradeEvidence",
    "GradePoints",
    "Key",
    "Lookup",
    "NextGrade",
    "OwnerIdentity",
    "OwnerName",
    "OwnerProfile",
    "PendingRecovery",
    "Renouncing",
    "Rotated",
    "Verification",
    "VerificationEvidence",
    "VerifiedAgent",
    "VerifiedName",
]
