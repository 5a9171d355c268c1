"""A page to try formulas on, in a browser on this machine.

Takes
    requests of a browser: a formula, shapes, what is declared of inputs, and what is asked for
Gives
    the page, and answers in JSON
Invariants
    * A stranger's text is read by the budget "strict", in a process that is ended where it takes too long.
    * No text of a request reaches HTML: answers are JSON, and the page shows them as text, or as MathML whose elements
      it knows.
    * Nothing is fetched from another host.
Files
    answers      what is asked of formulas, answered in a process of its own
    workers      such processes, each ended and replaced where a formula hangs
    app          the application, and which requests it takes
Add
    a question: a function in ``answers``, and what ``page.js`` does with the answer; ``page.html`` is the page, and
    ``page.css`` its look, light and dark, on a screen and a phone
"""
