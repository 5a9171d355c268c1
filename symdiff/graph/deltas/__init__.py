"""Products with index deltas: a delta renames an index, and is never multiplied element by element.

Takes
    factors with labels on their axes, some of them deltas; slices, paddings and masks of such products
Gives
    a product without the deltas that a summed index can absorb; those that remain are structure
Invariants
    * Values are those of the same product with dense identities.
    * All products of the calculus are made by ``einsum.einsum``, so no delta is summed by mistake.
Files
    affine              slices and paddings of a delta are deltas, by arithmetic on their numbers
    contraction_order   the planner: which two factors of a product are multiplied first
    einsum              the constructor of products, which applies the two
    parts               zeros around a part: only what meets the part is multiplied and summed
    structural          deltas kept as factors through slices, paddings and masks
Add
    another factor with structure: ``is_structured`` in ``einsum``, and its meeting with an index in ``eliminate``
"""
