"""Start the app: ``streamlit run app.py``."""

from ui import router

if __name__ == "__main__":
    router.main()
