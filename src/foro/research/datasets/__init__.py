"""Images, data sets and streams of tasks.

``load_dataset`` in ``registry`` is the way in, ``class_incremental`` in ``streams`` cuts what it gives into tasks; each
data set is one file with one decorated function.
"""
