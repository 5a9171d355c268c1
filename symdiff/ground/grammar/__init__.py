"""Formula text to a syntax tree: the language that users write formulas in, and rewriting its equations.

Takes
    text, the limits
Gives
    ``Tree``: a flat list of terms, children before parents, each with its place in the text
Invariants
    * Each limit is checked before the time or memory is spent; nothing recurses, nothing is executed.
    * An error names the place with a caret, in the words of the formula.
Files
    tokens   characters to tokens
    syntax   tokens to a flat tree
Add
    an operator: ``tokens``, ``syntax``, and what reads trees (``frontend/text/parse``)
"""
