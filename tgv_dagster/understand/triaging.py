"""What triage needs from the database, and what the document row needs from triage.

Loads the closed vocabulary (TRI-07) and the routing rules of an arrival's tenant, calls the pure
`triage`, and derives tenant and specialist plan. The tenant of an arrival that has one is a wall:
its vocabulary is that tenant's, so a folder of one tenant never files into another.
"""

from __future__ import annotations
