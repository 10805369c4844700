"""Understand: from bytes to text, type, entity, amounts and dates. Nothing here writes bytes."""
