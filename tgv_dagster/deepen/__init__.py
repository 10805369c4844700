"""Deepen: specialists per document kind."""
