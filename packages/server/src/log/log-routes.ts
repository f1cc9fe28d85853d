import {
  agentLogSchema,
  CodedError,
  logSchema,
  openingsSchema,
  parseDidOrTail,
} from '@countersign/protocol'
import { Type } from 'typebox'
import { forApiKeys, type OwnerRouteContext, ownerSchema } from '../accounts/owners/owner-routes.ts'
import { findOrThrow, OWN_AGENT, ownAgentParam, type ReadDeps } from '../agents/find-agent.ts'
import { CACHE_FOREVER, REVALIDATE } from '../http/caching.ts'
import { publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import { listOpenings } from './openings.ts'
import {
  describeLog,
  type LogReadDeps,
  logOfAgent,
  proveKey,
  readTile,
  servedLog,
} from './read-log.ts'

export type LogRouteDeps = LogReadDeps & ReadDeps

/** The transparency log (C2SP tlog-tiles): `/log/` is the current one, `/log/{epoch}/` every one. */
export function logRoutes(app: App, deps: LogRouteDeps): void {
  const { naming } = deps.site
  publicRead(app, naming, {
    url: '/log',
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'log',
      summary: 'The transparency log: its name, its key and its size',
      tags: ['check'],
      response: { 200: logSchema() },
    },
    handler: () => describeLog(deps),
  })
  for (const prefix of ['/log', '/log/:epoch']) {
    const isEpoch = prefix !== '/log'
    publicRead(app, naming, {
      url: `${prefix}/checkpoint`,
      cacheControl: REVALIDATE,
      schema: {
        operationId: isEpoch ? 'epochCheckpoint' : 'logCheckpoint',
        summary: isEpoch
          ? 'The newest checkpoint of one of the logs'
          : 'The newest checkpoint of the transparency log',
        description:
          'A signed note (C2SP tlog-checkpoint). Beside it are the tiles, at `tile/<L>/<N>[.p/<W>]` and `tile/entries/<N>[.p/<W>]` (C2SP tlog-tiles).',
        tags: ['check'],
        ...(isEpoch ? { params: epochParam() } : {}),
        response: { 200: textSchema('The signed note') },
      },
      handler: async (params: { epoch?: string }, reply) => {
        const { signed } = await servedLog(deps, epochOf(params.epoch))
        reply.type('text/plain; charset=utf-8')
        return signed
      },
    })
    publicRead(app, naming, {
      url: `${prefix}/tile/*`,
      cacheControl: CACHE_FOREVER,
      // A path of several segments, which OpenAPI cannot describe.
      schema: { hide: true, response: {} },
      handler: async (params: { epoch?: string; '*': string }, reply) => {
        const bytes = await readTile(deps, epochOf(params.epoch), `tile/${params['*']}`)
        reply.type('application/octet-stream')
        return Buffer.from(bytes)
      },
    })
  }
  agentRoutes(app, deps)
}

function agentRoutes(app: App, deps: LogRouteDeps): void {
  const { naming } = deps.site
  publicRead(app, naming, {
    url: '/log/proof/:agent',
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'logProof',
      summary: 'A proof that the current key of an agent is in the transparency log',
      description: 'C2SP tlog-proof. `extra` is the entry.',
      tags: ['check'],
      params: didParam(),
      response: { 200: textSchema('The proof') },
    },
    handler: async (params: { agent: string }, reply) => {
      const { agent } = await findNamed(deps, params.agent)
      reply.type('text/plain; charset=utf-8')
      return proveKey(deps, agent.tail)
    },
  })
  publicRead(app, naming, {
    url: '/log/agent/:agent',
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'agentLog',
      summary: 'The entries of the transparency log about an agent',
      tags: ['check'],
      params: didParam(),
      querystring: fromQuery(),
      response: { 200: agentLogSchema(naming) },
    },
    handler: async (params: { agent: string }, reply) => {
      const { agent } = await findNamed(deps, params.agent)
      return logOfAgent(deps, agent.tail, fromOf(reply.request.query))
    },
  })
}

function findNamed(deps: ReadDeps, reference: string) {
  const tail = parseDidOrTail(deps.site.naming, reference)
  if (tail !== null) return findOrThrow(deps, { kind: 'tail', tail })
  throw new CodedError('VALIDATION_ERROR', 'The URL must name a DID or its 24-character tail.')
}

/** @throws CodedError NOT_FOUND */
function epochOf(text: string | undefined): number | null {
  if (text === undefined) return null
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text)
  throw new CodedError('NOT_FOUND', 'There is no such log.')
}

/** The query of a page of entries. */
function fromQuery() {
  return Type.Object({
    from: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,15}$',
        description: 'the index to begin with; `next` of the page before',
      }),
    ),
  })
}

/** @param query that `fromQuery` has admitted */
function fromOf(query: unknown): number {
  return Number((query as { from?: string }).from ?? 0)
}

function epochParam() {
  return Type.Object({ epoch: Type.String({ description: 'the number of a log, from 1' }) })
}

function didParam() {
  return Type.Object({ agent: Type.String({ description: 'a DID, or its 24-character tail' }) })
}

function textSchema(description: string) {
  return { description, content: { 'text/plain': { schema: { type: 'string' } } } }
}

/** Registers the route by which owners download what the commitments about their agents open to. */
export function openingRoutes(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.get(`${OWN_AGENT}/log`, {
    schema: ownerSchema({
      ...forApiKeys('agents:read'),
      operationId: 'agentLogOpenings',
      summary: 'What the commitments of the transparency log about an agent open to',
      params: ownAgentParam(),
      querystring: fromQuery(),
      response: { 200: openingsSchema(deps.site.naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return listOpenings(deps, ownerId, request.params.agent, fromOf(request.query))
    },
  })
}
