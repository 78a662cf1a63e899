"""Figures, data and settings to files, and back.

``EXPERIMENT.csv`` is the table ``main`` and ``EXPERIMENT.TABLE.csv`` another one, with every number
in full precision; ``EXPERIMENT.json`` says how they were made and how to make them again;
``EXPERIMENT.FIGURE.html``, ``.svg``, ``.png``, ``.pdf`` are the figures. Nothing that is written
needs a network to be read.

| module | what it does |
|---|---|
| :mod:`.formats` | the formats there are, and the names of files |
| :mod:`.tables` | tables as CSV, and what kind of values a column holds |
| :mod:`.settings` | all that is known about a result beside its tables, and its command |
| :mod:`.page` | a figure as a page in HTML |
| :mod:`.images` | figures as SVG, PNG and PDF, drawn by a browser |
| :mod:`.files` | a result as files in a folder, and read again |
| :mod:`.together` | several files written so that a killed overwrite is noticed |
| :mod:`.bundle` | several results in one archive |
| :mod:`.single` | one figure as one file |
| :mod:`.citation` | how to cite what is made here |
"""
