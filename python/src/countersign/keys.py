"""Private keys of agents: Ed25519, from a file, the environment, PEM or JWK."""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import stat
import uuid
import warnings
from pathlib import Path
from typing import Optional, Union

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from ._ed25519 import base64url, thumbprint
from .errors import CountersignError

# Error codes of file systems without hard links.
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


class AgentKey:
    """An Ed25519 key pair. Nothing but :meth:`to_pem` and :meth:`to_jwk` returns the private key."""

    def __init__(self, private_key: Ed25519PrivateKey) -> None:
        self._private_key = private_key
        self.public_bytes: bytes = private_key.public_key().public_bytes(
            Encoding.Raw, PublicFormat.Raw
        )

    def __repr__(self) -> str:
        return f"<AgentKey {self.thumbprint}>"

    @property
    def public_key(self) -> str:
        """32 bytes in padded standard base64."""
        return base64.b64encode(self.public_bytes).decode("ascii")

    @property
    def thumbprint(self) -> str:
        """The JWK thumbprint (RFC 7638 with SHA-256): 43 characters."""
        return thumbprint(self.public_bytes)

    def sign(self, message: bytes) -> bytes:
        """Signs bytes with pure Ed25519 (RFC 8032). 64 bytes."""
        return self._private_key.sign(message)

    def to_pem(self) -> str:
        """PKCS#8 in PEM, as ``openssl genpkey -algorithm ed25519`` writes it. Secret."""
        pem = self._private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return pem.decode("ascii")

    def to_jwk(self) -> "dict[str, str]":
        """A private JWK (RFC 8037). Secret."""
        seed = self._private_key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        x, d = base64url(self.public_bytes), base64url(seed)
        return {"kty": "OKP", "crv": "Ed25519", "x": x, "d": d}

    @classmethod
    def generate(cls) -> "AgentKey":
        """A new key. Store it as a secret: without it, the owner has to recover the DID."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: str) -> "AgentKey":
        """Loads a key from PEM (PKCS#8).

        :raises CountersignError: ``UNUSABLE_KEY`` if it is not an Ed25519 private key, or is encrypted
        """
        try:
            key = load_pem_private_key(pem.encode("utf-8"), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as cause:
            raise _unusable("This is not a private key in PEM without a password.") from cause
        if not isinstance(key, Ed25519PrivateKey):
            raise _unusable("This is not an Ed25519 key. Make one: openssl genpkey -algorithm ed25519")
        return cls(key)

    @classmethod
    def from_jwk(cls, jwk: "dict[str, str]") -> "AgentKey":
        """Loads a key from a JWK (RFC 8037): ``kty`` OKP, ``crv`` Ed25519, ``x`` and ``d``.

        :raises CountersignError: ``UNUSABLE_KEY`` if it is not an Ed25519 private key, or ``x`` does not belong to ``d``
        """
        if not isinstance(jwk, dict) or jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
            raise _unusable("This is not a private Ed25519 key in JWK (kty OKP, crv Ed25519, x, d).")
        seed = _decode_32(jwk.get("d"))
        if seed is None:
            raise _unusable("This JWK has no private key (d).")
        key = cls(Ed25519PrivateKey.from_private_bytes(seed))
        if jwk.get("x") != base64url(key.public_bytes):
            raise _unusable("In this JWK the public key (x) does not belong to the private one (d).")
        return key

    @classmethod
    def from_text(cls, text: str) -> "AgentKey":
        """Loads a key from PEM, also with ``\\n`` written as two characters, or from a JWK in JSON.

        :raises CountersignError: ``UNUSABLE_KEY``
        """
        trimmed = text.strip()
        if not trimmed.startswith("{"):
            return cls.from_pem(trimmed.replace("\\n", "\n"))
        try:
            jwk = json.loads(trimmed)
        except ValueError:
            raise _unusable("The text starts like a JWK but is not JSON.") from None
        return cls.from_jwk(jwk)

    @classmethod
    def from_environment(cls, name: str) -> "AgentKey":
        """Loads a key from an environment variable, in a form of :meth:`from_text`.

        :raises CountersignError: ``NO_KEY`` if the variable is not set; ``UNUSABLE_KEY``
        """
        text = os.environ.get(name)
        if not text:
            raise CountersignError("NO_KEY", f"The environment variable {name} is not set.")
        return cls.from_text(text)

    @classmethod
    def from_file(
        cls, path: Optional[Union[str, "os.PathLike[str]"]] = None, create: bool = False
    ) -> "AgentKey":
        """Loads a key from a file in PEM.

        :param path: by default that of the command ``countersign``: ``COUNTERSIGN_KEY``, else ``~/.countersign/agent.pem``
        :param create: generate a key if there is no file yet. Of two processes that create it at the same moment, one
            generates the key and both load it
        :raises CountersignError: ``NO_KEY`` if there is no file and none is to be created; ``UNUSABLE_KEY``
        """
        file = default_key_file() if path is None else Path(path)
        try:
            text = file.read_text("utf-8")
        except FileNotFoundError:
            if not create:
                raise CountersignError(
                    "NO_KEY", f"There is no key at {file}. To create one, pass create=True."
                ) from None
            try:
                cls.generate().write_file(file)
            except CountersignError as error:
                if error.code != "KEY_EXISTS":
                    raise
            return cls.from_file(file)
        if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
            warnings.warn(
                f"Other users of this machine can read {file}. Run: chmod 600 {file}", stacklevel=2
            )
        try:
            return cls.from_pem(text)
        except CountersignError as error:
            raise CountersignError(error.code, f"{file}: {error}") from error.__cause__

    def write_file(self, path: Union[str, "os.PathLike[str]"], replace: bool = False) -> None:
        """Writes the key to a file that only its owner can read. It is durable on disk before this returns.

        :raises CountersignError: ``KEY_EXISTS`` if there is a file already, unless ``replace``
        """
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = file.with_name(f"{file.name}.{uuid.uuid4()}")
        try:
            _write_new_file(draft, self.to_pem())
            if replace:
                os.replace(draft, file)
            else:
                _link_new_file(draft, file)
        except FileExistsError:
            raise CountersignError(
                "KEY_EXISTS",
                f"{file} exists, and an agent without its key needs its owner to recover the DID. "
                "Choose another file.",
            ) from None
        finally:
            with contextlib.suppress(FileNotFoundError):
                draft.unlink()
        _sync_directory(file.parent)


def default_key_file() -> Path:
    """``COUNTERSIGN_KEY``, else ``~/.countersign/agent.pem``."""
    named = os.environ.get("COUNTERSIGN_KEY")
    return Path(named) if named else Path.home() / ".countersign" / "agent.pem"


def _link_new_file(draft: Path, file: Path) -> None:
    """Unlike a rename, a link replaces no file; unlike a write in place, nobody ever reads an incomplete key."""
    try:
        os.link(draft, file)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _write_new_file(file, draft.read_text("ascii"))


def _write_new_file(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_directory(path: Path) -> None:
    """A new file name is durable only once its directory is synced. Windows cannot open directories and needs no sync."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _decode_32(text: object) -> Optional[bytes]:
    if not isinstance(text, str) or len(text) != 43:
        return None
    try:
        value = base64.b64decode(text.replace("-", "+").replace("_", "/") + "=", validate=True)
    except ValueError:
        return None
    return value if len(value) == 32 and base64url(value) == text else None


def _unusable(message: str) -> CountersignError:
    return CountersignError("UNUSABLE_KEY", message)
