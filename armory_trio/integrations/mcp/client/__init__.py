"""A client of the Model Context Protocol: the tools of a server as tools of ours, on trio."""

from __future__ import annotations

from .._meta import IDEMPOTENCY_KEY as IDEMPOTENCY_KEY
from ._catalogue import Listed as Listed
from ._catalogue import SetAside as SetAside
from ._connection import Connection as Connection
from ._errors import ConnectionFailed as ConnectionFailed
from ._oauth import OAuth as OAuth
from ._opening import ConnectionOptions as ConnectionOptions
from ._opening import open_mcp as open_mcp
from ._options import Reconnect as Reconnect
from ._owner import State as State
from ._servers import SAFE_ENVIRONMENT as SAFE_ENVIRONMENT
from ._servers import HttpServer as HttpServer
from ._servers import InMemoryServer as InMemoryServer
from ._servers import StdioServer as StdioServer
from ._tokens import FileTokenStorage as FileTokenStorage
from ._tokens import MemoryTokenStorage as MemoryTokenStorage
from ._tokens import TokenStorage as TokenStorage
