"""Plans: the graph of a whole call, cut into steps over arrays.

Takes
    the formula of one sample, and which inputs have the batch (``calls.plan_call``)
Gives
    a :class:`~symdiff.lowering.plan.plan.Plan`, and with the lengths of its axes bound plans: arrays and steps of
    numbers, which
    the executor (``_kernels/plan``) runs
Invariants
    * What a step is depends on the formula, the sizes of one sample and what samples share, never on how many samples
      or threads there are, and on nothing that is measured.
    * A bound plan holds numbers and messages alone: nothing of a graph, and nothing of a caller's arrays.
    * A tile of samples is gone through once: no step of a tile reads what all tiles give.
Files
    batch         the formula of one sample as the formula of a call
    products      products in the cheapest order, and which are worth a step of their own
    turning       loops that carry cotangents back as parts of the loops before them
    distribution  functions that no step of a loop waits for, of all steps at once
    sums          sums of opposite and of moved arrays, before they are cut into steps
    access        ranges of indices, and where along each axis an element stands
    element       one element of an array formula
    steps         the kinds of steps
    cost          what a step takes
    dump          plans as text
    plan          steps in an order in which they can run
    planner       from a graph to a plan
    calls         from the formula of one sample to a plan
    bound         bound plans, as the executor takes them
    bind          numbers for letters; steps that run for parts of a long axis
Add
    a pass: a function of nodes, and a line in ``planner.make_plan``; an operation whose elements do not depend on each
    other: a rule in ``element``;
    a kind of step: a tuple in ``steps``, where ``planner`` chooses it, its numbers in ``bind`` and ``bound``, and a
    row of the table of steps in ``_kernels/plan``
"""
