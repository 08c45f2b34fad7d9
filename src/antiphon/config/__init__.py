"""User settings: project and user configuration, `.env`, stored keys, and the model that they select.

Start with `load_configuration`: it returns a value and changes nothing in the process. This package knows
providers and tools by name; it opens no connection and runs nothing.
"""

from antiphon._base.lazy_exports import publish_exports
from antiphon.config.configuration import Configuration, load_configuration
from antiphon.config.default_model import (
    ChoiceStep,
    ModelChoice,
    ModelDestination,
    default_model,
    find_model_destination,
)
from antiphon.config.environment import Environment
from antiphon.config.files import ConfigFile
from antiphon.config.mcp_credentials import McpCredentials

__all__ = [
    "ChoiceStep",
    "ConfigFile",
    "Configuration",
    "Environment",
    "McpCredentials",
    "ModelChoice",
    "ModelDestination",
    "default_model",
    "find_model_destination",
    "load_configuration",
]

publish_exports(globals())
