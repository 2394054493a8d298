"""Coverage charts: a document row by row, with the sources that cover each row, and as Word file and CSV."""
