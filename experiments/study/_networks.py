"""Which networks are in the study, and what is known of how they were made."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from experiments.neural._networks import Entry, default_folders, find_networks

__all__ = [
    "BASES",
    "NOT_KNOWN",
    "OPTIONS",
    "TRAINED",
    "Attributes",
    "Base",
    "Member",
    "attributes_of",
    "find_members",
]

_HERE = Path(__file__).parent
NOT_KNOWN = "not known"
TRAINED = "trained for this"
"""The kind of networks that were trained for the study, each with one option changed."""


class Attributes(NamedTuple):
    """What the sources say of a network; ``not known`` where they say nothing."""

    architecture: str
    family: str
    year: str
    """Of the publication or log that the outputs come from."""
    recipe: str
    """The group that it is counted in."""
    loss: str
    augmentation: str
    epochs: str


@dataclass(frozen=True)
class Member:
    """A network of the study, the source that it counts with, and its kind."""

    entry: Entry
    source: str
    kind: str

    @property
    def name(self) -> str:
        """That of the file."""
        return self.entry.name


class Base(NamedTuple):
    """A network that is trained with one option changed at a time."""

    told: str
    n_pictures: int
    epochs: int


BASES = {
    "fashion_mlp": Base("two hidden layers with dropout, on pictures of Fashion-MNIST", 10_000, 16),
    "fashion_convnet": Base("two convolutions, on pictures of Fashion-MNIST", 10_000, 16),
    "c10_lenet5": Base("LeNet-5 with batch normalisation, on pictures of CIFAR-10", 10_000, 16),
}
OPTIONS = {
    "plain": "nothing changed",
    "short": "a quarter of the epochs",
    "smoothing": "label smoothing (0.1)",
    "mixup": "mixup (1)",
    "focal": "focal loss (exponent 3)",
    "no_decay": "no weight decay",
    "seed1": "another seed",
}
"""What is changed in trainings, by the ends of their names."""


@cache
def _attributes() -> dict[str, Attributes]:
    with (_HERE / "attributes.csv").open(newline="") as file:
        return {line.pop("network"): Attributes(**line) for line in csv.DictReader(file)}


def attributes_of(name: str) -> Attributes:
    """What is known of a network; of a file of a user nothing."""
    return _attributes().get(name, Attributes(*[NOT_KNOWN] * len(Attributes._fields)))


def find_members(folders: Iterable[Path] | None = None) -> list[Member]:
    """Networks of the experiment on networks and those trained for this, small ones first.

    Files of folders that are given stand for themselves.
    """
    if folders is not None:
        found = find_networks(folders, in_catalogue=False)
        return [Member(entry, entry.about.source, entry.about.kind) for entry in found]
    members = [
        Member(entry, entry.about.source, entry.about.kind)
        for entry in find_networks(default_folders())
    ]
    for entry in find_networks([_HERE / "networks"], in_catalogue=False):
        members.append(Member(entry, _trained_as(entry.name), TRAINED))
    return sorted(members, key=lambda one: (one.entry.n_classes, one.entry.n_rows, one.name))


def _trained_as(name: str) -> str:
    """The network that an option was changed of."""
    ends = [option for option in OPTIONS if name.endswith(f"_{option}")]
    return name.removesuffix(f"_{ends[0]}") if ends else name
