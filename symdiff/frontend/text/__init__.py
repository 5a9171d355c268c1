"""Formula text to symbolic arrays: a language of its own, parsed without recursion and never executed.

Takes
    text, the shapes of its inputs, the limits
Gives
    ``Parsed``: results, inputs, definitions
Invariants
    * Only functions of ``vocabulary`` can be reached.
    * Each limit is checked before the time or memory is spent; nothing recurses.
    * An error names the place with a caret, in the words of the formula.
Files
    constant_folding   arithmetic on plain numbers, with bounds
    vocabulary         what text may call
    values             lists, tuples and numbers on their way to an array
    indexed            elements by index, behind an arrow
    sums               letters that a part of the text has for itself; sums over a whole number
    given_functions    functions that the caller gives to a text
    text_functions     functions that a text defines, written out
    build              the tree to arrays
    parse              all of it
    dialects           the languages of others
Add
    a function: a row in ``frontend/numpy/library``; an operator: ``symdiff/grammar`` and ``build``
"""
