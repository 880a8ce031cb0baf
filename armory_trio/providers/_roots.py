"""The root of a contract: an object whose members are the arguments, in every dialect."""

from __future__ import annotations

from typing import Final

from ..toolbox._offering import Loss
from ._codings import Coding, Inside
from ._compiling import Compiler
from ._conjuncts import gather
from ._dialects import Rules
from ._loss import NotSayable
from ._normal import Normal, Properties
from ._page import Page
from ._references import At, Branches, Schema

__all__ = ("WRAPPER", "flattened", "root_of", "written")

WRAPPER: Final = "input"
"""The only argument of a tool whose arguments can't stand side by side in the dialect."""

_DEEPEST: Final = 6
"""Unions inside of unions at the root that are laid over one another."""


def root_of(page: Page) -> Normal:
    """What the contract says of the arguments as a whole.

    Raises:
        NotSayable: Nothing is legal.
    """
    conjuncts = (page.book.root, At({"type": "object"}, "#"))
    normal = gather(conjuncts, page.book, ("#",), keeps=page.rules.keeps or page.rules.whole)
    if normal.impossible is not None:
        raise NotSayable(normal.impossible, "nothing is legal here")
    return normal


def flattened(normal: Normal, page: Page, depth: int = 0) -> Normal:
    """*normal* without unions: each of its members is whatever it may be in one of the alternatives."""
    if not normal.unions:
        return normal
    union, base = normal.unions[0], normal.rest(normal.unions[0])
    gathered = [gather((*option, *base), page.book, normal.stack, keeps=True) for option in union.options]
    branches = [branch for branch in gathered if branch.impossible is None]
    if not branches or depth > _DEEPEST:
        raise NotSayable(union.pointer, "no alternative is legal" if not branches else "too many unions in one another")
    branches = [flattened(branch, page, depth + 1) for branch in branches]
    found = Normal(normal.conjuncts, normal.stack, frozenset(("object",)))
    found.notes, found.limits, found.losses = normal.notes, normal.limits, normal.losses
    found.losses.append(
        Loss(union.pointer, union.keyword, "widened", "the alternatives are laid over one another at the root")
    )
    found.losses += (loss for branch in branches for loss in branch.losses if loss not in found.losses)
    found.required = {
        name: where for name, where in branches[0].required.items() if all(name in each.required for each in branches)
    }
    if all(branch.closed is not None for branch in branches):
        found.closed = branches[0].closed
    _lay_over(found, branches, union.pointer)
    return found


def _lay_over(found: Normal, branches: list[Normal], pointer: str) -> None:
    known = [branch.properties() for branch in branches]
    others = [branch.others() for branch in branches]
    named: dict[str, At] = {}
    for name in dict.fromkeys(name for each in known for name in each):
        options: list[tuple[At, ...]] = []
        for properties, rest in zip(known, others, strict=True):
            said = properties.get(name, rest or ())
            if said and said not in options:
                options.append(said)
        single = options[0][0] if len(options) == 1 and len(options[0]) == 1 else None
        named[name] = single or At(Branches(tuple(options)), pointer)
    behind = tuple(each for each in others if each and any(at.schema is not False for at in each))
    found.objects = [Properties(named, (), At(Branches(behind), pointer) if behind else None)]


def written(root: Schema, rules: Rules) -> tuple[dict[str, object], Coding | None, list[Loss]]:
    """The schema of the arguments in a dialect, how they are written, and what is lost.

    Raises:
        NotSayable: The dialect can't say it.
    """
    compiler = Compiler(root, rules)
    normal = root_of(compiler)
    if normal.unions and not rules.wraps:
        normal = flattened(normal, compiler)
    if not rules.empty and normal.closed is not None and not _has_members(normal):
        compiler.losses += normal.losses
        compiler.lose(normal.closed, "additionalProperties", "dropped", "no dialect word closes an object")
        schema: dict[str, object] = {"type": compiler.kind("object"), "properties": {}}
        return schema, None, compiler.losses
    said = compiler.written(normal, 0)
    if said.word == "none":
        raise NotSayable("#", "nothing is legal here")
    schema, coding = said.wire, said.coding
    if str(schema.get("type", "")).lower() != "object":
        schema, coding = _wrapped(schema, coding, compiler)
    schema = {"type": schema["type"], "properties": {}, **schema}
    compiler.settle()
    if compiler.definitions:
        schema = {**schema, "$defs": compiler.definitions}
    losses = list(dict.fromkeys(compiler.losses))
    return schema, coding, losses


def _has_members(normal: Normal) -> bool:
    others = normal.others()
    is_open = others is not None and any(at.schema is not False for at in others)
    return is_open or bool(normal.properties()) or bool(normal.required)


def _wrapped(schema: dict[str, object], coding: Coding | None, page: Page) -> tuple[dict[str, object], Coding]:
    page.lose("#", "type", "encoded", f"all arguments are the members of the one argument {WRAPPER!r}")
    outer: dict[str, object] = {"type": page.kind("object"), "properties": {WRAPPER: schema}, "required": [WRAPPER]}
    if page.rules.closable:
        outer["additionalProperties"] = False
    return outer, Inside(WRAPPER, coding)
