"""Structured fields (RFC 9651), as far as HTTP message signatures need them."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Dict, List, Union


class StructuredFieldError(ValueError):
    """The text is not a structured field, or repeats a key."""


class Token(str):
    """A token, such as ``jwks_uri``: text without quotes."""


class Date(int):
    """A date, in Unix seconds."""


BareItem = Union[str, Token, int, float, bool, bytes, Date]
Parameters = Dict[str, BareItem]


@dataclass(frozen=True)
class Item:
    """A bare item with its parameters, in their order."""

    value: BareItem
    params: Parameters = field(default_factory=dict)


@dataclass(frozen=True)
class InnerList:
    """Items in parentheses, with parameters of their own."""

    items: List[Item]
    params: Parameters = field(default_factory=dict)


Member = Union[Item, InnerList]

_KEY = re.compile(r"[a-z*][a-z0-9_.*-]*")
_TOKEN = re.compile(r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_STRING = re.compile(r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"')
_BYTES = re.compile(r":[A-Za-z0-9+/]*={0,2}:")
_BOOLEAN = re.compile(r"\?[01]")
_DATE = re.compile(r"@-?[0-9]{1,15}(?![0-9.])")
_SPACES = re.compile(r" *")
_OPTIONAL_WHITESPACE = re.compile(r"[ \t]*")
_INTEGER = re.compile(r"-?[0-9]{1,15}")
_DECIMAL = re.compile(r"-?[0-9]{1,12}\.[0-9]{1,3}")
_PRINTABLE = re.compile(r"[\x20-\x7e]*")


def parse_dictionary(text: str) -> Dict[str, Member]:
    """Parses a dictionary (RFC 9651 section 4.2.2).

    RFC 9651 lets the last of several equal keys win. This parser raises, since two readers that differ in this would see
    different signatures.

    :raises StructuredFieldError: if the text is not a dictionary
    """
    return _Parser(text).dictionary()


def parse_string_item(text: str) -> str:
    """Parses a string without parameters, such as ``"https://host"``.

    :raises StructuredFieldError: for any other text
    """
    item = _Parser(text).only_item()
    if type(item.value) is str and not item.params:
        return item.value
    raise StructuredFieldError("not a string without parameters")


def serialize_string(text: str) -> str:
    """A string item (RFC 9651 section 4.1.6).

    :raises StructuredFieldError: if the text is not printable ASCII
    """
    if _PRINTABLE.fullmatch(text) is None:
        raise StructuredFieldError("a string is printable ASCII")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def serialize_member(member: Member) -> str:
    """A member in its canonical form (RFC 9651 section 4.1)."""
    if isinstance(member, InnerList):
        value = "(" + " ".join(serialize_member(each) for each in member.items) + ")"
    else:
        value = _serialize_bare_item(member.value)
    return value + "".join(
        f";{key}" if item is True else f";{key}={_serialize_bare_item(item)}"
        for key, item in member.params.items()
    )


def _serialize_bare_item(item: BareItem) -> str:
    if isinstance(item, bool):
        return "?1" if item else "?0"
    if isinstance(item, bytes):
        return f":{base64.b64encode(item).decode('ascii')}:"
    if isinstance(item, Token):
        return str(item)
    if isinstance(item, str):
        return serialize_string(item)
    if isinstance(item, Date):
        return f"@{int(item)}"
    if isinstance(item, int):
        return str(item)
    # Without the sign of -0.0, as RFC 9651 section 4.1.5 has it.
    text = f"{item + 0.0:.3f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._take(_SPACES)

    def dictionary(self) -> Dict[str, Member]:
        members: Dict[str, Member] = {}
        if self._at_end():
            return members
        while True:
            key = self._expect(_KEY, "a key")
            if key in members:
                raise StructuredFieldError(f"the member {key} is repeated")
            members[key] = self._member() if self._skip("=") else Item(True, self._params())
            space = self._take(_OPTIONAL_WHITESPACE)
            if self._at_end() and "\t" not in space:
                return members
            if not self._skip(","):
                raise self._unexpected("a comma")
            self._take(_OPTIONAL_WHITESPACE)

    def only_item(self) -> Item:
        item = self._item()
        self._take(_SPACES)
        if self._at_end():
            return item
        raise self._unexpected("the end")

    def _member(self) -> Member:
        return self._inner_list() if self._skip("(") else self._item()

    def _inner_list(self) -> InnerList:
        items: List[Item] = []
        while True:
            spaces = self._take(_SPACES)
            if self._skip(")"):
                return InnerList(items, self._params())
            if items and not spaces:
                raise self._unexpected("a space")
            items.append(self._item())

    def _item(self) -> Item:
        return Item(self._bare_item(), self._params())

    def _params(self) -> Parameters:
        params: Parameters = {}
        while self._skip(";"):
            self._take(_SPACES)
            key = self._expect(_KEY, "a parameter")
            if key in params:
                raise StructuredFieldError(f"the parameter {key} is repeated")
            params[key] = self._bare_item() if self._skip("=") else True
        return params

    def _bare_item(self) -> BareItem:
        first = self._text[self._at : self._at + 1]
        if first == '"':
            text = self._expect(_STRING, "a string")
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if first == ":":
            return decode_base64(self._expect(_BYTES, "a byte sequence")[1:-1])
        if first == "?":
            return self._expect(_BOOLEAN, "?0 or ?1") == "?1"
        if first == "@":
            return Date(self._expect(_DATE, "a date")[1:])
        if first and first in "-0123456789":
            return _number(self._expect(_NUMBER, "a number"))
        return Token(self._expect(_TOKEN, "an item"))

    def _at_end(self) -> bool:
        return self._at == len(self._text)

    def _skip(self, character: str) -> bool:
        if not self._text.startswith(character, self._at):
            return False
        self._at += 1
        return True

    def _take(self, pattern: "re.Pattern[str]") -> str:
        match = pattern.match(self._text, self._at)
        text = match.group() if match else ""
        self._at += len(text)
        return text

    def _expect(self, pattern: "re.Pattern[str]", what: str) -> str:
        text = self._take(pattern)
        if not text:
            raise self._unexpected(what)
        return text

    def _unexpected(self, wanted: str) -> StructuredFieldError:
        return StructuredFieldError(f"{wanted} is expected at offset {self._at}")


def _number(text: str) -> Union[int, float]:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    raise StructuredFieldError("a number has too many digits")


def decode_base64(text: str) -> bytes:
    """Only canonical base64: another spelling of the same bytes would let an intermediary change a signed field.

    :raises StructuredFieldError: if it is not
    """
    try:
        value = base64.b64decode(text, validate=True)
    except ValueError:
        raise StructuredFieldError("a byte sequence is not base64") from None
    if base64.b64encode(value).decode("ascii") != text:
        raise StructuredFieldError("a byte sequence is not canonical base64")
    return value
