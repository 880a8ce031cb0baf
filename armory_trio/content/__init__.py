"""What a model gets to read: Python results as content blocks, exact or refused with a clear error."""

from __future__ import annotations

from ._blocks import EMPTY_TEXT as EMPTY_TEXT
from ._blocks import content_size as content_size
from ._codec import encode_content as encode_content
from ._codec import encode_json as encode_json
from ._unencodable import UnencodableResult as UnencodableResult
from ._wording import words_for as words_for
from ._wording import words_for_error as words_for_error
from ._writer import MAX_DEPTH as MAX_DEPTH
