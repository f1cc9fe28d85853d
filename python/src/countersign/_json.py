"""JSON in UTF-8, read as the TypeScript packages read it."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple, Union

# Parsers differ in how deep they read, so nothing that is verified is nested deeper.
_MAX_DEPTH = 32
# JavaScript reads numbers as doubles; Python would refuse to read thousands of digits as an integer.
_EXACT_DIGITS = 16


def parse_json(
    data: bytes, object_of: Optional[Callable[[List[Tuple[str, Any]]], Dict[str, Any]]] = None
) -> Any:
    """Parses JSON (RFC 8259) in UTF-8, without a byte order mark.

    :param object_of: makes an object of its members; by default the last of repeated ones counts
    :raises ValueError: if it is none, or nested deeper than 32 levels
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, parse_int=_number, object_pairs_hook=object_of)
    except RecursionError:
        raise ValueError("too deep") from None
    if _is_deeper_than(value, _MAX_DEPTH):
        raise ValueError("too deep")
    return value


def _number(text: str) -> Union[int, float]:
    return int(text) if len(text) <= _EXACT_DIGITS else float(text)


def _refuse_constant(name: str) -> NoReturn:
    """Python reads ``NaN`` and ``Infinity``, which are not JSON."""
    raise ValueError(f"{name} is not JSON")


def _is_deeper_than(value: Any, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    values = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper_than(each, levels - 1) for each in values)
