"""What a page is, what its knobs stand at, and how it is drawn: :mod:`ui.view.router`."""
