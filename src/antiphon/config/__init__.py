"""What the user has set: project and user configuration, `.env`, stored keys, and the model that follows from them.

`load_configuration` is where to begin: it gives a value, and nothing is written into the process. This room knows
providers and tools by name; it opens no connection and runs nothing.
"""

from antiphon._public import publish
from antiphon.config.choice import Choice, Destination, Step, default_model, destination
from antiphon.config.configuration import Configuration, load_configuration
from antiphon.config.environment import Environment
from antiphon.config.files import ConfigFile

__all__ = [
    "Choice",
    "ConfigFile",
    "Configuration",
    "Destination",
    "Environment",
    "Step",
    "default_model",
    "destination",
    "load_configuration",
]

publish(globals())
