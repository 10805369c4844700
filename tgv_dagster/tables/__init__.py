"""Tables: structured files become rows with a header, and rows become entries people confirmed."""
