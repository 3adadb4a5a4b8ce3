# Two images: `service` (api, tasks, beat, and commands such as `ratchet backup`) and `worker`, which has what an agent
# needs and nothing of the service's packages. Both are for x86-64 and aarch64. Nothing was built when this was written,
# as no container engine was at hand: tests read this file and resolve what it installs for both.
FROM python:3.12.12-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY app app
COPY workers workers
COPY ratchet_perf ratchet_perf
COPY migrations migrations
COPY dashboards dashboards

FROM build AS build-service
RUN python -m venv /opt/ratchet \
 && /opt/ratchet/bin/pip install --no-cache-dir --constraint constraints.txt '.[server,backup]'

FROM build AS build-worker
RUN python -m venv /opt/ratchet \
 && /opt/ratchet/bin/pip install --no-cache-dir --constraint constraints.txt '.[celery,nvidia]' uv

FROM python:3.12.12-slim-bookworm AS base
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home ratchet && install -d -o ratchet -g ratchet /data /work /backups /token
COPY deploy/with-secrets /usr/local/bin/with-secrets
ENV PATH=/opt/ratchet/bin:$PATH PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["with-secrets"]

FROM base AS worker
COPY --from=build-worker /opt/ratchet /opt/ratchet
USER ratchet
CMD ["ratchet-worker"]

# The last one is what `docker build .` makes.
FROM base AS service
COPY --from=build-service /opt/ratchet /opt/ratchet
USER ratchet
EXPOSE 8440
CMD ["ratchet", "api"]
