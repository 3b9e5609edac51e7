"""Taking something from a transcript: its citation, its text, the command that resumes it, an excerpt as memory."""

from __future__ import annotations

import asyncio

from textual import work

from core import Citation, Excerpt, MemdeckError, SessionView, Written, visible
from tui.screens.saved import Saved
from tui.screens.talk import TalkScreen
from tui.session_rows import SessionRow
from tui.text import counted, why
from tui.widgets.prompt import Prompt

EXCERPT_CHARACTERS = 20_000
"""Of each message that is saved or copied."""
COPIED_MESSAGES = 500
_NO_EDITOR = (".sqlite", ".db", ".zst")


class KeepingScreen(TalkScreen):
    """Subclasses know the row of the transcript that is shown (`row`)."""

    def __init__(self) -> None:
        super().__init__()
        self._saving: list[int] = []

    @property
    def row(self) -> SessionRow | None:
        """The row in force."""
        raise NotImplementedError

    @property
    def _chosen(self) -> list[int]:
        """The messages that are selected, or the one under the cursor."""
        seq = self.talk.current_seq
        return self.talk.selected or ([] if seq is None else [seq])

    @property
    def citation(self) -> Citation | None:
        return self._cited(self._chosen)

    def _cited(self, seqs: list[int]) -> Citation | None:
        view = self.view
        if view is None or not seqs:
            return None
        places = [view.place(seq) for seq in seqs]
        return Citation(view.path, min(first for first, _ in places), max(last for _, last in places))

    def action_copy_citation(self) -> None:
        citation = self._cited(self._chosen)
        if citation is not None:
            self.deck.copy(str(citation))
        elif self.path:
            self.deck.copy(f"{self.path}#L1")
        else:
            self.deck.say("no message to cite")

    @work(exclusive=True, group="copy", exit_on_error=False)
    async def action_copy_cited(self) -> None:
        view, seqs = self.view, self._chosen
        if self.records.has_focus:
            self.deck.copy(self.records.text)
        elif view is None or not seqs:
            self.deck.say("no message to copy")
        elif len(seqs) > COPIED_MESSAGES:
            self.deck.say(f"more than {COPIED_MESSAGES} messages are too many for a clipboard", "warning")
        else:
            texts = await self._texts_of(view, seqs)
            if len(texts) == 1:
                self.deck.copy(texts[0][1])
            elif texts:
                self.deck.copy("\n\n".join(f"{role}: {text}" for role, text in texts))

    async def _texts_of(self, view: SessionView, seqs: list[int]) -> list[tuple[str, str]]:
        """(role, masked text) of messages; [] and a word to the user when they cannot be read."""
        try:
            texts = await asyncio.to_thread(lambda: [view.whole(seq, EXCERPT_CHARACTERS) for seq in seqs])
        except (MemdeckError, OSError) as error:
            self.deck.say(f"cannot be read any more: {why(error)}", "error")
            return []
        return [(view.roles[seq].capitalize(), text) for seq, text in zip(seqs, texts, strict=True)]

    def action_copy_resume(self) -> None:
        row = self.row
        if row is None or row.info is None:
            self.deck.say("no session to resume")
            return
        command = row.info.resume_command
        if row.info.kind == "subagent":
            self.deck.say("a subagent is not resumed by itself; its session is")
        elif row.info.is_gone:
            self.deck.say("its file is gone, so there is nothing to resume", "warning")
        elif command is None:
            self.deck.say(f"{row.dialect} has no command that resumes a session")
        elif visible(command) != command:
            self.deck.say("its folder's name holds control characters: not copied", "warning")
        else:
            self.deck.copy(command)

    def action_edit(self) -> None:
        seq = self.talk.current_seq
        row = self.row
        if self.view is None or row is None:
            self.deck.say("no transcript to open")
        elif row.info is not None and row.info.source.endswith(_NO_EDITOR):
            key = self.deck.keymap.key("session.raw")
            self.deck.say(f"this transcript lies in a database or archive; {key} shows its records")
        else:
            self.deck.edit(self.path, 1 if seq is None else self.view.place(seq)[0])

    def action_page(self) -> None:
        seq = self.talk.current_seq
        if self.view is None:
            self.deck.say("no transcript to open")
        else:
            self.deck.page(self.path, 1 if seq is None else self.view.place(seq)[0])

    # Saving an excerpt

    def action_save(self) -> None:
        view = self.view
        if view is None:
            self.deck.say("no transcript is shown")
            return
        seqs = self.talk.selected
        if not seqs:
            if view.is_part:
                key = self.deck.keymap.key("preview.select")
                self.deck.say(f"the transcript is still being read; {key} selects messages that are here")
                return
            said = [n for n, role in enumerate(view.roles) if role in ("user", "assistant") and view.is_active(n)]
            seqs = said[-self.deck.memory.settings.settings.excerpt.messages :]
        if not seqs:
            self.deck.say("there is no message to save")
            return
        self._saving = seqs
        what = counted(len(seqs), "message") if self.talk.selected else f"the last {counted(len(seqs), 'message')}"
        title = "" if self.row is None else self.row.title
        self.prompt.ask("save", f"save {what} as memory, titled:", visible(title))

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        event.stop()
        self.prompt.close()
        self.show_reader()
        if event.purpose == "goto":
            self.go_to_line(event.text)
        elif event.purpose == "save":
            self.deck.hold_keys(self.save(event.text, self._saving))
        elif event.text.strip():
            self.find(event.text, "keyword")
        else:
            self.end_trail()

    @work(exclusive=True, group="save", exit_on_error=False)
    async def save(self, title: str, seqs: list[int]) -> None:
        """Write messages as a new memory file, then offer to open it."""
        view, row = self.view, self.row
        citation = self._cited(seqs)
        if view is None or citation is None:
            return
        texts = await self._texts_of(view, seqs)
        if not texts:
            return
        session = row.info.session if row is not None and row.info is not None else ""
        excerpt = Excerpt(title, str(citation), session, texts)
        try:
            written = await asyncio.to_thread(self.deck.memory.save_excerpt, excerpt)
        except MemdeckError as error:
            self.deck.say(f"not saved: {why(error)}", "error")
            return
        if self.talk.selected:
            self.talk.select()
            self.entitle()
        self._offer(written, len(texts))

    def _offer(self, written: Written, messages: int) -> None:
        async def answered(answer: str | None) -> None:
            if answer == "files":
                await self.deck.show_file(written.path)
            elif answer == "editor":
                self.deck.edit(written.path, written.citation.start_line)
            elif answer == "cite":
                self.deck.copy(str(written.citation))

        self.deck.push_screen(Saved(written, messages), answered)
