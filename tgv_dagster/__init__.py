"""TGV Dagster in plain Python: only definitions.py and runs.py know Dagster."""
