"""Numbers that steer `dircal._core.optim`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["OPTIM_LIMITS", "OptimLimits"]


@dataclass(frozen=True)
class OptimLimits:
    """Limits of the solvers.

    They decide the number of steps and passes. Every optimum is within ``tol`` of the best
    objective with any reasonable values, except for the ridges, which choose one definite map among
    those that rows cannot distinguish.
    """

    # Largest number of parameters for which the Hessian is formed. Above some 25 classes it costs
    # more than the products of a whole conjugate-gradient solution.
    max_direct_params: int = 700
    # Sufficient decrease (Nocedal & Wright, section 3.1).
    armijo: float = 1e-4
    # Halvings of a step: 2^-40 of a step is lost in rounding.
    max_halvings: int = 40
    # A step is the last if it predicts a decrease of the next one below this part of the tolerance.
    predicted_fraction: float = 0.1
    # After a first failure, no trial moves a logit further: a step into a flat direction can be
    # longer than many halvings.
    max_logit_change: float = 1e6
    # Near a finite optimum steps shrink quadratically, but down an exponential tail each step moves
    # some logit by one. A step that moves a logit by half a unit raises the question of separation.
    # A shorter one answers it: probabilities p (1 + change of the logit less its mean) are positive
    # then and have no gradient in free parameters, which no direction of separation allows
    # (Stiemke's lemma).
    min_long_change: float = 0.5
    # Long steps in a row that are reason enough to decide it.
    min_long_steps: int = 3
    # If too many parameters are free to solve it, the question is answered after this many steps by
    # the map that a ridge fixes: rows cannot distinguish it from any other.
    max_open_steps: int = 20
    # Predicted decrease in nats, summed over all rows, below which long steps are counted.
    negligible_decrease: float = 1e-6
    # Squared deviations count as at least this part of the mean square: those of an intercept are
    # zero, and the preconditioner would have no inverse.
    min_deviation: float = 0.1
    # To how much the solver of linear programs keeps constraints whose coefficients sum to one;
    # HiGHS takes no smaller number.
    feasibility: float = 1e-10
    # Ten times that. Margins are in the same units, the most that a direction in the unit cube can
    # do to them. One that falls by less falls by rounding only ...
    lp_rounding: float = 10.0 * feasibility
    # ... and one that rises by less than a hundred times the rounding does not rise.
    min_lp_rise: float = 100.0 * lp_rounding
    # With more free parameters a program takes longer than a fit.
    max_program_params: int = 450
    # Rows that a pass adds to the linear program, at least ...
    min_program_rows: int = 50
    # ... and for each free parameter.
    program_rows_per_param: int = 2
    # Programs that are solved: many times what any problem has needed.
    max_programs: int = 100
    # Weight of a squared logit if nothing else bounds the map: far too small to matter if rows
    # determine it, and enough to be seen above rounding errors if they do not.
    separation_ridge: float = 1e-7
    # As small as rounding allows: two ways to the same optimum should end at the same digits.
    separation_tol: float = 1e-24
    # Below this predicted decrease the Hessian hardly changes, and the next step may use the old
    # one ...
    near_decrease: float = 1e-4
    # ... as long as predicted decreases fall by this factor.
    max_reuse_ratio: float = 0.1
    # Levenberg damping of a Hessian with a unit diagonal. A direction that no row has, whose
    # gradient and curvature are rounding errors, gets no step. All others hardly notice.
    damping: float = 1e-10
    # Curvature below this part of the largest belongs to a probability that has underflown.
    min_curvature_ratio: float = 1e-20
    # Preconditioned curvatures are about one; far less is a direction without any.
    no_curvature: float = 1e-10
    # Single precision is enough for a step that conjugate gradients find quickly: the next step
    # makes up for its errors. More products mean that some direction has very little curvature.
    max_float32_products: int = 50
    # If a class is certain everywhere, 1 - p is lost in rounding to single precision.
    min_float32_variance: float = 1e-4
    # Up to this number of products the preconditioned spectrum is flat, and a small residual means
    # a small error. Beyond it, an ill-conditioned direction may have a large error.
    max_flat_products: int = 10
    # A step moves the Hessian by the root of its predicted decrease; above this it is formed again.
    max_reuse_decrease: float = 1e-5
    # The preconditioner of conjugate gradients on a subsample is not exact, so a residual that has
    # fallen to this part, in squares, is enough.
    subsample_residual: float = 1e-2
    # The optimum of a subsample is p / (2 m) away from that of all rows. It is found to this part
    # of it.
    subsample_tol: float = 0.01
    # Steps that begin there have converged after half as many, unless the subsample misleads.
    max_subsampled_steps: int = 12
    # Largest factor by which a step multiplies or divides the slope.
    max_slope_factor: float = 8.0
    # Variance of scores below 1e-95, which count as zero: entries of a map are at most 1e100.
    min_score_variance: float = 1e-190
    # The slope that stands for zero, in units of the inverse spread of the scores.
    zero_slope: float = 1e-6
    # Three of the largest steps: a slope this much smaller than the first one may be on its way to
    # zero.
    min_slope_ratio: float = max_slope_factor**-3
    # Far too weak to be seen if the classes overlap, and enough for one definite answer if they are
    # separated, or nearly so.
    two_class_ridge: float = 1e-9
    # If they are, some direction has less curvature, and the ridge alone decides it.
    min_bernoulli_variance: float = 1e-6
    # Tolerance of a first guess from a subsample; the last steps use all rows.
    guess_tol: float = 1e-7
    # Largest logit at the start, at which probabilities still differ from 0 and 1.
    max_start_logit: float = 30.0


OPTIM_LIMITS = in_context(OptimLimits())
