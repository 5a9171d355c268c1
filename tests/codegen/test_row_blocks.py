from __future__ import annotations

import itertools
import random

import pytest

from symdiff.codegen.row_blocks import Block, Run, cover_row, cover_wanted, load_blocks, split_runs, store_blocks


@pytest.mark.parametrize("size", range(1, 20))
def test_what_is_wanted_of_a_row_is_brought_once_and_from_within_the_row(size: int) -> None:
    for wanted in itertools.islice(itertools.product((False, True), repeat=min(size, 7)), 1, None):
        elements = {size - 1 - k: 100 + k for k, want in enumerate(wanted) if want}
        blocks = list(load_blocks(elements, 4, size, False))
        brought = [(b.start + k, v) for b in blocks for k, v in enumerate(b.values) if v >= 0]
        assert sorted(brought) == sorted(elements.items())
        for block in blocks:
            assert block.port == 4
            assert 0 <= block.start <= size - len(block.values)
            assert len(block.values) in (1, 2, 3, 4, 8)


@pytest.mark.parametrize("size", range(1, 40))
def test_an_output_is_covered_from_within(size: int) -> None:
    values = list(range(100, 100 + size))
    stored: dict[int, int] = {}
    for block in store_blocks(values, 2, False):
        assert block.port == 2
        assert 0 <= block.start <= size - len(block.values)
        stored |= {block.start + k: v for k, v in enumerate(block.values)}
    assert stored == dict(enumerate(values))


def test_columns_are_moved_one_by_one() -> None:
    assert list(load_blocks({3: 7, 1: 5}, 0, 8, True)) == [Block(0, 1, (5,)), Block(0, 3, (7,))]
    assert list(store_blocks([5, 7], 1, True)) == [Block(1, 0, (5,)), Block(1, 1, (7,))]


def test_a_row_that_is_wanted_as_a_whole_is_one_block() -> None:
    assert list(load_blocks({0: 5, 1: 6, 2: 7}, 0, 3, False)) == [Block(0, 0, (5, 6, 7))]
    assert [len(b.values) for b in store_blocks(range(11), 0, False)] == [8, 4]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("widths", [(4, 2, 1), (8, 4, 2, 1), (2, 1), (1,)])
def test_each_wanted_element_is_new_in_one_block(widths: tuple[int, ...], narrow: bool) -> None:
    rng = random.Random(7)
    for _ in range(300):
        size = rng.randint(1, 30)
        wanted = set(rng.sample(range(size), rng.randint(0, size)))
        found: list[int] = []
        for start, width, first in cover_wanted(wanted, size, widths, narrow=narrow):
            assert width in widths
            assert 0 <= start <= first < start + width <= size
            found += [e for e in range(first, start + width) if e in wanted]
        assert found == sorted(wanted)


def test_wide_blocks_lie_at_multiples_of_their_width_and_narrow_ones_hold_what_is_wanted() -> None:
    assert list(cover_wanted({1, 2, 9}, 16, (4, 2, 1))) == [(0, 4, 1), (8, 4, 9)]
    assert list(cover_wanted({1, 2, 9}, 16, (4, 2, 1), narrow=True)) == [(1, 2, 1), (9, 1, 9)]
    assert list(cover_wanted({8}, 9, (4, 2, 1))) == [(5, 4, 8)]  # the last block overlaps


def test_a_row_is_covered_with_few_blocks() -> None:
    assert list(cover_row(7, (4, 2, 1))) == [(0, 4), (3, 4)]
    assert list(cover_row(6, (8, 4, 2, 1))) == [(0, 4), (4, 2)]
    assert list(cover_row(0, (4, 2, 1))) == []


def test_runs_of_a_constant_are_apart_from_what_is_stored() -> None:
    zeros, others = [7] * 40, [1, 2, 3]
    assert split_runs([*others, *zeros, 1, *zeros], {7}) == ([Run(3, 43, 7), Run(44, 84, 7)], [(0, 3), (43, 44)])
    assert split_runs(zeros, {7}) == ([Run(0, 40, 7)], [])
    assert split_runs(zeros, {8}) == ([], [(0, 40)])  # equal values that are computed
    assert split_runs([7] * 31 + [8] * 31, {7, 8}) == ([], [(0, 62)])
    assert split_runs([7, 7, 1, 7], {7}, 1) == ([Run(0, 2, 7), Run(3, 4, 7)], [(2, 3)])
    assert split_runs([], {7}) == ([], [])


@pytest.mark.parametrize("seed", range(20))
def test_runs_and_blocks_cover_an_output(seed: int) -> None:
    rng = random.Random(seed)
    values: list[int] = []
    for _ in range(12):
        values += [rng.choice((7, 8, 100 + rng.randint(0, 9)))] * rng.choice((1, 2, 3, 33, 50))
    runs, rest = split_runs(values, {7, 8})
    stored = {e: run.value for run in runs for e in range(run.start, run.stop)}
    assert all(run.value in (7, 8) for run in runs)
    for block in store_blocks(values, 0, False, rest):
        stored |= {block.start + k: v for k, v in enumerate(block.values)}
    assert stored == dict(enumerate(values))
