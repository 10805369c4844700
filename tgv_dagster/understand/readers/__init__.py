"""Readers: one module per family of formats, each with `read(source, file_type, settings)`.

Here: the use of format libraries, inside the limits of a worker process. Not here: which reader
takes a file (`understand.extraction`) and the limits themselves (`understand.workers`).
"""
