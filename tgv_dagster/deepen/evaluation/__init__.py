"""Evaluation of understanding: labelled papers, how they are measured, and what is reported.

Everything runs on the production functions (`triage`, `specialise`). Layout families of the tuning
part and of the test part share no template and no wording table; thresholds may only be set on the
tuning part. What does not belong here: pictures in Dagster (`assets.understand`).
"""
