"""Who may start, who waits, and who would wait for ever: the one planner. Pure."""

from ._claims import Claim as Claim
from ._planner import Decision as Decision
from ._planner import Granted as Granted
from ._planner import Planner as Planner
from ._planner import Refused as Refused
from ._planner import Waiting as Waiting
from ._waitgraph import CycleEdge as CycleEdge
