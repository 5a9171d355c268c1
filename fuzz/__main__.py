"""The command: ``python -m fuzz [--kind NAME] [--seed S] [--count N] [--seconds T]``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from .case import Case, Kind, case_of
from .kinds import KINDS
from .workers import Worker

#: Tries at making a finding smaller.
_TRIES = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print; return 1 if anything was found."""
    parser = argparse.ArgumentParser("python -m fuzz", description="Draw random cases and try to break symdiff.")
    parser.add_argument("--kind", action="append", choices=[*KINDS], help="may come more than once; by default all")
    parser.add_argument("--seed", type=int, help="by default another one each time")
    parser.add_argument("--first", type=int, default=0, metavar="I", help="number of the first case")
    parser.add_argument("--count", type=int, metavar="N", help="cases of each kind")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="T", help="for all kinds together (60)")
    given = parser.parse_args(arguments)
    seed = time.time_ns() % 10**9 if given.seed is None else given.seed
    kinds = [KINDS[name] for name in dict.fromkeys(given.kind or KINDS)]
    print(f"seed {seed}")
    found = 0
    begin = time.monotonic()
    for k, kind in enumerate(kinds):
        left = given.seconds - (time.monotonic() - begin)
        found += explore(kind, seed, given.first, given.count, left / (len(kinds) - k))
    print(f"{found} findings" if found else "nothing found")
    return 1 if found else 0


def explore(kind: Kind, seed: int, first: int, count: int | None, seconds: float) -> int:
    """Run cases of one kind until the count or the time is over; print each finding, and return how many there are."""
    found: dict[str, int] = {}
    number, begin = first, time.monotonic()
    with Worker(kind) as worker:
        while (count is None or number < first + count) and (time.monotonic() - begin < seconds or number == first):
            case = case_of(kind, seed, number)
            wrong = worker.run(case)
            if wrong:
                found[_alike(wrong)] = found.get(_alike(wrong), 0) + 1
                if found[_alike(wrong)] == 1:
                    print(f"\n{kind.name}: {wrong}")
                    print(f"  again: python -m fuzz --kind {kind.name} --seed {seed} --first {number} --count 1")
                    print(f"  case:  {smallest(worker, case, wrong)!r}", flush=True)
            number += 1
    more = sum(found.values()) - len(found)
    print(f"{kind.name}: {number - first} cases, {len(found)} findings" + (f" ({more} more like them)" if more else ""))
    return len(found)


def smallest(worker: Worker, case: Case, wrong: str) -> Case:
    """Return the smallest case found in a few tries that fails in the same way."""
    tries = _TRIES if worker.kind.seconds < 30 and "no end" not in wrong else 12
    again = True
    while again:
        again = False
        for other in worker.kind.smaller(case):
            tries -= 1
            if tries < 0:
                return case
            if _alike(worker.run(other)) == _alike(wrong):
                case, again = other, True
                break
    return case


def _alike(wrong: str) -> str:
    """Return what two findings of one cause have in common: their first words, without numbers."""
    return "".join(c for c in wrong[:60] if not c.isdigit())


if __name__ == "__main__":
    sys.exit(main())
