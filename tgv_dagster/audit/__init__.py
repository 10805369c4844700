"""Audit: one register of invariants and its verdicts."""
