"""What is too long for a model, made to fit: texts, JSON, content blocks, results, streams."""

from __future__ import annotations

from ._blobs import has_blobs as has_blobs
from ._blobs import strip_blobs as strip_blobs
from ._caps import DEFAULT_ERROR_BYTES as DEFAULT_ERROR_BYTES
from ._caps import DEFAULT_MEDIA_BYTES as DEFAULT_MEDIA_BYTES
from ._caps import DEFAULT_RESULT_BYTES as DEFAULT_RESULT_BYTES
from ._caps import MARKER as MARKER
from ._caps import Cap as Cap
from ._caps import Keep as Keep
from ._caps import ResultCaps as ResultCaps
from ._json import truncate_json as truncate_json
from ._results import truncate_content as truncate_content
from ._results import truncate_error as truncate_error
from ._results import truncate_result as truncate_result
from ._results import truncate_value as truncate_value
from ._spill import SpillDirectory as SpillDirectory
from ._stream import StreamTruncator as StreamTruncator
from ._text import CutText as CutText
from ._text import HeadAndTail as HeadAndTail
from ._text import Size as Size
from ._text import cut_text as cut_text
from ._text import head_and_tail as head_and_tail
from ._text import safe_slice as safe_slice
from ._text import size_of as size_of
from ._text import truncate_text as truncate_text
