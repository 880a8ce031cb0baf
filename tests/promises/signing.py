"""Keys and signatures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "signing.golden": Requirement(
        "design 12, armorer-core 6E", "Signatures are HMAC-SHA256, and what they are made of is laid down to the byte."
    ),
    "signing.canonical": Requirement(
        "design 16.10, armorer-core 6E",
        "Equal documents have one signature; what readers may take differently has none.",
    ),
    "signing.purposes": Requirement(
        "design 12, armorer-core 6E",
        "A signature counts for one purpose and its version, in one domain, by one key.",
        divergence="Elsewhere approvals and grants are signed alike, and told apart by their shape.",
    ),
    "signing.tampering": Requirement(
        "armorer-core 6E", "A changed document, a changed signature and what is no signature are refused."
    ),
    "signing.constant-time": Requirement("armorer-core 6E", "Signatures are compared in constant time."),
    "signing.rotation": Requirement(
        "design 12, armorer-core 6E",
        "One key signs and several verify, so that keys can be exchanged.",
        divergence="Elsewhere there is one secret.",
    ),
    "signing.domains": Requirement("design 12", "Keys are found by security domain and id, both."),
    "signing.resolver": Requirement(
        "design 12", "A resolver may answer later; what it answers is looked at before it is used."
    ),
    "signing.text": Requirement("design 12", "A signature is one line that names its key, and can be read back."),
    "signing.secret": Requirement(
        "design 12, armorer-core 2D",
        "The bytes of a key are in no attribute, text, pickle, copy, log or JSON of any object.",
    ),
    "signing.file": Requirement(
        "design 12",
        "Keys are read from a file that only its owner has rights on; what is wrong is said without a secret.",
    ),
    "signing.settings": Requirement("design 5", "Wrong keys, rings, purposes and domains say so, and quote no secret."),
}
