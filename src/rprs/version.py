"""The version, for those whom the package itself imports."""

__all__ = ["__version__"]

__version__ = "0.1.0"
