"""The engine: pure functions and frozen dataclasses on clean arrays.

Nothing here checks what a user passed, prints, or knows an estimator. Names that mean the same
everywhere:

=================  ===========================================================================
``n_samples`` n    rows
``n_classes`` k    classes; row i of W belongs to output class i, column j to input class j
``scores``         what the linear map reads: log-probabilities or logits. Users have (n, k);
                   inside, a chunk is stored class by class as (k, m), which makes sums over
                   classes run along memory and lets formulas read as in the paper: W s + b
``labels``         class indices 0..k-1
``weights``        (k, k + 1), the matrix W with the intercepts b as its last column
``params`` p       the free entries of ``weights`` as a structure orders them
``proba``          what comes out: columns of a chunk sum to one
``sample_weight``  one weight per row; their sum is what every formula calls n
=================  ===========================================================================

Rooms in the order in which they know each other: `data` (rows as a source of chunks), `model` (what
is minimised), `optim` (Newton's method and what stands on it), `bayes` (maps learned by evidence),
`clip` (the floor of probabilities); `stats` beside them, for measures and tests. Modules are
imported by their names.
"""

__all__: list[str] = []
