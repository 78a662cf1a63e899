"""The commands of the command line, one file each: ``add_options(parser)``, ``run(options)``.

Only the file of the command that is given is imported; its docstring is its help.
"""
