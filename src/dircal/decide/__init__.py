"""From probabilities to actions: what each costs, which is best, and when to ask a person."""

from dircal.decide._actions import Decisions, best_actions
from dircal.decide._cost_table import CostTable
from dircal.decide._expected_cost import ExpectedCost, expected_cost
from dircal.decide._paid import paid as paid
from dircal.decide._realised_cost import RealisedCost, realised_cost
from dircal.decide._realised_cost import realised_cost_of as realised_cost_of
from dircal.decide._rejection import RejectionRule, rejection_rule
from dircal.decide._rows import DecidedRows as DecidedRows
from dircal.decide._rows import check_costs as check_costs
from dircal.decide._rows import labelled_rows as labelled_rows
from dircal.decide._savings import Savings, savings
from dircal.decide._savings import savings_of as savings_of

__all__ = [
    "CostTable",
    "Decisions",
    "ExpectedCost",
    "RealisedCost",
    "RejectionRule",
    "Savings",
    "best_actions",
    "expected_cost",
    "realised_cost",
    "rejection_rule",
    "savings",
]
