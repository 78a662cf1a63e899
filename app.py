"""Start the app: ``streamlit run app.py``.

Streamlit's server imports this file and serves ``app``; for every visitor it runs the file as a
script, as tests without a browser do, and then nothing is left to define.
"""

import streamlit as st

from ui import gate, router, warm

if __name__ == "__main__":
    router.main()
else:
    visits = warm.Visits()
    app = st.App(
        __file__, middleware=gate.middleware(visits.expect), lifespan=visits.beside_the_server
    )
