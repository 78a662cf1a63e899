"""How to cite results; CITATION.cff says the same in a machine-readable form."""

from __future__ import annotations

from abcdp_core import __version__

PAPERS = (
    "Mijung Park, Margarita Vinaroz, Wittawat Jitkrittum: ABCDP: Approximate Bayesian Computation "
    "with Differential Privacy. Entropy 23(8):961, 2021. doi:10.3390/e23080961",
    "Mijung Park, Wittawat Jitkrittum: ABCDP: Approximate Bayesian Computation Meets Differential "
    "Privacy. arXiv:1910.05103, 2019 (older version: rejection and soft weights with Gaussian "
    "noise)",
    "Sinan Yıldırım: Differentially private online Bayesian estimation with adaptive truncation. "
    "arXiv:2301.08202, 2023",
    "Yifei Xiong, Nianqiao Phyllis Ju, Sanguo Zhang: Simulation-based Bayesian Inference from "
    "Privacy Protected Data. Transactions on Machine Learning Research, 2025. arXiv:2310.12781 "
    "(the published queries)",
)

TEXT = (
    f"Made with ABCDP Explorer, version {__version__}, by the ABCDP Explorer authors. Please cite "
    "it, and the papers whose methods it shows."
)

BIBTEX = f"""@software{{abcdp_explorer,
  title   = {{{{ABCDP Explorer}}}},
  author  = {{{{The ABCDP Explorer authors}}}},
  version = {{{__version__}}},
}}"""

IN_FULL = "\n\n".join([TEXT, *PAPERS, BIBTEX]) + "\n"
"""The citation with the papers."""
