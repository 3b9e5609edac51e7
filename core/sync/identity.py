"""What an index is built with, from the settings and the sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from core.settings.model import Settings
from core.store.schema import KEYWORD_TOKENIZER
from core.sync.intake import Intake
from core.text.analysis import ANALYSIS_VERSION
from core.types import EmbeddingIdentity, IndexIdentity


def index_identity(settings: Settings, intakes: Sequence[Intake], embedding: EmbeddingIdentity | None) -> IndexIdentity:
    """The identity that these settings ask for; `embedding` None while there is no provider."""
    multimodal = settings.multimodal
    scope = {
        "extraPaths": sorted(settings.extra_paths),
        "multimodal": {
            "enabled": multimodal.enabled,
            "modalities": sorted(multimodal.modalities) if multimodal.enabled else [],
            "maxFileBytes": multimodal.max_file_bytes,
        },
    }
    digest = hashlib.sha256(json.dumps(scope, separators=(",", ":")).encode()).hexdigest()
    return IndexIdentity(
        embedding=embedding,
        sources=tuple(sorted(intake.source for intake in intakes)),
        scope="; ".join((digest, *filter(None, (intake.scope for intake in intakes)))),
        chunking=",".join(f"{intake.source}:{intake.build}" for intake in intakes if intake.build),
        tokenizer=f"{KEYWORD_TOKENIZER}; analysis {ANALYSIS_VERSION}",
    )
