"""Clarify: cases, parking and people's decisions."""
