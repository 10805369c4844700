"""Readers: a file becomes raw tables; columns become typed values, or a question."""
