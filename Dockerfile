# Withhold in a container: docker build -t withhold . (see docs/docker.md)
ARG PYTHON=3.11.13-slim-bookworm

FROM python:${PYTHON} AS build
# An index with CPU builds of torch makes the image several GiB smaller: see docs/docker.md.
ARG PIP_EXTRA_INDEX_URL
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY recipes recipes
COPY src src
RUN python -m pip wheel --no-deps --wheel-dir /wheels .
RUN python -m venv /opt/withhold
RUN /opt/withhold/bin/python -m pip install -c constraints.txt "$(ls /wheels/*.whl)[media,excel,onnx]"

FROM python:${PYTHON}
LABEL org.opencontainers.image.title="withhold" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin withhold \
    && mkdir /data \
    && chown withhold:withhold /data
COPY --from=build /opt/withhold /opt/withhold
ENV PATH=/opt/withhold/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OMP_WAIT_POLICY=PASSIVE
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["withhold"]
CMD ["--help"]
