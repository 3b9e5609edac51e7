"""A note that is not saved yet."""

from __future__ import annotations

from core import record


@record(frozen=True, slots=True)
class Draft:
    """A note that is not saved yet: its text, and its tags as they were typed."""

    text: str = ""
    tags: str = ""

    @property
    def note(self) -> str:
        """What is written: the text, and a line with the tags if there are any."""
        tags = ", ".join(filter(None, (tag.strip() for tag in self.tags.split(","))))
        return f"{self.text.rstrip()}\n\nTags: {tags}" if tags and self.text.strip() else self.text
