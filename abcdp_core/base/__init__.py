"""What everything stands on: parameters, files read and written, numbers in words.

It knows no scenario, mechanism or study. Begin with :mod:`.parameters` (a choice and its bounds)
and :mod:`.registry` (how files of scenarios, mechanisms and studies are found); :mod:`.tabular`
reads tables, :mod:`.statistic` derives sensitivities from cases.
"""
