"""A Sphinx extension: what docstrings name in single backticks leads to its place in the reference."""

from __future__ import annotations

from docutils.nodes import Element, reference
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("missing-reference", lead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def lead(app: Sphinx, env: BuildEnvironment, node: pending_xref, shown: Element) -> reference | None:
    """Where the thing is that *node* calls by its last name or two. Nowhere if it is none of ours."""
    domain = env.get_domain("py")
    assert isinstance(domain, PythonDomain)
    called = f".{node['reftarget']}"
    found = [name for name in domain.objects if name.endswith(called)]
    if not found:
        return None
    name = min(found, key=lambda name: (name.count("."), name))
    place = domain.objects[name]
    return make_refnode(app.builder, node["refdoc"], place.docname, place.node_id, shown, name)
