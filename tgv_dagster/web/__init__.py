"""Web: the HTTP service and its pages."""
