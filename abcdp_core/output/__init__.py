"""Write figures, data and settings to files, and read them.

``EXPERIMENT.csv`` is the table ``main`` and ``EXPERIMENT.TABLE.csv`` another table, in full
precision. ``EXPERIMENT.json`` says how they were made and how to reproduce them.
``EXPERIMENT.FIGURE.html``, ``.svg``, ``.png`` and ``.pdf`` are the figures. All work offline.
"""
