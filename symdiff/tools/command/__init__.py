"""The command line, and the page in a browser that it serves.

Takes
    text that a person typed, or a request of a browser
Gives
    text on a terminal, files, an exit code; answers in JSON
Invariants
    * Whatever symdiff refuses is printed as its message, with exit code 2. A traceback is a defect.
    * With ``--json`` standard output is one JSON object, and the exit code is the same.
    * Results are written complete or not at all, and what would prevent it is found out first.
    * The page fetches nothing from another host; a formula of the page is read in a process that is ended where it
      takes too long.
Files
    read_files    arrays from .npy, .npz, .csv and .parquet
    write_files   results into such files
    options       shapes, numbers, columns and kinds of derivative from options
    frame         the frame of all commands
    shown         results as they are printed
    stream        evaluation of some rows at a time
    inspect       check, report, bench, completion
    demo          a piece of work from data to plot (``iris.csv``), beside other ways to do it
    answers       questions about formulas, answered in a process of its own
    server        the page (``page.html``, ``page.css``, ``page.js``), and such processes
    cli           one function a command
Add
    a command: a function in ``cli`` or ``inspect`` with click
    a question: a function in ``answers``, and what ``page.js`` does with the answer
"""
