"""What every output contract can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping


class OutputContract(ABC):
    """What a tool promises to give. ``schema`` is JSON Schema 2020-12, deeply immutable."""

    __slots__ = ("schema",)

    schema: Mapping[str, object]

    @abstractmethod
    def validate(self, value: object) -> object:
        """*value* itself, if its JSON form is as promised. An instance of a class is looked into like a dict.

        Raises:
            OutputInvalid: It is not; all that is wrong is listed.
        """

    @abstractmethod
    def dump(self, value: object) -> object:
        """The JSON form of *value*, checked: what a ledger keeps.

        Raises:
            OutputInvalid: It is not as promised.
        """

    @abstractmethod
    def load(self, plain: object) -> object:
        """The Python value of a JSON form that was kept: undoes `dump`. For a JSON Schema it is that form.

        Raises:
            OutputInvalid: It is not as promised.
        """
