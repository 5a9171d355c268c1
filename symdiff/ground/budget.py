"""A budget of work: how much one public call may make and do for a formula, counted and not timed.

A short text can ask for a great deal: a derivative of high order, a product of large arrays, a
size that doubles with every line. So whatever makes something (nodes, numbers, text) or walks
over it charges the account of the call it works for, and the call is refused where the account
is empty. Counts are the same on every machine and under any load, so that a formula is refused
everywhere or nowhere.

The account belongs to the context of the call: threads and tasks do not see each other's, and a
call within a call charges the outer one. Without an account, as for symbols, nothing is counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

from .._kernels.system.scopes import Bound
from ..errors import ArgumentError, LimitError
from .limits import BUDGETS, LIMITS, Budget, Limits

P = ParamSpec("P")
T = TypeVar("T")


#: Steps that a node takes to make and to put where it belongs.
NODE_STEPS = 3
#: Nanoseconds of a step.
STEP_TIME = 10_000


class Account:
    """Rest of a budget."""

    __slots__ = ("budget", "memory", "nodes", "steps")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.nodes = budget.nodes
        self.steps = budget.steps
        self.memory = budget.memory

    def refuse(self, what: str) -> NoReturn:
        """Raise the error of an empty account."""
        most = getattr(self.budget, what)
        done = {
            "nodes": f"more than {most} nodes of the formula's graph",
            "steps": f"more than {most} steps of work",
            "memory": f"more than {most} bytes of memory for numbers and text",
        }[what]
        name = self.budget.name
        raise LimitError(
            f"the formula takes {done}, which is its budget{f' ({name!r})' if name else ''}; take a smaller formula or "
            f"a lower order, or, if it comes from somebody you trust, give a larger budget: "
            f"budget=symdiff.Budget({what}={10 * most})"
            + (", or budget='default' (on the command line: without --untrusted)" if name == "strict" else "")
        )


_current: ContextVar[Account | None] = ContextVar("symdiff_account", default=None)
#: Return the account of this context, None where nothing is counted.
current = _current.get


def spend(steps: int) -> None:
    """Charge work that makes no nodes; a step is some ten microseconds at most."""
    account = current()
    if account is not None:
        account.steps -= steps
        if account.steps < 0:
            account.refuse("steps")


def reserve(memory: int) -> None:
    """Charge bytes, before they are taken; writing them is work as well."""
    account = current()
    if account is not None:
        account.memory -= memory
        if account.memory < 0:
            account.refuse("memory")
        account.steps -= memory >> 10
        if account.steps < 0:
            account.refuse("steps")


def require(memory: float) -> None:
    """Refuse what takes more memory at once than the whole budget allows."""
    account = current()
    if account is not None and memory > account.budget.memory:
        account.refuse("memory")


def balance() -> tuple[int, int, int] | None:
    """Return what is left of the account: nodes, steps and memory; None where nothing is counted."""
    account = current()
    return None if account is None else (account.nodes, account.steps, account.memory)


def charge(nodes: int, steps: int, memory: int) -> None:
    """Charge what a call took before, whose result serves again: a formula is refused whether it is known or not."""
    account = current()
    if account is not None:
        account.nodes -= nodes
        account.steps -= steps
        account.memory -= memory
        for what in ("nodes", "steps", "memory"):
            if getattr(account, what) < 0:
                account.refuse(what)


def limits() -> Limits:
    """Return the limits in force: those of the budget, where there is one."""
    account = current()
    return LIMITS if account is None else account.budget.limits


def read_budget(given: object) -> Budget | None:
    """Return the budget that an option names, None for None.

    Raises
    ------
    ArgumentError
        If there is none of that name.
    """
    if given is None or isinstance(given, Budget):
        return given
    if not isinstance(given, str) or given not in BUDGETS:
        raise ArgumentError(
            f"budget={given!r:.80}; expected {', '.join(map(repr, BUDGETS))} or a symdiff.Budget(nodes=..., steps=...)"
        )
    return BUDGETS[given]


class Opened(Bound[Account | None]):
    """Count the work of a block against a budget; within another budget, that one goes on.

    Parameters
    ----------
    given : {"default", "strict"}, Budget or None
        None counts nothing.

    Examples
    --------
    >>> from symdiff.ground.limits import Budget
    >>> with Opened(Budget(steps=10)):
    ...     spend(11)
    Traceback (most recent call last):
        ...
    symdiff.errors.LimitError: the formula takes more than 10 steps of work, which is its budget; take a smaller ...
    """

    def __init__(self, given: object) -> None:
        budget = read_budget(given)
        account = None if budget is None or current() is not None else Account(budget)
        super().__init__(_current, account, account is not None)

    def left(self, error: BaseException | None) -> None:
        """Turn what a text from strangers made fail into an error of its own."""
        strict = self.value is not None and self.value.budget.name == "strict"
        if strict and isinstance(error, RecursionError | MemoryError):
            raise LimitError(
                f"the formula is too large or too deep ({type(error).__name__}); take a smaller one"
            ) from None


def uncounted() -> Bound[None]:
    """Charge nothing meanwhile: for what looks at a formula and changes nothing."""
    return Bound(_current, None)


def _holds_text(formula: object) -> bool:
    if isinstance(formula, Mapping):
        formula = list(formula.values())
    return isinstance(formula, str) or (isinstance(formula, list | tuple) and any(map(_holds_text, formula)))


class _Calls:
    """Public calls that work on formulas now, and when the last of them was done."""

    def __init__(self) -> None:
        self.now: set[object] = set()
        self.done = 0.0


calls = _Calls()


def budgeted(function: Callable[P, T]) -> Callable[P, T]:
    """Count the work of a public function against its ``budget=``; for text that is ``"default"`` if none is given.

    What runs in the background waits for it.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        given: Any = kwargs.get("budget")
        if given is None and args and _holds_text(args[0]):
            given = "default"
        call = object()
        try:
            calls.now.add(call)
            with Opened(given):
                return function(*args, **kwargs)
        finally:
            calls.now.discard(call)
            calls.done = time.monotonic()

    return run
