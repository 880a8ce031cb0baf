"""A toolbox whose vectors are kept in LanceDB. ``python -m examples.vector_search`` runs it."""
