"""Values that are computed when they are first asked for, and kept."""

import functools
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - it stands for the other
        """`functools.cached_property` without the lock that it has in Python 3.11.

        There is one for all objects of a class: threads wait for each other, and in a child forked
        while a thread computes nobody ever opens it. Without it two threads may both compute, and
        both get the value of the first.
        """

        def __get__(self, instance, owner=None):
            """The value, computed; the next time it is found before this is asked."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
