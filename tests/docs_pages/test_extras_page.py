"""The page about extras tells the truth about what has to be installed for what."""

from __future__ import annotations

import pytest

from tests.docs_pages.extras_page import PAGE, declared, failing_with, hidden_without, installed_with, redrawn


def test_the_page_shows_what_is_declared_and_what_each_module_needs() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert redrawn(page) == page, "it is stale: run `python -m tests.docs_pages.extras_page`"


def test_the_plain_package_brings_nothing_that_only_some_need() -> None:
    heavy = {
        "anthropic",
        "openai",
        "google-genai",
        "mcp",
        "pydantic",
        "sqlalchemy",
        "numpy",
        "opentelemetry-sdk",
        "click",
    }

    assert installed_with() & heavy == set()
    assert installed_with("cli") & heavy == {"click"}
    assert {"trio", "msgspec", "attrs"} <= installed_with()


def test_what_was_not_installed_is_hidden() -> None:
    assert {"sqlalchemy", "openai"} <= set(hidden_without([]))
    assert "sqlalchemy" not in hidden_without(["sql"])

    assert "sqlalchemy" in failing_with(modules=["armory_trio.storage.sql"])["armory_trio.storage.sql"]
    assert failing_with("sql", modules=["armory_trio.storage.sql"]) == {}


def test_a_page_without_the_tables_is_refused() -> None:
    with pytest.raises(ValueError, match="0 tables"):
        redrawn("# Nothing\n")


def test_every_extra_is_found_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert [extra for extra in declared() if extra and f"`{extra}`" not in page and extra != "all"] == []
