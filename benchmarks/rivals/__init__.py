"""Libraries of the scoreboard: one module each, called as its documentation says.

A module has ``CALIBRATORS``, by name how to make one for columns of given classes (``None``: as
scikit-learn's checks want it), ``fit(model, P, y)`` or ``fit(model, P, y, weight)``, which returns
what was fitted, and ``predict(model, P)``. ``NOT_OFFERED`` says of which contracts the
documentation promises nothing, and where it says so. Where logits can be given, ``LOGITS`` is how
to make one for them, and ``fit_logits`` and ``predict_logits`` how to call it, if otherwise.

A module is imported only in the environment of its library; this one imports nothing.
"""

from dataclasses import dataclass

__all__ = ["LIBRARIES", "OURS", "Library"]


@dataclass(frozen=True)
class Library:
    """What is installed for a library, and with which Python."""

    name: str
    """On the page, and of its distribution."""
    module: str
    """In this package."""
    requires: tuple[str, ...] = ()
    """What pip is asked for; nothing for what is here already."""
    python: str | None = None
    """The version that it needs, where it is not the one of this process."""
    n_classes: int = 4
    hint: str = ""
    """Why it may not run here, for the page if so."""


OURS = Library("dircal", "ours")
LIBRARIES = (
    OURS,
    Library("scikit-learn", "scikit_learn", ("scikit-learn",)),
    # Its README calls numba optional, but nothing can be imported without.
    Library("probmetrics", "probmetrics_", ("probmetrics", "numba")),
    Library("netcal", "netcal_", ("netcal",)),
    Library(
        "torch-uncertainty",
        "torch_uncertainty_",
        ("torch-uncertainty[cpu]",),
        hint="it imports torchvision, whose wheel on PyPI needs the torch for GPUs",
    ),
    Library("dirichletcal", "dirichletcal_", ("dirichletcal",), python="3.12"),
    Library("betacal", "betacal_", ("betacal",), n_classes=2),
    Library("venn-abers", "venn_abers_", ("venn-abers",)),
    Library("uncertainty-calibration", "uncertainty_calibration", ("uncertainty-calibration",)),
    Library("splinecalib", "splinecalib_", ("splinecalib",)),
)
