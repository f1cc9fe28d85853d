"""What this package raises."""

from __future__ import annotations

from typing import Optional


class CountersignError(Exception):
    """Something failed, with a code that programs can compare. The message is for people.

    :ivar code: a code of the service, such as ``NOT_FOUND``, or of this package: ``NETWORK``, ``PROTOCOL`` (the response
        is not that of a service), ``OUTCOME_UNKNOWN`` (a claim was sent without a response), ``INVALID_ARGUMENT``,
        ``NO_KEY``, ``NO_PLATFORM_TOKEN``, ``UNUSABLE_KEY``, ``KEY_EXISTS``, ``NO_DID``, ``LOOKS_LIKE_A_CLAIM``, ``NOT_A_CHALLENGE``,
        ``WRONG_AUDIENCE``, ``INVALID_TOKEN``, ``CERTIFICATE_REVOKED``, ``CERTIFICATE_SUSPENDED``,
        ``ISSUER_UNAVAILABLE``, ``DELEGATION_NOT_ALLOWED``, ``OUTSIDE_DELEGATION``, ``TIMEOUT``, ``APPROVAL_DENIED``,
        ``APPROVAL_EXPIRED``, ``APPROVALS_OFF``, ``APPROVAL_UNCHECKED`` (the site cannot tell whether an approval was used)
    :ivar status: the HTTP status of the response, if there was one
    :ivar request_id: the id of the request in the log of the service, if there is one
    :ivar location: the address of what was asked for and exists already, as the service sent it
    """

    def __init__(
        self,
        code: str,
        message: str,
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        location: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.request_id = request_id
        self.location = location
