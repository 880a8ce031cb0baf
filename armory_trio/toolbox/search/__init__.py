"""Finding tools by what somebody wants of them: by words, and with an embedder by meaning as well."""

from ._embeddings import CachedEmbedder as CachedEmbedder
from ._embeddings import Embedder as Embedder
from ._embeddings import Vectors as Vectors
from ._embeddings import embedding_text as embedding_text
from ._fusion import reciprocal_rank_fusion as reciprocal_rank_fusion
from ._matches import Match as Match
from ._matches import Reason as Reason
from ._search import SearchIndex as SearchIndex
from ._search import Where as Where
from ._search import index_of as index_of
