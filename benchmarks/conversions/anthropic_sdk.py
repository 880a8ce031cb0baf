"""Anthropic's SDK: the helpers for tools that are functions."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false
# pyright: reportOptionalMemberAccess=false, reportArgumentType=false, reportPrivateUsage=false

from __future__ import annotations

from anthropic import beta_tool, transform_schema

from benchmarks.peers._worker import serve

from ._models import Trip, book_trip
from ._serving import repeated
from ._task import ARGUMENTS

made = beta_tool(book_trip)


if __name__ == "__main__":
    nothing = "it has nothing for this"
    apis = {
        "offer": "beta_tool(function).to_dict()",
        "again": "transform_schema(Trip)",
        "parse": nothing,
        "parse_claude": "beta_tool(function).call, which runs it too",
        "word": nothing,
    }
    measures = {
        "offer": repeated(lambda: beta_tool(book_trip).to_dict()),
        "again": repeated(lambda: transform_schema(Trip)),
        "parse_claude": repeated(lambda: made.call(ARGUMENTS)),
    }
    serve("anthropic", apis, measures)
