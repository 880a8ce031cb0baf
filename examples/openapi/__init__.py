"""A library on loopback, described by an OpenAPI document, whose operations a model is given as tools."""
