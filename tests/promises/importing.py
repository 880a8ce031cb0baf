"""Tools that come in from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "imported-tools.from-provider": Requirement(
        "surroundings 1.5",
        "Tools in a provider's form become a toolbox that checks arguments by their schemas; what runs each is given by a "
        "function, or by another toolbox.",
    ),
    "imported-tools.missing-body": Requirement(
        "surroundings 1.5",
        "A tool without anything that runs it can be imported, and each call of it says what is missing.",
    ),
    "imported-tools.forms": Requirement(
        "surroundings 1.2 to 1.4",
        "One definition or a list, in every form of the provider, decoded or as the SDK's type; what is none is an error "
        "that names the place.",
    ),
}
