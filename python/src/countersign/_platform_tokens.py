"""Where a workload gets the token of its platform from."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, Union
from urllib.parse import urlencode, urlsplit

from ._urls import is_loopback
from .errors import CountersignError

#: Gets a token for an audience: a JWT in compact form, a secret while it is valid.
TokenSource = Callable[[str], str]

_TIMEOUT_SECONDS = 10
_MAX_BYTES = 64 * 1024
_GCP_PATH = "/computeMetadata/v1/instance/service-accounts/default/identity"


def github_actions_token() -> TokenSource:
    """Asks GitHub Actions for the token of a job, whose workflow must have ``permissions: id-token: write``.

    :returns: a source for :func:`enrol`, which raises ``NO_PLATFORM_TOKEN``
    """

    def token(audience: str) -> str:
        address = os.environ.get("ACTIONS_ID_TOKEN_REQUEST_URL")
        bearer = os.environ.get("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
        if not address or not bearer:
            raise _no_token("GitHub Actions offers no token to this job. Add to its workflow: permissions: id-token: write")
        url = urlsplit(address)
        # The bearer token must not cross a network in the clear.
        if url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.hostname or "")):
            raise _no_token("ACTIONS_ID_TOKEN_REQUEST_URL is no https address.")
        query = "&".join(filter(None, (url.query, urlencode({"audience": audience}))))
        request = url._replace(query=query).geturl()
        text = _ask(request, {"Authorization": f"Bearer {bearer}"}, "GitHub Actions", _opener)
        try:
            value = json.loads(text)["value"]
        except (ValueError, KeyError, TypeError):
            value = None
        if not isinstance(value, str):
            raise _no_token("GitHub Actions answers without a token.")
        return value

    return token


def gcp_token() -> TokenSource:
    """Asks the metadata server of Google Cloud for an identity token of the default service account, with the details of the
    instance (``format=full``). ``GCE_METADATA_HOST`` names another metadata server.

    :returns: a source for :func:`enrol`, which raises ``NO_PLATFORM_TOKEN``
    """

    def token(audience: str) -> str:
        host = os.environ.get("GCE_METADATA_HOST") or "metadata.google.internal"
        query = urlencode({"audience": audience, "format": "full"})
        url = f"http://{host}{_GCP_PATH}?{query}"
        return _ask(url, {"Metadata-Flavor": "Google"}, "The metadata server", _direct_opener).strip()

    return token


def token_file(path: Union[str, "os.PathLike[str]"]) -> TokenSource:
    """Reads the token from a file, which is read again for each enrolment: a projected volume of Kubernetes, or the file of a SPIFFE
    helper. The audience of the token is fixed where the file is set up, so the one that is asked for is ignored.

    :returns: a source for :func:`enrol`, which raises ``NO_PLATFORM_TOKEN``
    """

    def token(_audience: str) -> str:
        try:
            return Path(path).read_text("ascii").strip()
        except (OSError, ValueError) as error:
            # The message of a UnicodeDecodeError has the bytes of the file.
            reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
            raise _no_token(f"The token file {path} cannot be read: {reason}.") from None

    return token


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_named: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)
_direct_opener = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))


def _ask(url: str, headers: Dict[str, str], who: str, opener: urllib.request.OpenerDirector) -> str:
    """No message repeats the body: it may be the token."""
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT_SECONDS) as response:
            status, data = response.status, response.read(_MAX_BYTES + 1)
    except urllib.error.HTTPError as answer:
        answer.close()
        raise _no_token(f"{who} gives no token: it answers {answer.code}.") from None
    except (OSError, ValueError):
        raise _no_token(f"{who} cannot be reached, or does not answer in time.") from None
    if status != 200 or len(data) > _MAX_BYTES:
        raise _no_token(f"{who} answers without a token.")
    return str(data.decode("utf-8", "replace"))


def _no_token(message: str) -> CountersignError:
    return CountersignError("NO_PLATFORM_TOKEN", message)
