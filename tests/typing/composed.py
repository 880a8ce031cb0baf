"""What type checkers make of composed tools. Nothing here runs: `test_typing` has both checkers read it."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import assert_type

from armory_trio import Tool, Toolbox, ToolContext, tool
from armory_trio.composition import bind, parallel, pipe, postprocess, preprocess, retry, tap, when


@tool
async def parse(text: str) -> int:
    return int(text)


@tool
async def double(n: int) -> int:
    return n * 2


@tool
async def spell(n: int, language: str = "en") -> str:
    return f"{n} in {language}"


def in_words(value: int) -> str:
    return str(value)


async def later(value: int, ctx: ToolContext) -> bytes:
    return f"{value} {ctx.tool_name}".encode()


async def pipes_take_what_the_first_takes_and_answer_what_the_last_answers() -> None:
    assert_type(await pipe(parse, double)("1"), int)
    assert_type(await pipe(parse, double, spell)(text="1"), str)
    assert_type(await pipe(parse, *[double, double], spell)("1"), str)
    assert_type(await pipe(parse, double, double, double, double, double, double, double, spell)("1"), str)
    await pipe(parse, spell)(1)  # type: ignore[arg-type]
    await pipe(parse, spell)("1", "de")  # type: ignore[call-arg]
    pipe(parse)  # type: ignore[call-arg]
    pipe(parse, in_words)  # type: ignore[arg-type]


async def wrappers_keep_what_they_do_not_change() -> None:
    assert_type(await retry(spell)(1, language="de"), str)
    assert_type(await tap(double, print)(1), int)
    assert_type(await tap(double, spell)(n=1), int)
    assert_type(await bind(spell, {"language": "de"})(1), str)
    assert_type(await preprocess(double, dict)(anything=1), int)
    await retry(spell)("1")  # type: ignore[arg-type]


async def mappers_change_the_value() -> None:
    assert_type(await postprocess(double, in_words)(1), str)
    assert_type(await postprocess(double, later)(1), bytes)
    assert_type(await postprocess(double, lambda value: [value])(1), list[int])
    postprocess(spell, in_words)  # type: ignore[arg-type]


async def several_tools_give_several_types() -> None:
    assert_type(await when(bool, double, spell)(1), int | str)
    assert_type(await when(bool, double)(1), int | dict[str, object])
    assert_type(await parallel(double, double)(1), list[int])
    assert_type(await parallel({"a": double, "b": double})(n=1), dict[str, int])


def composed_tools_go_where_tools_go() -> Toolbox:
    inner: Tool[..., object] = pipe(parse, double)
    return Toolbox(
        [inner, pipe(inner, spell), tap(double, in_words), parallel(double, spell), when(bool, inner, spell)]
    )
