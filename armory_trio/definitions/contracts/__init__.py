"""Input contracts: what arguments a tool takes, checked strictly by the same thing that the model is shown.

Made from a function's signature, a class with fields, a JSON Schema, or a caller's own pair of schema and validator.
"""

from __future__ import annotations

from .._arguments import ArgumentIssue, InputContract, InvalidArguments, Invoker, path_text
from ._annotations import context_type, find_context, signature_hint
from ._json_schema import PairValidator, contract_from_pair, contract_from_schema
from ._signature import contract_from_signature
from ._typed import contract_from_type

__all__ = (
    "ArgumentIssue",
    "InputContract",
    "InvalidArguments",
    "Invoker",
    "PairValidator",
    "context_type",
    "contract_from_pair",
    "contract_from_schema",
    "contract_from_signature",
    "contract_from_type",
    "find_context",
    "path_text",
    "signature_hint",
)
