"""Dagster asset checks, generated from the audit register."""
