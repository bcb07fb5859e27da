"""Maps learned by evidence: grouped priors, posteriors, the mixture with the uniform."""

__all__: list[str] = []
