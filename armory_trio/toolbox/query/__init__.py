"""Finding tools by what they are: `query_tools`, and the conditions that it takes."""

from ._conditions import AllOf as AllOf
from ._conditions import AnyOf as AnyOf
from ._conditions import Condition as Condition
from ._conditions import Not as Not
from ._conditions import Query as Query
from ._conditions import all_of as all_of
from ._conditions import any_of as any_of
from ._conditions import not_ as not_
from ._criteria import Criteria as Criteria
from ._criteria import Criterion as Criterion
from ._selecting import QueryResult as QueryResult
from ._selecting import query_tools as query_tools
from ._text import Text as Text
from ._text import TextField as TextField
from ._text import TextMode as TextMode
from ._text import TextScore as TextScore
from ._text import text_matches as text_matches
from ._text import text_score as text_score
