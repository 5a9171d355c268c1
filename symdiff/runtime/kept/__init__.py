"""Records of compiled formulas, kept between processes: programs, plans and code of the interpreter.

Takes
    a formula as it was given, and the options that decide what is made of it
Gives
    what was made of it before, by any process of this user, or a place to keep it
Invariants
    * A record is a value: numbers, text and bytes. Reading one runs nothing, and what is not as it was written is
      passed over as if it were not there.
    * Whatever a record depends on is part of its key: the formula, shapes, options, the budget, this machine, and the
      files of symdiff itself.
Files
    plain     plain values as bytes, and back
    encoding  programs, plans and code of the interpreter as plain values
    lookup    names, parts and files of records
Add
    a form: a pair of functions in ``encoding``
"""
