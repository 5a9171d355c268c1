"""What is done to the graph of a call before it is cut into steps.

Takes
    the formula of one sample
Gives
    the formula of the whole call, with the axis of tiles, products of two arrays, and solutions in place of inverses
Invariants
    * A pass makes nodes from nodes; none of them decides what is a step.
Files
    batch      the formula of one sample as the formula of a call
    tiles      a long axis of one sample in place of the batch
    inverses   functions of large matrices; inverses as solutions
    products   products in the cheapest order, and which are worth a step of their own
    negatives  sums of x and of -x as one
    summands   sums of arrays, whose terms a loop makes beside other results
    stencils   arrays that are read at many places, and may be steps of their own
Add
    a pass: a function of nodes here, and a line in ``planner.make_plan``
"""
