"""Arrive: every gate by which bytes enter, raw first. Nothing here reads meaning."""
