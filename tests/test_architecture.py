"""The house rules as tables: what may import what, what stays pure, and where each foreign package lives.

Imports under TYPE_CHECKING count like any other: a type that points upwards is a dependency that points upwards.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

PACKAGE: Final = "armory_trio"
ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / PACKAGE

# ── The tables ───────────────────────────────────────────────────────────────────────────────────────────────────────

RANK: Final = {
    "errors": 0,
    "_on_demand": 0,
    "definitions": 1,
    "abc": 2,
    "content": 2,
    "authority": 3,
    "toolbox": 4,
    "ledger": 4,
    "journal": 4,
    "buckets": 4,
    "engine": 5,
    "storage": 6,
    "middleware": 6,
    "composition": 6,
    "providers": 6,
    "kits": 6,
    "observability": 6,
    "integrations": 7,
    "testing": 7,
    "cli": 8,
    "__init__": 9,
    "__main__": 9,
}
"""A room imports only rooms of a lower number. Rooms that are still to come have their place already."""

ORDER: Final = {
    "definitions": (
        "_plurals",
        "_exceptions",
        "_checks",
        "_declared",
        "_value",
        "_identity",
        "_json_values",
        "_careful_json",
        "_strict_json",
        "_sealing",
        "_canonical",
        "_minting",
        "_values",
        "_pending",
        "_content",
        "_call",
        "_reconciling",
        "_retry",
        "_context",
        "_effects",
        "_reading",
        "_definition",
        "_policy",
        "_middleware",
        "_process",
        "_options",
        "_functions",
        "_importable",
        "_docstring",
        "_arguments",
        "_outputs",
        "contracts/_calling",
        "contracts/_fitting",
        "contracts/_library",
        "contracts/_document",
        "contracts/_circles",
        "contracts/_loops",
        "contracts/_bounds",
        "contracts/_issues",
        "contracts/_explaining",
        "contracts/_compiled",
        "contracts/_refusals",
        "contracts/_limits",
        "contracts/_forms",
        "contracts/_markers",
        "contracts/_choices",
        "contracts/_writing",
        "contracts/_scalars",
        "contracts/_shapes",
        "contracts/_pydantic",
        "contracts/_objects",
        "contracts/_cattrs",
        "contracts/_typed",
        "contracts/_json_schema",
        "contracts/_pairs",
        "contracts/_results",
        "contracts/_hints",
        "contracts/_annotations",
        "contracts/_signature",
        "contracts/__init__",
        "_digests",
        "_wire",
        "_tool",
        "_lazy",
        "_with_context",
        "_building",
        "_making",
        "_builder",
        "_executable",
    ),
    "authority": (
        "_loops",
        "_actions",
        "_verdict",
        "_gates",
        "_capability",
        "_headless",
        "_judging",
        "policy/__init__",
        "_keys",
        "_signing",
        "signing/_key_file",
        "signing/__init__",
        "_revisions",
        "_clock",
        "_approvals",
        "_approval_store",
        "approvals/__init__",
        "_grants",
        "_grant_store",
        "grants/__init__",
    ),
    "ledger": (
        "_attempts",
        "_operations",
        "_asked",
        "_rules",
        "_store",
        "_memory",
        "_keys",
        "_receipts",
        "_recovery",
        "_deciding",
    ),
    "engine": (
        "_lifecycle",
        "_projection",
        "_bound",
        "_permits",
        "_concurrency",
        "_copies",
        "keeping/__init__",
        "keeping/_retelling",
        "_journal",
        "_keywords",
        "_authority",
        "_options",
        "_loading",
        "_plan",
        "capacity/_claims",
        "capacity/_agenda",
        "capacity/_loans",
        "capacity/_reservations",
        "capacity/_resources",
        "capacity/_waitgraph",
        "capacity/_dispatch",
        "capacity/_foresight",
        "capacity/_planner",
        "capacity/__init__",
        "keeping/_refusals",
        "keeping/_line",
        "keeping/_entries",
        "keeping/_ledger",
        "_passing",
        "_timers",
        "_events",
        "_feed",
        "_probes",
        "_subscriptions",
        "_replay",
        "_recording",
        "_roles",
        "_core",
        "_execution",
        "_streams",
        "_failures",
        "_results",
        "_waits",
        "_settlement",
        "_abort",
        "_elicitation",
        "_approving",
        "_granting",
        "_spending",
        "_shown",
        "_authorize",
        "_tool_actions",
        "_tool_context",
        "_plans",
        "_room",
        "keeping/_following",
        "keeping/_recorded",
        "keeping/_deciding",
        "keeping/_claiming",
        "_admission",
        "_resumption",
        "placement/_placed",
        "placement/_thread",
        "placement/_frames",
        "placement/_failures",
        "placement/_lookup",
        "placement/_channel",
        "placement/_remote_context",
        "placement/_group",
        "placement/_worker",
        "placement/_process",
        "placement/_crossing",
        "placement/_pool",
        "placement/_conversation",
        "placement/_process_body",
        "placement/_placing",
        "placement/__init__",
        "_chunks",
        "_onion",
        "keeping/_concluding",
        "_actor",
        "_joining",
        "_handle",
        "_batch",
        "_door",
        "_signals",
        "_shutdown",
        "_views",
        "_exchange",
        "_approvals",
        "_supervisor",
        "_opening",
        "_serving",
    ),
    "providers": (
        "_text",
        "_json_kinds",
        "_arguments",
        "_message",
        "_doors",
        "_declined",
        "_turn",
        "_broken_off",
        "_detect",
        "_blocks",
        "_partial_json",
        "_assembly_paths",
        "_assembly_news",
        "_assembly_calls",
        "_assembly_match",
        "_assembly",
        "_assembly_anthropic",
        "_assembly_gemini",
        "anthropic",
        "gemini",
        "_openai_chat",
        "_openai_responses",
        "_assembly_chat",
        "_assembly_responses",
        "openai",
        "_names",
        "_dialects",
        "_history_parts",
        "_history_characters",
        "_history_layouts",
        "_history_plan",
        "_history_known",
        "_history",
        "_history_extend",
        "_importing",
        "_loss",
        "_references",
        "_normal",
        "_conjuncts",
        "_strictness",
        "_fits",
        "_codings",
        "_alternatives",
        "_page",
        "_containers",
        "_compiling",
        "_roots",
        "_verbatim",
        "_forms",
        "_manifest",
    ),
}
"""In these rooms a module imports only modules that stand before it."""

PURE: Final = (
    "definitions",
    "authority",
    "toolbox",
    "ledger",
    "engine/_bound",
    "journal",
    "buckets",
    "engine/_lifecycle",
    "engine/_projection",
    "engine/capacity",
)
"""Rules without trio, clock or input and output: they import none of `IMPURE`, nor a module of ours that may."""

IMPURE: Final = ("trio", "time", "socket", "subprocess", "threading", "asyncio", "anyio", "signal")

LOCKS: Final = ("definitions/contracts/_explaining", "toolbox/_live")
"""Pure modules that may use `threading`, for a lock around what several threads may set."""

CLOCKS: Final = ("authority/_approval_store", "authority/_grant_store", "ledger/_memory")
"""Pure modules that may use `time`: a store's clock is wall time when it is given no other."""

PURE_BUT: Final = {"threading": LOCKS, "time": CLOCKS}
"""The exceptions among the pure modules, by what they may import."""

CORE: Final = ("attrs", "msgspec", "outcome", "structlog", "trio", "typing_extensions")
"""The foreign packages that any room may use (but for the pure ones, which leave trio alone)."""

NEVER_INSTALLED: Final = ("_typeshed", "annotationlib")
"""What only the checkers know, and what the standard library has only from a later Python on."""

ASYNCIO_HOMES: Final = (
    "integrations/_asyncio_handles",
    "integrations/_guest",
    "integrations/_turns",
    "integrations/langchain",
)
"""The only modules that may use asyncio: those that stand on the other side of the bridge."""

LEAVES: Final = {
    "agents": ("integrations/openai_agents",),
    "anthropic": ("providers/anthropic",),
    "anyio": ("integrations/mcp",),
    "cattrs": ("definitions",),
    "claude_agent_sdk": ("integrations/claude_agent",),
    "click": ("cli",),
    "google": ("providers/gemini",),
    "httpx2": ("integrations/mcp", "integrations/openapi"),
    "hypercorn": ("integrations/mcp",),
    "jsonschema_rs": ("definitions", "providers/_fits"),
    "langchain_core": ("integrations/langchain",),
    "mcp": ("integrations/claude_agent", "integrations/mcp"),
    "mcp_types": ("integrations/mcp",),
    "numpy": ("toolbox/search",),
    "openai": ("providers/openai",),
    "opentelemetry": ("observability",),
    "psycopg": ("storage",),
    "pydantic": ("definitions", "integrations/langchain", "integrations/mcp"),
    "pydantic_ai": ("integrations/pydantic_ai",),
    "rapidfuzz": ("toolbox/search",),
    "re2": ("kits/coding",),
    "rich": ("cli",),
    "sqlalchemy": ("storage",),
    "starlette": ("integrations/mcp",),
    "yaml": ("integrations/openapi",),
}
"""Every other foreign package, and the only places that may import it: a room, a folder or a module."""

LOWLEVEL_ANYWHERE: Final = ("checkpoint", "checkpoint_if_cancelled", "cancel_shielded_checkpoint")
LOWLEVEL_HOMES: Final = (
    "cli/_top_tty",
    "engine/_concurrency",
    "integrations/_guest",
    "integrations/_thread_side",
    "integrations/mcp/client/_process",
    "integrations/mcp/server/_pipes",
)
"""What every module may use of `trio.lowlevel`, and those that may use the rest: the primitives that trio lacks, the two
ways to run trio inside of something else, the terminal and the standard streams that are waited for, and a child process
with three pipes."""

ANY_HOMES: Final = ("content/_codec", "definitions/contracts")
"""Where values of unknown type are taken apart; everywhere else it is `object`, which must be narrowed."""


class Door(NamedTuple):
    """An import that points upwards and is allowed, because it is made when the function is called."""

    module: str
    functions: tuple[str, ...]
    target: str


DOORS: Final = (
    Door("toolbox/_toolbox", ("Toolbox.execute",), "engine"),
    Door("definitions/_tool", ("Tool.__call__", "Tool.call"), "engine"),
    Door("definitions/_lazy", ("LazyBody.load",), "engine"),
    Door("toolbox/_toolbox", ("Toolbox.to_*",), "providers"),
    Door("toolbox/_importing", ("ImportsTools.from_*",), "providers"),
)

MODULE_LINES: Final = 400
FUNCTION_LINES: Final = 40
"""More than this and it is two things. A docstring does not count for its function."""

HEAVY: Final = (
    "agents",
    "anthropic",
    "claude_agent_sdk",
    "click",
    "google",
    "httpx2",
    "langchain_core",
    "mcp",
    "numpy",
    "openai",
    "opentelemetry.sdk",
    "psycopg",
    "pydantic",
    "pydantic_ai",
    "rapidfuzz",
    "re2",
    "rich",
    "snowballstemmer",
    "sqlalchemy",
    "yaml",
)
"""What no name of `armory_trio` must load: who does not use a leaf does not pay for it."""

# ── Reading the sources ──────────────────────────────────────────────────────────────────────────────────────────────


class Import(NamedTuple):
    """One module that a module imports."""

    module: str
    """The importing module: ``engine/_actor``; a room's own ``__init__`` is ``engine/__init__``."""

    target: str
    """What it imports, dotted and absolute: ``armory_trio.errors``, ``trio.lowlevel``."""

    function: str
    """The function that it happens in, as ``Class.method``; empty at the top of the module."""

    line: int

    @property
    def place(self) -> str:
        return f"{self.module}.py:{self.line} imports {self.target}"

    @property
    def room(self) -> str:
        return self.module.partition("/")[0]

    @property
    def distribution(self) -> str:
        return self.target.partition(".")[0]

    @property
    def own(self) -> tuple[str, ...] | None:
        """The path inside the package, ``("engine", "_actor")``, or None for a foreign import."""
        first, *rest = self.target.split(".")
        return (tuple(rest) or ("__init__",)) if first == PACKAGE else None


class _Reader(ast.NodeVisitor):
    def __init__(self, module: str, exists: Iterable[str]) -> None:
        self.module = module
        self.modules = frozenset(exists)
        self.found: list[Import] = []
        self._classes: list[str] = []
        self._functions: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._classes.append(node.name)
        self.generic_visit(node)
        self._classes.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._functions.append(".".join([*self._classes, node.name]))
        self.generic_visit(node)
        self._functions.pop()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            folders = [PACKAGE, *self.module.split("/")][: -node.level]
            base = ".".join([*folders, *filter(None, [node.module])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            # `from . import _actor` imports a module, `from ._actor import run` a name of one.
            self._add(inner if inner in self.modules or base == "trio" else base, node.lineno)

    def _add(self, target: str, line: int) -> None:
        self.found.append(Import(self.module, target, self._functions[0] if self._functions else "", line))


def imports_of(module: str, source: str, *, modules: Iterable[str] = ()) -> list[Import]:
    """What *source* imports, as the module *module*; *modules* are the dotted names that exist in the package."""
    reader = _Reader(module, modules)
    reader.visit(ast.parse(source))
    return list(dict.fromkeys(reader.found))


def _files() -> dict[str, Path]:
    return {path.relative_to(SOURCE).with_suffix("").as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}


def _dotted(module: str) -> str:
    return ".".join([PACKAGE, *module.removesuffix("__init__").strip("/").split("/")]).rstrip(".")


FILES: Final = _files()
MODULES: Final = frozenset(map(_dotted, FILES))
IMPORTS: Final = [
    found
    for module, path in FILES.items()
    for found in imports_of(module, path.read_text(encoding="utf-8"), modules=MODULES)
]

# ── The rules, each a function from imports to those that break it ───────────────────────────────────────────────────


def _within(module: str, places: Iterable[str]) -> bool:
    return any(module == place or module.startswith(f"{place}/") for place in places)


def _through_a_door(found: Import, room: str) -> bool:
    return any(
        found.module == door.module
        and room == door.target
        and any(
            found.function == name or (name.endswith("*") and found.function.startswith(name[:-1]))
            for name in door.functions
        )
        for door in DOORS
    )


def upward(imports: Iterable[Import]) -> Iterator[str]:
    """Imports of another room that does not lie lower."""
    for found in imports:
        if found.own is None or found.own[0] == found.room:
            continue
        if RANK[found.own[0]] >= RANK[found.room] and not _through_a_door(found, found.own[0]):
            yield found.place


def out_of_order(imports: Iterable[Import]) -> Iterator[str]:
    """Imports of a module of the same room that does not stand earlier in `ORDER`."""
    for found in imports:
        if found.own is None or found.own[0] != found.room or found.room not in ORDER:
            continue
        order = (*ORDER[found.room], "__init__")
        importing = found.module.partition("/")[2]
        imported = "/".join(found.own[1:])
        if imported not in order:
            imported = f"{imported}/__init__".lstrip("/")  # a folder, or the room itself
        if importing not in order or imported not in order[: order.index(importing)]:
            yield found.place


def impure(imports: Iterable[Import]) -> Iterator[str]:
    """Imports with which a pure module would not be pure."""
    for found in imports:
        if not _within(found.module, PURE) or _through_a_door(found, (found.own or ("",))[0]):
            continue
        if found.own is None:
            if found.distribution in IMPURE and found.module not in PURE_BUT.get(found.distribution, ()):
                yield found.place
        elif found.own[0] == "engine" and not _within("/".join(found.own), PURE):
            yield found.place


def homeless(imports: Iterable[Import]) -> Iterator[str]:
    """Imports of a foreign package outside its leaf."""
    for found in imports:
        if found.own is not None or found.distribution in {*sys.stdlib_module_names, *CORE, *NEVER_INSTALLED}:
            continue
        if not _within(found.module, LEAVES.get(found.distribution, ())):
            yield found.place


def asyncio_astray(imports: Iterable[Import]) -> Iterator[str]:
    """Imports of asyncio outside its homes."""
    for found in imports:
        if found.distribution == "asyncio" and not _within(found.module, ASYNCIO_HOMES):
            yield found.place


def lowlevel_of(module: str, source: str) -> Iterator[str]:
    """Uses of `trio.lowlevel` that only its homes may have."""
    if module in LOWLEVEL_HOMES:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "trio.lowlevel":
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom) and node.module == "trio.lowlevel":
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "trio":
            names = [alias.name for alias in node.names if alias.name == "lowlevel"]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name == "trio.lowlevel"]
        else:
            continue
        for name in names:
            if name not in LOWLEVEL_ANYWHERE:
                yield f"{module}.py:{node.lineno} uses trio.lowlevel ({name})"


def _says_any(annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    return any(
        (isinstance(node, ast.Name) and node.id == "Any") or (isinstance(node, ast.Attribute) and node.attr == "Any")
        for node in ast.walk(annotation)
    )


def uses_of_any(module: str, source: str) -> Iterator[str]:
    """Where *source* declares something as `Any`. To compare with it, as a reader of annotations must, is no such use."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign):
            declared = node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            declared = node.returns
        elif isinstance(node, ast.ImportFrom) and any(alias.name == "Any" for alias in node.names):
            yield f"{module}.py:{node.lineno} imports Any"
            continue
        else:
            continue
        if declared is not None and _says_any(declared):
            yield f"{module}.py:{declared.lineno} declares {ast.unparse(declared)}"


def too_long(module: str, source: str) -> Iterator[str]:
    """The module, and those of its functions, that have grown past their bound."""
    length = len(source.splitlines())
    if length > MODULE_LINES:
        yield f"{module}.py has {length} lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = node.body[0] if ast.get_docstring(node) is not None else None
            lines = _lines_of(node) - (_lines_of(docstring) if docstring else 0)
            if lines > FUNCTION_LINES:
                yield f"{module}.py:{node.lineno} {node.name} has {lines} lines"


def _lines_of(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


# ── The house keeps them ─────────────────────────────────────────────────────────────────────────────────────────────


def test_every_room_has_a_rank() -> None:
    assert sorted({module.partition("/")[0] for module in FILES} - RANK.keys()) == []


@pytest.mark.parametrize("room", sorted(ORDER))
def test_every_module_of_an_ordered_room_has_its_place(room: str) -> None:
    modules = {path.relative_to(SOURCE / room).with_suffix("").as_posix() for path in (SOURCE / room).rglob("*.py")}

    assert sorted(modules - {*ORDER[room], "__init__"}) == []


def test_rooms_import_only_lower_rooms() -> None:
    assert list(upward(IMPORTS)) == []


def test_modules_of_an_ordered_room_import_only_earlier_ones() -> None:
    assert list(out_of_order(IMPORTS)) == []


def test_pure_modules_stay_pure() -> None:
    assert list(impure(IMPORTS)) == []


def test_foreign_packages_are_imported_only_in_their_leaf() -> None:
    assert list(homeless(IMPORTS)) == []


def test_only_its_homes_use_asyncio() -> None:
    assert list(asyncio_astray(IMPORTS)) == []


def test_only_its_homes_use_trios_low_level_beyond_checkpoints() -> None:
    assert [use for module, path in FILES.items() for use in lowlevel_of(module, path.read_text("utf-8"))] == []


def test_any_is_declared_only_where_values_are_taken_apart() -> None:
    uses = [
        use
        for module, path in FILES.items()
        if not _within(module, ANY_HOMES)
        for use in uses_of_any(module, path.read_text(encoding="utf-8"))
    ]

    assert uses == []


def test_modules_and_functions_keep_their_size() -> None:
    assert [told for module, path in FILES.items() for told in too_long(module, path.read_text("utf-8"))] == []


def test_implementation_modules_of_the_inner_rooms_are_private() -> None:
    inner = [module for module in FILES if module.startswith(("definitions/", "authority/", "toolbox/", "engine/"))]

    assert [module for module in inner if not module.rpartition("/")[2].startswith("_")] == []


def test_importing_the_package_and_every_name_that_it_offers_loads_no_leaf() -> None:
    program = f"import json, sys, {PACKAGE} as face; [getattr(face, name) for name in dir(face)]; print(json.dumps(sorted(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded: list[str] = json.loads(ended.stdout)

    assert PACKAGE in loaded
    assert [
        name for name in loaded if _within(name.replace(".", "/"), (heavy.replace(".", "/") for heavy in HEAVY))
    ] == []


# ── And the rules can be broken ──────────────────────────────────────────────────────────────────────────────────────


def _broken(module: str, source: str) -> list[str]:
    found = imports_of(
        module, source, modules={"armory_trio.engine", "armory_trio.engine._actor", "armory_trio.errors"}
    )
    astray = [*homeless(found), *asyncio_astray(found)]
    return [*upward(found), *out_of_order(found), *impure(found), *astray, *lowlevel_of(module, source)]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("toolbox/_query", "from ..engine import open_supervisor", id="relative, upwards"),
        pytest.param("toolbox/_query", "from .. import engine", id="a room by name"),
        pytest.param("toolbox/_query", "import armory_trio.engine._actor", id="absolute"),
        pytest.param("toolbox/_query", "from armory_trio import Toolbox", id="the public face, from inside"),
        pytest.param("toolbox/_query", "from ..ledger import Ledger", id="a room of the same number"),
        pytest.param("toolbox/_query", "def f():\n    from ..engine import x", id="late, and no door"),
        pytest.param("toolbox/_toolbox", "from ..engine import x", id="a door's module, at its top"),
        pytest.param("toolbox/_toolbox", "if TYPE_CHECKING:\n    from ..engine import x", id="for types only"),
        pytest.param(
            "toolbox/_toolbox",
            "class Toolbox:\n    def run(self):\n        from ..engine import x",
            id="not that method",
        ),
        pytest.param("engine/capacity/_planner", "from .. import _actor", id="a later module"),
        pytest.param("engine/capacity/_planner", "from .._concurrency import Alarm", id="an impure module"),
        pytest.param("engine/capacity/_planner", "import trio", id="trio in a pure module"),
        pytest.param("definitions/_call", "import time", id="a clock in a pure module"),
        pytest.param("toolbox/_toolbox", "from threading import Lock", id="threads in a pure module"),
        pytest.param("toolbox/_live", "import time", id="a clock where only a lock is needed"),
        pytest.param("definitions/_identity", "from ._call import ToolCall", id="a later definition"),
        pytest.param("engine/_actor", "import pydantic", id="a foreign package outside its leaf"),
        pytest.param("engine/_actor", "import pandas", id="a foreign package without a leaf"),
        pytest.param("engine/_actor", "def f():\n    from asyncio import sleep", id="asyncio outside its homes"),
        pytest.param("engine/_actor", "trio.lowlevel.spawn_system_task(f)", id="low level, by attribute"),
        pytest.param("engine/_actor", "from trio.lowlevel import ParkingLot", id="low level, by name"),
        pytest.param("engine/_actor", "from trio import lowlevel", id="low level, whole"),
    ],
)
def test_a_breach_is_seen(module: str, source: str) -> None:
    assert _broken(module, source) != []


def test_what_has_grown_too_long_is_seen() -> None:
    docstring = '    """One.' + "\n" * 60 + '    """\n'
    fitting = "def f():\n" + docstring + "    x = 1\n" * 39
    growing = "async def g():\n" + "    x = 1\n" * 40

    assert list(too_long("a", fitting)) == []
    assert list(too_long("a", growing)) == ["a.py:1 g has 41 lines"]
    assert list(too_long("a", "x = 1\n" * 401)) == ["a.py has 401 lines"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from typing import Any, Final", True),
        ("def f(x: dict[str, typing.Any]) -> int: ...", True),
        ("def f(x: object) -> 'list[Any]': ...", True),
        ("x: typing.Any = 1", True),
        ("if annotation is typing.Any: pass", False),
        ("x: Annotated[str, 'Any of these'] = 1", False),
    ],
)
def test_a_declared_any_is_seen(source: str, *, found: bool) -> None:
    assert bool(list(uses_of_any("engine/_actor", source))) is found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("toolbox/_query", "from ..definitions import Tool\nfrom .. import errors", id="downwards"),
        pytest.param("toolbox/_query", "from ._toolbox import Toolbox", id="a room without an order"),
        pytest.param(
            "toolbox/_toolbox",
            "class Toolbox:\n    async def execute(self):\n        from ..engine import x",
            id="door",
        ),
        pytest.param(
            "toolbox/_toolbox",
            "class Toolbox:\n    def to_openai(self):\n        from ..providers import x",
            id="doors",
        ),
        pytest.param(
            "definitions/_tool", "class Tool:\n    def call(self):\n        from ..engine import x", id="a tool's door"
        ),
        pytest.param("engine/_actor", "import trio, attrs, json\nfrom trio.lowlevel import checkpoint", id="core"),
        pytest.param("engine/_supervisor", "from . import _actor\nfrom ._timers import Timers", id="earlier modules"),
        pytest.param("engine/__init__", "from ._supervisor import Supervisor as Supervisor", id="a room's face"),
        pytest.param("engine/_concurrency", "import trio.lowlevel", id="the home of the low level"),
        pytest.param("toolbox/_live", "from threading import RLock", id="a lock where one is needed"),
        pytest.param("authority/_grant_store", "import time", id="the clock of a store"),
        pytest.param("cli/_run", "import click, rich.console", id="a leaf"),
        pytest.param("integrations/_guest", "import asyncio", id="a home of asyncio"),
        pytest.param("__init__", "from .engine import open_supervisor", id="the public face"),
    ],
)
def test_what_the_house_allows_is_no_breach(module: str, source: str) -> None:
    assert _broken(module, source) == []
