"""Which tools there are."""

from typing import TYPE_CHECKING

from .._on_demand import on_demand
from ._resolution import NameTier as NameTier
from ._toolbox import Toolbox as Toolbox
from ._toolbox import combine_toolboxes as combine_toolboxes
from ._toolbox import is_toolbox as is_toolbox

if TYPE_CHECKING:
    from ._fuzzy import Resolution as Resolution
    from ._fuzzy import Resolved as Resolved
    from ._fuzzy import Resolver as Resolver
    from ._fuzzy import Unresolved as Unresolved
    from ._fuzzy import resolve as resolve
    from ._importing import GetTool as GetTool
    from ._live import LiveToolbox as LiveToolbox
    from ._live import ToolboxChange as ToolboxChange
    from ._manifest import toolbox_from_manifest as toolbox_from_manifest
    from ._offering import Loss as Loss
    from ._offering import LossAction as LossAction
    from ._offering import Manifest as Manifest
    from ._offering import Naming as Naming
    from ._offering import Offer as Offer
    from ._offering import OfferedTool as OfferedTool
    from ._offering import ProviderName as ProviderName
    from ._offering import SetAside as SetAside
    from ._offering import Strictness as Strictness
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "Resolution": "_fuzzy",
            "Resolved": "_fuzzy",
            "Resolver": "_fuzzy",
            "Unresolved": "_fuzzy",
            "resolve": "_fuzzy",
            "GetTool": "_importing",
            "LiveToolbox": "_live",
            "ToolboxChange": "_live",
            "toolbox_from_manifest": "_manifest",
            "Loss": "_offering",
            "LossAction": "_offering",
            "Manifest": "_offering",
            "Naming": "_offering",
            "Offer": "_offering",
            "OfferedTool": "_offering",
            "ProviderName": "_offering",
            "SetAside": "_offering",
            "Strictness": "_offering",
        },
    )
