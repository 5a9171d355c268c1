"""The ground of every stage: limits, the budget of one call, files, and what a public function needs.

Takes
    nothing of a formula: no module here knows nodes
Gives
    bounds and the account of work, names, the guard of public functions, the format of pickles, traces
Invariants
    * Nothing but :mod:`symdiff.errors` and compiled code is imported from the rest of the package.
    * An error that reaches a user is symdiff's own, and a file appears whole or not at all.
    * Tracing that is off costs less than a microsecond a stage.
Files
    stages     the stages in the order of their imports, and modules of later ones that earlier ones call
    version    the version of the package
    limits     limits and options with their defaults
    names      which texts are names
    budget     the account of work of one public call
    grammar    formula text to a syntax tree
    advice     what to write in place of names that other libraries have
    guard      unforeseen errors of public functions as errors of symdiff
    files      writing files whole or not at all
    tracing    what each stage made of a formula, as files
    pickles    the format of pickles
    progress   how far a long call is
    gc_pause   a pause of the cyclic collector while graphs grow, and what rules note meanwhile
Add
    a limit: a field of ``limits``; a stage: a row of ``stages``
"""
