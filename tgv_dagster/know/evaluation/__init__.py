"""Evaluation of retrieval: what is asked, on which stock, how it is measured, and what is reported.

Everything runs on the production search function over a database of its own, which is dropped
afterwards (EVAL-27). Questions and expectations stand in the YAML files beside this one. What does
not belong here: pictures in Dagster (`assets.evaluation`) and speed (`bench`).
"""
