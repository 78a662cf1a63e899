"""Start the app: ``streamlit run app.py``.

Streamlit's server imports this file and serves ``app``; for every visitor it runs the file as a
script, as tests without a browser do, and then nothing is left to define.
"""

import streamlit as st

from ui import router, start

if __name__ == "__main__":
    router.main()
else:
    app = st.App(
        __file__, middleware=start.middleware(), routes=start.ROUTES, lifespan=start.lifespan
    )
