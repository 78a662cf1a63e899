"""The commands of the command line, one file each: ``add_options(parser)``, ``run(options)``.

Only the file of the requested command is imported; its docstring is its help.
"""
