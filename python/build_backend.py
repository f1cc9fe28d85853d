"""The build backend of this package (PEP 517, PEP 660). It needs only Python, so pip installs the source distribution without a
network. The wheel has the files that tools/published/pack-python.ts writes."""

from __future__ import annotations

import base64
import hashlib
import io
import pathlib
import re
import tarfile
import zipfile
from typing import Any, Dict, List, Optional

_HOME = pathlib.Path(__file__).resolve().parent
_SOURCES = _HOME / "src"
_ABOUT = "Wheel-Version: 1.0\nGenerator: countersign\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None
) -> str:
    return _write_wheel(wheel_directory, _modules())


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None
) -> str:
    return _write_wheel(wheel_directory, {"countersign.pth": f"{_SOURCES}\n".encode("utf-8")})


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    root = f"countersign-{_field('version')}"
    files = {"LICENSE": _licence(), "PKG-INFO": _metadata()}
    for name in ("README.md", "build_backend.py", "pyproject.toml"):
        files[name] = (_HOME / name).read_bytes()
    files.update({f"src/{path}": data for path, data in _modules().items()})
    with tarfile.open(pathlib.Path(sdist_directory, f"{root}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{root}/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return f"{root}.tar.gz"


def _write_wheel(directory: str, contents: Dict[str, bytes]) -> str:
    name = f"countersign-{_field('version')}"
    info = f"{name}.dist-info"
    files = {
        **contents,
        f"{info}/LICENSE": _licence(),
        f"{info}/METADATA": _metadata(),
        f"{info}/WHEEL": _ABOUT.encode("utf-8"),
    }
    rows: List[str] = []
    with zipfile.ZipFile(
        pathlib.Path(directory, f"{name}-py3-none-any.whl"), "w", zipfile.ZIP_DEFLATED
    ) as archive:
        for path, data in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")
            rows.append(f"{path},sha256={digest},{len(data)}\n")
            archive.writestr(path, data)
        archive.writestr(f"{info}/RECORD", f"{''.join(rows)}{info}/RECORD,,\n")
    return f"{name}-py3-none-any.whl"


def _modules() -> Dict[str, bytes]:
    paths = [*_SOURCES.rglob("*.py"), *_SOURCES.rglob("py.typed")]
    return {path.relative_to(_SOURCES).as_posix(): path.read_bytes() for path in sorted(paths)}


def _licence() -> bytes:
    """In the repository it is at the root."""
    own = _HOME / "LICENSE"
    return (own if own.exists() else _HOME.parent / "LICENSE").read_bytes()


def _metadata() -> bytes:
    """Core metadata 2.1 (PEP 566)."""
    manifest = _manifest()
    licence = re.search(r'^license = \{ text = "(.*)" \}$', manifest, re.MULTILINE)
    dependencies = re.search(r"^dependencies = \[(.*)\]$", manifest, re.MULTILINE)
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {_field('name')}",
        f"Version: {_field('version')}",
        f"Summary: {_field('description')}",
        f"License: {licence.group(1) if licence else ''}",
        f"Requires-Python: {_field('requires-python')}",
        *(f"Requires-Dist: {each}" for each in re.findall('"([^"]*)"', dependencies.group(1) if dependencies else "")),
        *_extras(manifest),
        "Description-Content-Type: text/markdown",
    ]
    readme = (_HOME / "README.md").read_bytes()
    return "\n".join(lines).encode("utf-8") + b"\n\n" + readme


def _extras(manifest: str) -> List[str]:
    _, _, section = manifest.partition("\n[project.optional-dependencies]\n")
    lines: List[str] = []
    for name, packages in re.findall(r'^([a-z]+) = \[(.*)\]$', section.partition("\n[")[0], re.MULTILINE):
        lines.append(f"Provides-Extra: {name}")
        lines.extend(f'Requires-Dist: {each}; extra == "{name}"' for each in re.findall('"([^"]*)"', packages))
    return lines


def _field(name: str) -> str:
    """A field of ``[project]``, which has one line. Python before 3.11 has no reader of TOML."""
    match = re.search(f'^{name} = "(.*)"$', _manifest(), re.MULTILINE)
    if match is None:
        raise ValueError(f"pyproject.toml has no {name}")
    return match.group(1)


def _manifest() -> str:
    return (_HOME / "pyproject.toml").read_text("utf-8")
