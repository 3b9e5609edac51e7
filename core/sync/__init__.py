"""Bringing the index in step with the files: messages, plan, worker, embedding pool."""
