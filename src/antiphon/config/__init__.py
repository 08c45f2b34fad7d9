"""What the user has set: project and user configuration, `.env`, stored keys, and the model that follows from them.

This room knows providers and tools by name; it opens no connection and runs nothing.
"""

from antiphon.config.choice import Choice, Step, default_model
from antiphon.config.environment import load_environment
from antiphon.config.files import Config, load_config

__all__ = ["Choice", "Config", "Step", "default_model", "load_config", "load_environment"]
