"""Work in the background: every result on a page comes from here.

A page asks for a `Request` (an experiment, its parameters, a seed) and gets a `Job`: the one there
is for an equal request, whoever made it, else a new one. It waits in the queue's quick lane, whose
threads compute pictures that take moments, or in the heavy lane, whose threads give public pools
and long studies to one pool of worker processes. A job in the quick lane that lacks its pool moves
to the heavy one. A job that no page has looked at for a while stops between two parts.

`job` has one job, `queue` all of them, `work` what they do, `progress` what a page shows.
"""
