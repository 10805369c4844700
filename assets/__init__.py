"""Dagster assets, one module per room of the flow; each calls plain functions."""
