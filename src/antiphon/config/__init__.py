"""What the user has set: project and user configuration, `.env`, stored keys, and the model that follows from them.

This room knows providers and tools by name; it opens no connection and runs nothing.
"""

from antiphon.config.choice import Choice, Destination, Step, default_model, destination
from antiphon.config.environment import load_environment
from antiphon.config.files import Config, load_config

__all__ = [
    "Choice",
    "Config",
    "Destination",
    "Step",
    "default_model",
    "destination",
    "load_config",
    "load_environment",
]
