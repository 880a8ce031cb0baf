"""The Model Context Protocol, on trio: `client` brings a server's tools in."""
