"""Build the documentation as a site: the pages of docs/, the README in front, and a reference from the docstrings.

The pages are written for whoever reads them in the repository, so nothing in them speaks of the site. They are staged in
build/site/source together with what only the site needs, and Sphinx makes build/site/html of that. Whatever Sphinx warns
of, a page that no list names or a link that leads nowhere, ends the build.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from sphinx.cmd.build import main as sphinx_build
from sphinx.pycode import ModuleAnalyzer

ROOT: Final = Path(__file__).parents[1]
STAGE: Final = ROOT / "build" / "site"
PACKAGE: Final = "armory_trio"
BESIDE: Final = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages that the README leads to."""
LONGEST: Final = 300
"""Characters of a value that the reference shows."""

CONFIGURATION: Final = """\
project = "armory_trio"
author = "The armory_trio authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.mermaid", "scripts.docs_names"]
html_theme = "furo"
html_title = "armory_trio"
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
default_role = "py:obj"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
"""
"""What Sphinx is told; a file of its own in docs/ would be the only one there that nobody reads."""


def main() -> int:
    """Stage everything and build. Answers Sphinx's exit status."""
    source, html = STAGE / "source", STAGE / "html"
    shutil.rmtree(STAGE, ignore_errors=True)
    stage(source)
    status = sphinx_build(["-b", "html", "-W", "--keep-going", "-q", "-d", f"{STAGE}/trees", f"{source}", f"{html}"])
    if status == 0:
        print(html / "index.html")  # what was asked for
    return status


def stage(source: Path) -> None:
    """Write everything that Sphinx reads to *source*."""
    shutil.copytree(ROOT / "docs", source / "docs")
    shutil.copytree(ROOT / "examples", source / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name in BESIDE:
        shutil.copy(ROOT / name, source)
    (source / "conf.py").write_text(CONFIGURATION, encoding="utf-8")
    modules, examples = list(public_modules()), list(write_examples(source / "examples"))
    front = [
        (ROOT / "README.md").read_text(encoding="utf-8"),
        *toctrees((ROOT / "docs" / "index.md").read_text(encoding="utf-8")),
        toctree("Examples", [f"examples/{name}/index" for name in examples]),
        toctree("Reference", [f"reference/{module}" for module in modules]),
        toctree("The project", [name.removesuffix(".md") for name in BESIDE]),
    ]
    (source / "index.md").write_text("\n".join(front), encoding="utf-8")
    for page in source.glob("docs/*.md"):
        text = page.read_text(encoding="utf-8").replace("](../README.md", "](../index.md")
        page.write_text(re.sub(r"]\((\.\./examples/\w+)\)", r"](\1/index.md)", text), encoding="utf-8")
    write_reference(modules, source / "reference")


def write_examples(directory: Path) -> Iterator[str]:
    """Write a page for each folder of *directory* that holds programs, and answer the names of the folders."""
    for folder in sorted(directory.iterdir()):
        programs = [path.name for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
        if programs:
            shown = [f"## {name}\n\n```{{literalinclude}} {name}\n:language: python\n```\n" for name in programs]
            page = "\n".join([f"# {folder.name.replace('_', ' ').capitalize()}\n", *shown])
            (folder / "index.md").write_text(page, encoding="utf-8")
            yield folder.name


def toctrees(index: str) -> Iterator[str]:
    """The pages that docs/index.md lists, under the heading that they stand below there."""
    caption, pages = "Documentation", ["docs/index"]
    for line in index.splitlines():
        if line.startswith("## "):
            yield toctree(caption, pages)
            caption, pages = line.removeprefix("## "), []
        elif found := re.match(r"\| \[[^]]+]\(([\w-]+)\.md\)", line):
            pages.append(f"docs/{found[1]}")
    if pages:
        yield toctree(caption, pages)


def toctree(caption: str, pages: Sequence[str]) -> str:
    """The directive that puts *pages* into the list beside each page."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def public_modules() -> Iterator[str]:
    """The package and every module in it whose name says that it is for users."""
    package = importlib.import_module(PACKAGE)
    yield PACKAGE
    for found in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield found.name


def write_reference(modules: Sequence[str], directory: Path) -> None:
    """Write a page for each of *modules*. What several offer is described where it is offered first."""
    directory.mkdir()
    described: set[tuple[str, str]] = set()
    for name in modules:
        lines = [f"# {name}", "", "```{eval-rst}", f".. automodule:: {name}", "   :no-members:", ""]
        for public, home in offered_by(name):
            if (home, public) not in described:
                described.add((home, public))
                lines.extend(entry(name, public, home))
        (directory / f"{name}.md").write_text("\n".join([*lines, "```", ""]), encoding="utf-8")


def offered_by(name: str) -> Iterator[tuple[str, str]]:
    """The public names of a module, each with the module that defines it."""
    for node in statements_of(tree_of(name).body):
        match node:
            case ast.ImportFrom(level=level) if level:
                source = source_of(name, node)
                again = [alias.name for alias in node.names if alias.asname == alias.name]
                yield from ((public, home_of(public, source)) for public in again)
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() if not node.name.startswith("_"):
                yield node.name, name
            case ast.Assign(targets=[ast.Name(id=public)]) | ast.AnnAssign(target=ast.Name(id=public)) if (
                not public.startswith("_")
            ):
                yield public, name
            case _:
                pass


def statements_of(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, with those for type checkers: names that are imported when somebody asks for them."""
    for node in body:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from node.body
            case _:
                yield node


def home_of(public: str, source: str) -> str:
    """The module that defines what *source* offers as *public*, which may only offer it again."""
    return next((home for name, home in offered_by(source) if name == public), source)


def source_of(name: str, node: ast.ImportFrom) -> str:
    """The full name of the module that *node*, a line of the module *name*, imports from."""
    is_package = Path(importlib.import_module(name).__file__ or "").name == "__init__.py"
    package = name if is_package else name.rpartition(".")[0]
    return importlib.util.resolve_name("." * node.level + (node.module or ""), package)


@cache
def tree_of(name: str) -> ast.Module:
    """The source of a module, parsed."""
    return ast.parse(inspect.getsource(importlib.import_module(name)))


def entry(name: str, public: str, home: str) -> list[str]:
    """The directive that describes what the module *name* offers as *public*.

    Classes and functions speak for themselves; of a value, what is written below it in the module *home* is shown.
    """
    thing: object = getattr(importlib.import_module(name), public)
    path = f"{name}.{public}"
    if isinstance(thing, type):
        return [f".. auto{'exception' if issubclass(thing, BaseException) else 'class'}:: {path}", ""]
    if inspect.isroutine(thing):
        return [f".. autofunction:: {path}", ""]
    told = ModuleAnalyzer.for_module(home).find_attr_docs().get(("", public), [])
    return [f".. py:data:: {path}", *value_of(public, home), "", *(f"   {line}" for line in told), ""]


def value_of(public: str, home: str) -> list[str]:
    """The option that shows what *public* is in its module, unless it is long."""
    for node in tree_of(home).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == public:
                text = ast.unparse(value)
                return [f"   :value: {text}"] if len(text) <= LONGEST else []
            case _:
                pass
    return []


if __name__ == "__main__":
    sys.exit(main())
