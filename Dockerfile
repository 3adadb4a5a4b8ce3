# Service and agent in one image, run by a plain user; the measured code's own environments are made by the agent in
# /work. It was written without a container engine at hand, and has not been built.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY app app
COPY workers workers
COPY ratchet_perf ratchet_perf
COPY migrations migrations
COPY dashboards dashboards
RUN python -m venv /opt/ratchet \
 && /opt/ratchet/bin/pip install --no-cache-dir --constraint constraints.txt '.[server]' uv

FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home ratchet && install -d -o ratchet /data /work
COPY --from=build /opt/ratchet /opt/ratchet
ENV PATH=/opt/ratchet/bin:$PATH
USER ratchet
CMD ["ratchet", "api"]
