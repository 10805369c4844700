"""Web: the HTTP service and its pages. Routers translate; what happens stands in the rooms."""
