"""The SQLite file: documents, chunks, keyword rows, vectors, identity, and who may write."""
