"""Tables as people have them: files of health offices, national sites, R, pandas and spreadsheets.

    bytes --table.parse--> Table of text --columns--> numbers, labels --days--> one number a day

No error holds a value: a file is named by row and column, and what to do about it.

===========  =====================================================================================
encoding     UTF-8 with or without its mark, UTF-16 with it, else Latin-1, which is said
columns      separated by comma, semicolon or tab; in double quotes or not
header       the first row, unless the file is one column and its first row is a number
row numbers  an unnamed first column that counts from 0 or 1, as R and pandas write it, is left out
numbers      ``12.5``, ``1e3``; a decimal comma where commas do not separate columns; thousands only
             where their separator is named
dates        ``2020-03-31``, ``2020/3/31``, ``20200331``, ``31.3.2020``; others with their format
===========  =====================================================================================

Rows are counted as a spreadsheet counts them, the header included.
"""

from abcdp_core.tabular import pools
from abcdp_core.tabular.columns import categories, labels, numbers, whole_numbers
from abcdp_core.tabular.days import differences, in_order, looks_cumulative
from abcdp_core.tabular.table import LARGEST_FILE, Table, TableError, content_of, parse

__all__ = [
    "LARGEST_FILE",
    "Table",
    "TableError",
    "categories",
    "content_of",
    "differences",
    "in_order",
    "labels",
    "looks_cumulative",
    "numbers",
    "parse",
    "pools",
    "whole_numbers",
]
