"""What knows Streamlit and is not a page.

`router` holds the page table, `knobs` what can be set, `controls` the widgets made from it, `link`
the address that reproduces a view, `jobs` the work in the background, `line` whose turn it is,
`steps` what is done, `watch` what a page shows of it, `blocks` what recurs on pages, `meaning` what
ε means in odds, `export` the downloads. `verbatim` shows what comes from outside as text, `gate` is
who may talk to the server, `served` what holds where others use it.
"""
