"""The map: two pictures of the same records, coloured by an attribute that the reader chooses."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from withhold.audit.evidence import Evidence
from withhold.report.cards import Card
from withhold.report.charts.scatter import Colouring, colouring, scatter


@dataclass(frozen=True)
class MapView:
    """The pictures and the colourings to choose from."""

    colourings: tuple[Colouring, ...]
    pictures: tuple[tuple[str, Markup], ...]
    records: int


def map_view(evidence: Evidence, cards: list[Card]) -> MapView | None:
    """None where there is nothing to draw."""
    found = evidence.map
    if found is None or not found.original:
        return None
    # In the order of the cards, so that a suppressed attribute is the one shown first.
    by = tuple(
        colouring(place, name, found.labels[name], found.classes.get(name, ()))
        for place, name in enumerate(c.name for c in cards if c.name in found.labels)
    )
    pictures = [("Original", scatter(found.original, by, title="Map of the original records"))]
    if found.release:
        pictures.append(("Release", scatter(found.release, by, title="Map of the release")))
    return MapView(by, tuple(pictures), len(found.original))
