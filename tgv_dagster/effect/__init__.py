"""Effect: what leaves the flow: reports and re-entry."""
