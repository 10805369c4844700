"""Know: chunks, two indexes and retrieval."""
