"""Dagster sensors: a tick only looks."""
