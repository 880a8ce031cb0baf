"""Finding tools by words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "examples.vector-search": Requirement(
        "design section 4, surroundings 2.6",
        "Vectors of tools can be kept in a database: made once for each definition, and found after a restart.",
    ),
    "examples.vector-search.missing": Requirement(
        "design section 4",
        "Without its packages the example of a vector database says what to install, and ends with 1.",
    ),
    "toolbox.search.fields": Requirement(
        "design section 17, surroundings 2.5",
        "A tool is found by words of its name, tags, description, parameters at any depth, their texts and values, and examples.",
    ),
    "toolbox.search.forms": Requirement(
        "design section 17, surroundings 2.5",
        "Other forms of a word are found: plurals, tenses, parts of joined names, words without their accents.",
    ),
    "toolbox.search.ranked": Requirement(
        "design section 17, surroundings 2.5, surroundings 2.8, surroundings 9, surroundings 12.6",
        "The best comes first: a word of the name counts more than one of the description, a rare one more than a usual one.",
        divergence="Elsewhere the search tool numbers its finds in the order of registration and calls that a score.",
    ),
    "toolbox.search.deterministic": Requirement(
        "design section 17, surroundings 2.5",
        "The same tools and words give the same answer in whatever order the tools stand; names decide between equals.",
    ),
    "toolbox.search.nothing-asked": Requirement(
        "design section 17, surroundings 2.5",
        "Blank text, signs and stop symbols find nothing, and neither do words that no tool has.",
        divergence="Elsewhere text without Latin letters counts as blank and matches every tool, with a score of 0.",
    ),
    "toolbox.search.scripts": Requirement(
        "design section 17",
        "Words of any script are found, also where no spaces stand between them.",
    ),
    "toolbox.search.misspelt": Requirement(
        "design section 17, surroundings 2.8",
        "A misspelt word finds what was probably meant, and counts less than the word itself.",
    ),
    "toolbox.search.explain": Requirement(
        "design section 17, surroundings 2.5, surroundings 2.8",
        "The reasons name the fields in which words of the query stand, and those words, and nothing else.",
        divergence="Elsewhere the reasons of the search tool only repeat the query.",
    ),
    "toolbox.search.where": Requirement(
        "design section 17, surroundings 2.5",
        "What may be answered is narrowed by a function or a condition without changing the order of the rest.",
    ),
    "toolbox.search.limit": Requirement(
        "design section 17, surroundings 2.5",
        "At most as many as asked for are answered; 0 answers nothing.",
        divergence="Elsewhere 0 means no limit.",
    ),
    "toolbox.search.bad-arguments": Requirement(
        "design section 17, surroundings 2.5",
        "A wrong argument of a search is refused with its name and what would be right.",
    ),
    "toolbox.search.incremental": Requirement(
        "design section 17, surroundings 2.4",
        "An index of an extended toolbox reads only the tools that are new.",
    ),
    "toolbox.search.replaced": Requirement(
        "design section 17, surroundings 2.4, surroundings 2.6",
        "A tool that replaces another is found by its own words, and the other one no more.",
        divergence="Elsewhere an index has to be rebuilt by hand to see a change.",
    ),
    "toolbox.search.hostile": Requirement(
        "design section 17",
        "No text of a tool or query stalls a search, raises, or makes a tool match what it does not say.",
    ),
    "toolbox.search.extra": Requirement(
        "design section 17",
        "Without a package of the extra a search says which one to install; until then nothing loads them.",
    ),
    "toolbox.search.hybrid": Requirement(
        "design section 17, surroundings 2.6, surroundings 9, surroundings 12.4",
        "With an embedder tools are found by meaning as well, fused with the words by reciprocal rank.",
        divergence="Elsewhere the two scores are added, whatever their scales.",
    ),
    "toolbox.search.embedder-cached": Requirement(
        "design section 17, surroundings 2.4, surroundings 2.6, surroundings 2.7, surroundings 9",
        "An embedder is asked once for each text, in batches, within a bounded memory that indices may share.",
        divergence="Elsewhere answers are kept by the exact list of texts, and those of queries without any bound.",
    ),
    "toolbox.search.embedder-checked": Requirement(
        "design section 17, surroundings 2.6, surroundings 9",
        "An answer that is not one finite vector of the same length for each text is refused in words.",
        divergence="Elsewhere vectors of other lengths give scores that are no numbers.",
    ),
    "toolbox.search.embedder-fails": Requirement(
        "design section 17, surroundings 2.6, surroundings 2.7",
        "When an embedder fails, that is logged, and words alone decide.",
        divergence="Elsewhere one that raises makes registering the tool raise.",
    ),
    "toolbox.search.fusion": Requirement(
        "design section 17, surroundings 2.6",
        "Rankings are fused by weighted reciprocal ranks.",
    ),
    "toolbox.search.quality": Requirement(
        "design section 17",
        "On the Berkeley data words alone find at least 0.61, 0.83 and 0.89 of the tools in the first 1, 5 and 10 places.",
    ),
    "kits.search-tools.finds": Requirement(
        "design section 4, surroundings 2.8, surroundings 9, armorer-core 1S",
        "A model finds the tools of the running supervisor's toolbox, best first, also those that were added after the kit.",
        divergence="Elsewhere only under test, and in the order of registration.",
    ),
    "kits.search-tools.not-itself": Requirement(
        "design section 4, surroundings 2.8",
        "The search tool does not find itself, nor a tool that its name would not call.",
        divergence="Elsewhere it may find itself.",
    ),
    "kits.search-tools.permitted": Requirement(
        "design section 4",
        "Only tools that the host permits on this call's behalf are found, as if there were no others.",
    ),
    "kits.search-tools.available": Requirement(
        "design section 4, surroundings 2.8",
        "Tools that cannot be used here are left out, and others take their places.",
    ),
    "kits.search-tools.tags": Requirement(
        "design section 4, surroundings 2.8",
        "The host and the model may each narrow the search to tags.",
    ),
    "kits.search-tools.bounded": Requirement(
        "design section 4, surroundings 2.8",
        "An answer never has more characters than the host allows, and says how many tools it left out.",
    ),
    "kits.search-tools.schemas": Requirement(
        "design section 4, surroundings 2.8",
        "What is found comes with the full schema of its arguments, unless the model does not want it.",
    ),
    "kits.search-tools.deferred": Requirement(
        "design section 4",
        "In a toolbox of 5,000 tools a model pays for the search tool and its answers only: under a thousand tokens.",
    ),
    "kits.search-tools.meaning": Requirement(
        "design section 4, surroundings 2.8",
        "With an embedder the search tool finds by meaning, and goes on by words when that fails.",
        divergence="Elsewhere the search tool never uses the embedder.",
    ),
    "kits.search-tools.options": Requirement(
        "design section 4, surroundings 2.8",
        "A wrong option of the kit says what would be right.",
    ),
    "kits.search-tools.local-model": Requirement(
        "design section 4",
        "The local model is loaded when first needed, in a thread; where it is missing, that is said with the extra.",
    ),
}
