"""Operations of an OpenAPI document as tools. See `toolbox_from_openapi`.

Needs the extra ``openapi``: ``pip install armory-trio[openapi]``.
"""

from . import _needs  # noqa: F401  # pyright: ignore[reportUnusedImport]  # first: says what is missing
from ._importing import ImportedOperation as ImportedOperation
from ._importing import OpenApiImport as OpenApiImport
from ._importing import toolbox_from_openapi as toolbox_from_openapi
from ._losses import ImportLoss as ImportLoss
from ._losses import LossKind as LossKind
from ._options import ImportSettings as ImportSettings
from ._options import OperationInfo as OperationInfo
from ._options import OperationOptions as OperationOptions
from ._reading import DocumentSource as DocumentSource
from ._references import Documents as Documents
from ._security import AuthCallback as AuthCallback
from ._security import BasicCredentials as BasicCredentials
from ._security import Credentials as Credentials
from ._security import SecurityRequirement as SecurityRequirement
from ._servers import ServerChoice as ServerChoice
