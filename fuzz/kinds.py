"""The table of kinds: each is one module that draws, runs and shrinks."""

from __future__ import annotations

from . import (
    arguments,
    assignments,
    certificates,
    certified,
    files,
    layouts,
    printed,
    sizes,
    strangers,
    texts,
    values,
)
from .case import Kind

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("texts", texts.draw, texts.run, texts.smaller),
        Kind("assignments", assignments.draw, assignments.run, assignments.smaller, seconds=60.0),
        Kind("printed", printed.draw, printed.run, printed.smaller, seconds=60.0),
        Kind("values", values.draw, values.run, values.smaller, seconds=60.0),
        Kind("certified", certified.draw, certified.run, certified.smaller, seconds=60.0),
        Kind("certificates", certificates.draw, certificates.run, certificates.smaller, seconds=60.0),
        Kind("layouts", layouts.draw, layouts.run, layouts.smaller, seconds=30.0),
        Kind("sizes", sizes.draw, sizes.run, sizes.smaller, seconds=60.0),
        Kind("files", files.draw, files.run, files.smaller, seconds=5.0, megabytes=2048),
        Kind("strangers", strangers.draw, strangers.run, strangers.smaller, seconds=30.0, megabytes=8192),
        Kind("arguments", arguments.draw, arguments.run, arguments.smaller),
    )
}
