"""Generated worlds, in which the effect of each attribute on a record is known."""

from withhold.datasets.worlds.census import census, census_bayes, census_posterior
from withhold.datasets.worlds.drawn_faces import best_guess, drawn_faces
from withhold.datasets.worlds.gaussian import (
    World,
    full_leak,
    many_classes,
    no_leak,
    two_attributes,
    xor,
)
from withhold.datasets.worlds.moving_figures import moving_figures
from withhold.datasets.worlds.planted import PLANTED
from withhold.datasets.worlds.voices import Voices, voices

__all__ = [
    "PLANTED",
    "Voices",
    "World",
    "best_guess",
    "census",
    "census_bayes",
    "census_posterior",
    "drawn_faces",
    "full_leak",
    "many_classes",
    "moving_figures",
    "no_leak",
    "two_attributes",
    "voices",
    "xor",
]
