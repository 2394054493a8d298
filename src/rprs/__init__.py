"""Which documents are like this whole document, and why?"""

__version__ = "0.1.0"
