"""Write figures, data and settings to files, and read them.

``EXPERIMENT.csv`` is the table ``main`` and ``EXPERIMENT.TABLE.csv`` another table, in full
precision. ``EXPERIMENT.json`` says how they were made and how to reproduce them.
``EXPERIMENT.FIGURE.html``, ``.svg``, ``.png`` and ``.pdf`` are the figures. All work offline.

Results go in, texts and files come out. Begin with :mod:`.files` (a result in a folder);
:mod:`.tables`, :mod:`.settings` and :mod:`.images` make its parts; :mod:`.bundle` and
:mod:`.single` pack them. :mod:`.story`, :mod:`.player`, :mod:`.poll_file` and :mod:`.poll_page`
are about the story, the player and polls.
"""
