"""Random tests without end: ``python -m fuzz`` draws cases from a seed and tries to break symdiff.

A kind of case is drawn by one module (texts, values, layouts, files, arguments, strangers), listed in
:mod:`fuzz.kinds`, and run in a process of its own with limits of time and memory
(:mod:`fuzz.workers`), so that a hang or a crash is a finding like any other.
"""
