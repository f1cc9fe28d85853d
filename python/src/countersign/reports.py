"""Reports: telling the owner of an agent what it did, with requests that it signed."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple, TypedDict, cast
from urllib.parse import quote

from ._http import RawRequest, field_value, header_fields, singleton_headers
from .errors import CountersignError
from .registry import Registry
from .verification import read_signature

_CREDENTIALS = frozenset(("authorization", "cookie", "proxy-authorization"))
_MAX_EVIDENCE = 5


class Evidence(TypedDict):
    """A request that an agent has signed, without what the signature does not cover. It can be stored as JSON."""

    method: str
    #: Scheme, host, path and query as received.
    url: str
    #: Name and value of the fields that the signature covers, of ``signature-input`` and of ``signature``.
    headers: List[Tuple[str, str]]


class SentReport(TypedDict):
    """A report that the service has received. Store ``token``: the service shows it once."""

    id: str
    receivedAt: str
    token: str


class ReportStatus(TypedDict):
    """What became of a report: ``state`` is ``open``, ``answered`` or ``closed``. ``answer`` is text of a stranger."""

    id: str
    state: str
    answer: Optional[str]
    answeredAt: Optional[str]


def evidence_of(request: RawRequest) -> Optional[Evidence]:
    """Keeps of a signed request what a report needs. Call it with the request as it was received, once it is verified.

    :returns: ``None`` if the request has no signature that can be read, or the signature covers a credential, such as
        ``Authorization``: that must not be passed on
    """
    fields = header_fields(request.headers)
    signature = read_signature(fields, singleton_headers("ServiceID"))
    if isinstance(signature, str) or signature.created is None:
        return None
    covered = [each.name for each in signature.components if not each.name.startswith("@")]
    if _CREDENTIALS.intersection(covered):
        return None
    names = dict.fromkeys(["signature-input", "signature", *covered])
    target = request.target
    url = f"{request.scheme}://{request.authority}{target}" if target.startswith("/") else target
    return {
        "method": request.method,
        "url": url,
        "headers": [(name, field_value(fields, name) or "") for name in names],
    }


def report_agent(
    registry: Registry,
    agent: str,
    category: str,
    text: str,
    evidence: Sequence[Evidence],
    contact: Optional[str] = None,
) -> SentReport:
    """Reports an agent to its owner, with requests that it signed (docs/reports.md). They prove that a key of the agent signed them
    for your host, not that they did harm. Nothing else follows from a report.

    :param agent: its DID
    :param category: ``rate``, ``fraud``, ``scraping``, ``impersonation`` or ``other``
    :param text: what happened, 1 to 1,000 characters
    :param evidence: 1 to 5 requests of the agent to one host, signed in the last 30 days
    :param contact: an e-mail address that the owner may write to; the service never does
    :raises CountersignError: ``VALIDATION_ERROR`` with the request that does not count and why; ``NOT_FOUND``; ``CONFLICT`` if one of
        the requests was reported before; ``RATE_LIMITED``; ``INVALID_ARGUMENT``
    """
    if not 1 <= len(evidence) <= _MAX_EVIDENCE:
        raise CountersignError("INVALID_ARGUMENT", f"A report has 1 to {_MAX_EVIDENCE} signed requests.")
    body = {"agent": agent, "category": category, "text": text, "contact": contact, "evidence": list(evidence)}
    return cast(SentReport, _known(registry.call("POST", "/api/v1/reports", body), SentReport))


def report_status(registry: Registry, report: Mapping[str, Any]) -> ReportStatus:
    """What became of a report, and the answer of the owner.

    :param report: what ``report_agent`` returned
    :raises CountersignError: ``NOT_FOUND``, also for a wrong token
    """
    path = "/api/v1/reports/" + quote(str(report["id"]), safe="")
    headers = {"Authorization": f"Bearer {report['token']}"}
    return cast(ReportStatus, _known(registry.call("GET", path, headers=headers), ReportStatus))


def _known(answer: Mapping[str, Any], shape: Any) -> Mapping[str, Any]:
    """:raises CountersignError: ``PROTOCOL`` if a member is missing"""
    if all(name in answer for name in shape.__annotations__):
        return answer
    raise CountersignError("PROTOCOL", "The response is not that of a Countersign service.")
