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
    vocabulary      functions that text may call
    values          numbers, lists and tuples, elements by index
    letters         letters and functions that a text has for itself
    parse           a whole text: lines, terms, results, inputs
    matrixcalculus  the language of matrixcalculus.org
    dialects        the table of languages
Add
    a function: a row in ``frontend/numpy/library``; an operator: ``ground/grammar`` and ``parse``; a language: a file
    with a reader, and its row of ``dialects``
"""
