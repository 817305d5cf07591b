"""Readers of documents: one module a format, run in a worker process that has nothing but the file's descriptor."""
