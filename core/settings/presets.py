"""The presets: named sets of values that stand below config.toml."""

from __future__ import annotations

from collections.abc import Mapping

PRESETS: Mapping[str, Mapping[str, object]] = {
    "production": {
        "provider": "openai",
        "fallback": "ollama",
        "sources": ("memory", "sessions"),
        "chunking.tokens": 256,
        "chunking.overlap": 32,
        "cache.max_entries": 10_000,
        "query.candidate_multiplier": 3,
        "query.mmr.enabled": True,
        "query.mmr.lambda": 0.5,
        "query.temporal_decay.enabled": True,
        "query.temporal_decay.half_life_days": 90,
        "sync.interval_minutes": 15,
        "sync.sessions.delta_bytes": 10_000,
        "sync.sessions.delta_messages": 20,
    },
    "private": {
        "provider": "ollama",
        "model": "nomic-embed-text",
        "chunking.tokens": 512,
        "chunking.overlap": 64,
        "query.hybrid.vector_weight": 0.5,
        "query.hybrid.text_weight": 0.5,
        "cache.max_entries": 5000,
        "sync.interval_minutes": 60,
        "sync.sessions.delta_bytes": 50_000,
        "sync.sessions.delta_messages": 50,
    },
    "frugal": {
        "provider": "local",
        "chunking.tokens": 512,
        "chunking.overlap": 0,
        "query.hybrid.vector_weight": 0.3,
        "query.hybrid.text_weight": 0.7,
        "query.candidate_multiplier": 2,
        "cache.max_entries": 2000,
        "sync.interval_minutes": 60,
    },
    "classic": {
        "chunking.tokens": 400,
        "chunking.overlap": 80,
        "sessions.chunking.tokens": 400,
        "sessions.chunking.overlap": 80,
        "query.rule": "classic",
        "query.max_results": 6,
        "query.min_score": 0.35,
        "query.candidate_multiplier": 4,
        "query.hybrid.vector_weight": 0.7,
        "query.hybrid.text_weight": 0.3,
    },
}
