"""What knows Streamlit and is not a page.

`server` decides which requests come in and draws one page at a time; `jobs` works in the
background; `view` is a page as its knobs stand, made once a run and passed on; `widgets` are the
knobs and the ways to share them; `figures` are pictures with what belongs to them; `parts` are what
one page or the lessons show; `release` takes a person's own data; `poll` holds live polls. Above
all, `router` draws a page and `start` serves it; below all, `verbatim` shows text from outside.
"""
