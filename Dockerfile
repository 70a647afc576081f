# foro serve as a user without rights; the root may be read-only:
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges -e FORO_TEACH_TOKEN -p 8000:8000 -v models:/models foro
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/foro && /opt/foro/bin/pip install --no-cache-dir ".[serve]"

FROM python:3.12-slim
COPY --from=build /opt/foro /opt/foro
RUN useradd --system --uid 10001 --home-dir /models --shell /usr/sbin/nologin foro \
    && install --directory --owner foro --group foro --mode 0750 /models
USER 10001
WORKDIR /models
VOLUME /models
ENV PATH=/opt/foro/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 TMPDIR=/models
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
# Without FORO_TEACH_TOKEN or FORO_READ_TOKEN it does not start: everybody who reaches the port could teach.
ENTRYPOINT ["foro", "serve", "--host", "0.0.0.0"]
CMD ["/models/model.foro"]
