# The image of the gateway, with the command countersign for the containers of agents (deploy/kubernetes/agent.yaml). From the root of the checkout:
#   docker build -f deploy/docker/gateway.Dockerfile -t countersign-gateway .
# Node runs the sources: nothing is built. Among the packages are ioredis, for gateways that share nonces, and sodium-native, which verifies in half the time.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN npm ci --omit=dev --workspace packages/gateway --workspace packages/cli

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/packages/protocol ./packages/protocol
COPY --from=build /app/packages/sdk ./packages/sdk
COPY --from=build /app/packages/gateway ./packages/gateway
COPY --from=build /app/packages/cli ./packages/cli
RUN ln -s /app/packages/gateway/bin/countersign-gateway.mjs /usr/local/bin/countersign-gateway \
 && ln -s /app/packages/cli/bin/countersign.mjs /usr/local/bin/countersign
USER node
EXPOSE 8181
STOPSIGNAL SIGTERM
CMD ["countersign-gateway", "--config", "/config/gateway.json"]
