"""A style sheet that is parsed once: Textual parses all of it anew whenever a screen brings a part of its own."""

from __future__ import annotations

from textual.css.stylesheet import Stylesheet


class KeptStylesheet(Stylesheet):
    """Keeps the rules of each part for as long as the colours stay; other colours make it forget them by itself."""

    def reparse(self) -> None:
        """Bring all parts together again. Raises what `parse` raises, with the rules of before still in use."""
        self.parse()
