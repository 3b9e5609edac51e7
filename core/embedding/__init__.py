"""Text to vectors: the embedder protocol, the local models, and which one the settings choose."""
