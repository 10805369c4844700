"""Dagster resources: the installation as an injectable part."""
