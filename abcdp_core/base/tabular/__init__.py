"""Read tables from health offices, national sites, R, pandas and spreadsheets.

    bytes --table.parse--> Table of text --columns--> numbers, labels --days--> one number per day

No error shows a value: it names the row and the column, and says what to do.

===========  =====================================================================================
encoding     UTF-8 with or without a byte order mark, UTF-16 with one, else Latin-1 with a note
columns      separated by comma, semicolon or tab; in double quotes or not
header       the first row, unless the file is one column and its first row is a number
row numbers  an unnamed first column that counts from 0 or 1, as R and pandas write it, is skipped
numbers      ``12.5``, ``1e3``; a decimal comma if commas do not separate columns; thousands only
             if their separator is named
dates        ``2020-03-31``, ``2020/3/31``, ``20200331``, ``31.3.2020``; others with their format
===========  =====================================================================================

Rows are counted as in a spreadsheet, including the header.
"""

from abcdp_core.base.tabular import pools
from abcdp_core.base.tabular.columns import categories, labels, missing, numbers, whole_numbers
from abcdp_core.base.tabular.days import carried, differences, in_order, looks_cumulative
from abcdp_core.base.tabular.table import LARGEST_FILE, Table, TableError, content_of, parse
