"""The paper's protocol: streams of tasks through methods, results on disk, and its tables and figures from them.

Imports point one way: datasets and methods <- baselines <- protocol <- studies <- tables. Methods and data sets are
found by importing every file of their rooms; studies and formats of tables are entries of one table each.
Only the command line and, on first use, ``foro.load_dataset`` import this package; it may use ``foro.cluster``.
"""
