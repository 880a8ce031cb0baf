"""Tools with which a model starts calls in the background and comes back for them, and notices for its host."""

from __future__ import annotations

from ._calls import BackgroundAbort as BackgroundAbort
from ._calls import BackgroundCall as BackgroundCall
from ._calls import BackgroundNotice as BackgroundNotice
from ._calls import BackgroundStatus as BackgroundStatus
from ._calls import notice_text as notice_text
from ._kit import BackgroundKit as BackgroundKit
from ._notices import Notices as Notices
from ._options import BackgroundOptions as BackgroundOptions
