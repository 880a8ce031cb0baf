"""Run a page of the documentation and say where it does not do what it shows.

``python -m tests.docs docs/page.md`` runs the page in the current directory, which should be an empty one. What the
comments before a fenced block mean is written in CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

import msgspec
import trio
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).parents[1]
_DIRECTIVE: Final = re.compile(r"<!--\s*(output|file|raises|exit)\b:?\s*(.*?)\s*-->\s*")
_OURS: Final = re.compile(r"(^|\|\s*)armory-trio\s")
_COMMAND_SECONDS: Final = 120
"""A command of a page that takes longer hangs; those that are meant to be shown take a second."""


class PageError(Exception):
    """The page cannot be read as one that runs, or does not do what it shows."""


class Block(msgspec.Struct, frozen=True):
    """One fenced block."""

    line: int
    """Where its text begins, from 1."""

    language: str
    text: str
    directive: str = ""
    """``output``, ``file``, ``raises``, ``exit``, or nothing."""

    argument: str = ""
    """What follows the word: a file name, an exception's name, an exit status."""


def blocks_of(markdown: str) -> Iterator[Block]:
    """The fenced blocks of a page with the directives before them, in order.

    Raises:
        PageError: A comment before a block is no directive, or a directive has no block.
    """
    comment: Token | None = None
    for token in MarkdownIt("commonmark").parse(markdown):
        if token.type == "fence":
            yield _block(token, comment)
        elif comment is not None and _DIRECTIVE.fullmatch(comment.content.strip()):
            raise PageError(f"line {_line(comment)}: no fenced block follows {comment.content.strip()}")
        comment = token if token.type == "html_block" else None
    if comment is not None and _DIRECTIVE.fullmatch(comment.content.strip()):
        raise PageError(f"line {_line(comment)}: no fenced block follows {comment.content.strip()}")


def _block(token: Token, comment: Token | None) -> Block:
    language = token.info.split()[0] if token.info.strip() else ""
    if comment is None:
        return Block(_line(token) + 1, language, token.content)
    told = _DIRECTIVE.fullmatch(comment.content.strip())
    if told is None:
        known = "output, file: NAME, raises: ERROR, exit: STATUS"
        raise PageError(f"line {_line(comment)}: before a fenced block only these comments have a meaning: {known}")
    return Block(_line(token) + 1, language, token.content, told[1], told[2])


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0


class Page:
    """A page while it runs: one namespace for its Python, and what its last block printed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.printed: str | None = None
        self.module = ModuleType("__main__")

    def run(self) -> None:
        """Run every block in order, in the current directory.

        Raises:
            PageError: The first thing that is not as the page shows it.
        """
        # Annotations and pickles are looked up in the module that a class says it is from.
        sys.modules["__main__"] = self.module
        for block in blocks_of(self.path.read_text(encoding="utf-8")):
            try:
                self._run_block(block)
            except PageError as error:
                raise PageError(f"line {block.line}: {error}") from error

    def _run_block(self, block: Block) -> None:
        if block.directive == "output":
            self._compare(block)
        elif block.directive == "file":
            _write_file(block)
        elif block.language == "python":
            self.printed = self._run_python(block)
        elif block.language == "console":
            self.printed = _run_console(block)
        elif block.directive:
            raise PageError(f"{block.directive} has no meaning before a {block.language or 'plain'} block")

    def _compare(self, block: Block) -> None:
        if self.printed is None:
            raise PageError("no block before this output was run")
        require_same(block.text, self.printed)

    def _run_python(self, block: Block) -> str:
        # Lines before the block make the numbers in a traceback those of the page.
        source = "\n" * (block.line - 1) + block.text
        try:
            code = compile(source, str(self.path), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except SyntaxError as error:
            raise PageError(f"this is not Python: {error}") from error
        wanted = block.argument if block.directive == "raises" else ""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                self._execute(code)
            except Exception as error:
                if type(error).__name__ != wanted:
                    raise PageError(f"it raised\n{''.join(traceback.format_exception(error))}") from error
                print(f"{wanted}: {error}")  # noqa: T201 - this is what the reader would see last
            else:
                if wanted:
                    raise PageError(f"it was to raise {wanted} and did not")
        return printed.getvalue()

    def _execute(self, code: CodeType) -> None:
        if not code.co_flags & inspect.CO_COROUTINE:
            exec(code, vars(self.module))  # noqa: S102 - running the page is what this is for
            return

        async def top_level() -> None:
            await eval(code, vars(self.module))  # noqa: S307 - the same, with an `await` outside of functions

        trio.run(top_level)


def _write_file(block: Block) -> None:
    path = Path(block.argument)
    if not block.argument or path.is_absolute() or ".." in path.parts:
        raise PageError(f"a file needs a name below the page's directory, not {block.argument!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def _run_console(block: Block) -> str | None:
    """Run the commands of ours in *block*; None when it has none, such as how to install."""
    printed: list[str] = []
    for command, shown in _commands(block.text):
        if not _OURS.search(command):
            continue
        ended = subprocess.run(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"},
            encoding="utf-8",
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        status = int(block.argument) if block.directive == "exit" else 0
        if ended.returncode != status:
            raise PageError(
                f"$ {command}\nended with status {ended.returncode}, not {status}, and said\n{ended.stdout}"
            )
        if shown:
            require_same(shown, ended.stdout)
        printed.append(ended.stdout)
    return "".join(printed) if printed else None


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command after a ``$`` and the output that the page shows under it."""
    joined = text.replace("\\\n", "")
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def require_same(shown: str, printed: str) -> None:
    """Compare what the page shows with what was printed; ``...`` stands for anything, spaces at line ends for nothing.

    Raises:
        PageError: They differ.
    """
    pattern = ".*?".join(map(re.escape, _tidy(shown).split("...")))
    if not re.fullmatch(pattern, _tidy(printed), re.DOTALL):
        raise PageError(f"the page shows\n{_tidy(shown)}\nbut this was printed\n{_tidy(printed)}")


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def broken_links(path: Path) -> Iterator[str]:
    """Links to files that are not there, and to headings that the file there does not have."""
    for target in _targets(path.read_text(encoding="utf-8")):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):  # another place in the world
            continue
        name, _, heading = target.partition("#")
        linked = (path.parent / name).resolve() if name else path
        if not linked.is_relative_to(ROOT) or not linked.exists():
            yield f"{target}: there is no such file"
        elif heading and linked.suffix == ".md" and heading not in headings_of(linked.read_text(encoding="utf-8")):
            yield f"{target}: there is no such heading"


def _targets(markdown: str) -> Iterator[str]:
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if isinstance(target, str):
                yield target


def headings_of(markdown: str) -> set[str]:
    """The names by which a link reaches the headings of a page."""
    tokens = MarkdownIt("commonmark").parse(markdown)
    texts = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def main() -> None:
    """Run the page that is named on the command line; say what is wrong with it and exit 1."""
    path = Path(sys.argv[1]).resolve()
    try:
        Page(path).run()
    except PageError as error:
        sys.exit(f"{path}: {error}")


if __name__ == "__main__":
    main()
