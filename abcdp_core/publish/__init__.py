"""What leaves the program: files and pages, claims of papers judged, lessons.

Results of studies go in, files and verdicts come out. Begin with :mod:`.output` (a result in a
folder). :mod:`.claims` judges what papers state by tables of studies: its ``judge`` applies a
claim's rule, one of :mod:`.claims.rules`. :mod:`.lessons` fills texts with numbers from them.
"""
