"""Plans which ship lies at which berth."""

__version__ = "2.4.1"
