"""Scripts that make the files in ``assets`` again; each says how long it takes.

Run them by hand from the project's folder, as ``python -m tools.first_view``. Only tests import
them, to compare part of each file with newly computed numbers.
"""
