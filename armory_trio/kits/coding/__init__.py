"""Tools that work on a tree of files and cannot leave it: ``read_file``, ``grep``, ``glob``, and ``edit_file`` if asked.

Searching needs the extra ``coding``: ``pip install 'armory-trio[coding]'``.
"""

from __future__ import annotations

from ._edit import EditLimits as EditLimits
from ._edit import EditResult as EditResult
from ._edit import edit_file as edit_file
from ._glob import GlobQuery as GlobQuery
from ._glob import GlobResult as GlobResult
from ._glob import glob as glob
from ._grep import GrepLimits as GrepLimits
from ._grep import GrepMatch as GrepMatch
from ._grep import GrepQuery as GrepQuery
from ._grep import GrepResult as GrepResult
from ._grep import GrepSummary as GrepSummary
from ._grep import collect_matches as collect_matches
from ._grep import grep as grep
from ._jail import Jail as Jail
from ._match import Edit as Edit
from ._paths import InvalidPath as InvalidPath
from ._paths import NotAFile as NotAFile
from ._paths import NothingThere as NothingThere
from ._paths import PathEscape as PathEscape
from ._read import FileSlice as FileSlice
from ._read import ReadLimits as ReadLimits
from ._read import read_file as read_file
from ._skipped import Skipped as Skipped
from ._tools import CodingOptions as CodingOptions
from ._tools import CodingTools as CodingTools
from ._tools import EditingTools as EditingTools
from ._tools import coding_toolbox as coding_toolbox
from ._tools import coding_tools as coding_tools
from ._tools import edit_tool as edit_tool
from ._tools import glob_tool as glob_tool
from ._tools import grep_tool as grep_tool
from ._tools import read_tool as read_tool
