# ABCDP Explorer for others: see docs/serve.md.
FROM python:3.11-slim-bookworm AS packages
COPY requirements-uv.lock /
RUN python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes -r /requirements-uv.lock
COPY requirements.lock /
RUN uv venv /packages
RUN uv pip install --python /packages --no-cache --compile-bytecode --require-hashes -r /requirements.lock

FROM python:3.11-slim-bookworm
COPY --from=packages /packages /packages
WORKDIR /app
COPY app.py ./
COPY .streamlit/config.toml .streamlit/
COPY abcdp_core abcdp_core/
COPY assets assets/
COPY examples examples/
COPY pages pages/
COPY ui ui/
# Nothing is written beside the code later, so compile it now.
RUN /packages/bin/python -m compileall -q .
# Pools and compiled functions are kept here; everything else may be read-only.
RUN install --directory --owner 10001 --group 10001 /cache
VOLUME /cache
# The record of spent budgets has to outlive the container.
RUN install --directory --owner 10001 --group 10001 /ledger
VOLUME /ledger
USER 10001:10001
ENV PATH=/packages/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    ABCDP_CACHE_DIR=/cache/abcdp \
    ABCDP_LEDGER=/ledger/budgets.db \
    ABCDP_SERVED=1
EXPOSE 8501
# Compare the body: Streamlit answers 200 to any path.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; assert u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4).read() == b'ok'"]
CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.port", "8501"]
