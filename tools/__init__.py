"""Scripts that make the files in ``assets`` again; each says how long it takes.

They are run by hand from the project's folder, as ``python -m tools.first_view``. Nothing imports
them but tests, which compare a part of each file with what is computed now.
"""
