"""What several test files share."""

import json
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[2] / "vectors"


def vectors(name):
    """A file of test vectors, which all implementations share."""
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))
