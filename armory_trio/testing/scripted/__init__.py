"""Models that say what a script says, in the form of each provider."""

from ._conversation import Transcript as Transcript
from ._conversation import TranscriptTurn as TranscriptTurn
from ._conversation import run_scripted as run_scripted
from ._model import ScriptedModel as ScriptedModel
from ._script import Line as Line
from ._script import ScriptedCall as ScriptedCall
from ._script import ScriptedTurn as ScriptedTurn
from ._script import ScriptError as ScriptError
from ._script import ToolAnswer as ToolAnswer
