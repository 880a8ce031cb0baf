"""What a model gets to read: Python results as content blocks, exact or refused with a clear error."""

from typing import TYPE_CHECKING

from .._on_demand import on_demand

if TYPE_CHECKING:
    from ._blocks import EMPTY_TEXT as EMPTY_TEXT
    from ._blocks import content_size as content_size
    from ._codec import encode_content as encode_content
    from ._codec import encode_json as encode_json
    from ._unencodable import UnencodableResult as UnencodableResult
    from ._wording import words_for as words_for
    from ._wording import words_for_error as words_for_error
    from ._writer import MAX_DEPTH as MAX_DEPTH
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "EMPTY_TEXT": "_blocks",
            "content_size": "_blocks",
            "encode_content": "_codec",
            "encode_json": "_codec",
            "UnencodableResult": "_unencodable",
            "words_for": "_wording",
            "words_for_error": "_wording",
            "MAX_DEPTH": "_writer",
        },
    )
