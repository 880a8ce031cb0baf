"""Who lacks a package is told which extra brings it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.requirements import requirement

HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
{code}
"""


@requirement("mcp-client.opening", "mcp-server.http", "openapi.documents")
@pytest.mark.parametrize(
    ("package", "code", "extra"),
    [
        ("mcp", "import armory_trio.integrations.mcp.client", "mcp"),
        ("mcp", "import armory_trio.integrations.mcp.server", "mcp"),
        ("httpx2", "import armory_trio.integrations.mcp.client", "mcp"),
        ("hypercorn", "import armory_trio.integrations.mcp.server", "mcp"),
        ("httpx2", "import armory_trio.integrations.openapi", "openapi"),
        ("yaml", "import armory_trio.integrations.openapi", "openapi"),
    ],
    ids=["client", "server", "httpx2", "hypercorn", "openapi", "yaml"],
)
def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(package: str, code: str, extra: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HIDDEN.format(package=package, code=code)], capture_output=True, text=True, check=False
    )
    last = ran.stderr.strip().splitlines()[-1]
    assert f"needs {package}, which is not installed; pip install 'armory-trio[{extra}]'" in last
