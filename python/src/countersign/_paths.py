"""Which paths servers read alike."""

from __future__ import annotations

import re
import unicodedata
from typing import Optional
from urllib.parse import unquote_to_bytes

# Whatever servers read differently: parts of paths that they resolve, merge or cut off, characters that no URL may contain,
# and encoded characters that need no encoding or separate parts of a URL.
_AMBIGUOUS = re.compile(
    r"^(?!/)|//|/\.{1,2}(?:/|$)|[^\x21-\x7e]|[\\;#?]"
    r"|%(?!2[02]|3[ce]|5[bde]|60|7[bcd]|[89a-f][0-9a-f])",
    # Without ASCII, letters beyond it such as U+017F would count as the ASCII letter that they fold to.
    re.IGNORECASE | re.ASCII,
)


def is_unambiguous_path(path: str) -> bool:
    """Whether all servers interpret a path in the same way."""
    return comparable_path(path) is not None


def comparable_path(path: str) -> Optional[str]:
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
