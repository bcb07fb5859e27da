"""The version, for the package and for the files that it writes."""

__all__ = ["__version__"]

__version__ = "0.2.0"
