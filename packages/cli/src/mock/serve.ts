import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  CodedError,
  type DelegationLimits,
  ERROR_STATUS,
  FEED_TYPE,
  identifySchema,
  JWS_ALGORITHMS,
  type JwsAlgorithm,
  parseAgentReference,
  parseIdentificationHeader,
} from '@countersign/protocol'
import { isSignature } from '@countersign/sdk'
import { currentKey, type MockAgent, mockAgents } from './agents.ts'
import { type MockApproval, mockApprovals, progressOf } from './approvals.ts'
import { type MockDelegate, mockDelegates } from './delegates.ts'
import type { MockSite } from './documents.ts'
import * as documents from './documents.ts'
import { serveFeed } from './feed.ts'
import { MockIssuer, STATUS_LIST_PATH } from './issuer.ts'
import { readClaim, readVerify } from './requests.ts'

const MAX_BODY_BYTES = 16 * 1024
const JSON_TYPE = 'application/json'
const DID_JSON = 'application/did+json'
const JWT_TYPE = 'application/jwt'
const SD_JWT_TYPE = 'application/dc+sd-jwt'
const KEY_SET_PATH = '/.well-known/jwks.json'

/** A mock that listens. */
export interface Mock {
  readonly url: string
  readonly agents: readonly MockAgent[]
  readonly site: MockSite
  readonly issuer: MockIssuer
  readonly delegates: readonly MockDelegate[]
  readonly approvals: readonly MockApproval[]
  close(): Promise<void>
}

/** Options of the mock. */
export interface MockOptions extends Pick<MockSite, 'naming' | 'now'> {
  /** 0: one that is free. */
  readonly port: number
  /** What the delegates may do. */
  readonly limits: DelegationLimits
}

/** What is sent. */
interface Reply {
  readonly status?: number
  readonly type?: string
  readonly body: unknown
}

/**
 * Serves sample agents on loopback, from memory: what a relying party reads of a service. Nothing can be claimed or changed.
 * @throws Error of the system if it cannot listen
 */
export async function serveMock({ port, naming, now, limits }: MockOptions): Promise<Mock> {
  const agents = mockAgents()
  const server = createServer((request, response) => {
    respond(request, response).catch((error) => send(request, response, errorReply(error)))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const site = { origin: url, naming, now }
  const issuer = new MockIssuer(site, agents)
  const served = {
    site,
    agents,
    issuer,
    delegates: await mockDelegates(issuer, agents, limits, now()),
    approvals: mockApprovals(agents, limits.origins[0] as string),
  }
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const isFeed = request.method === 'GET' && pathOf(request) === '/api/v1/feed'
    if (isFeed) return serveFeed(served.issuer, request, response)
    send(request, response, await answer(served, request))
  }
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url, ...served, close }
}

type Served = Pick<Mock, 'site' | 'agents' | 'issuer' | 'approvals'>

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?')[0] as string
}

async function answer(served: Served, request: IncomingMessage): Promise<Reply> {
  const { site, agents, issuer, approvals } = served
  const { method = '', url = '', headers } = request
  const path = pathOf(request)
  if (method === 'POST') return answerPost(site, agents, path, await readBody(request))
  if (method !== 'GET' && method !== 'HEAD') {
    throw new CodedError('METHOD_NOT_ALLOWED', 'The mock takes GET and POST.')
  }
  if (path === '/openapi.json') return { body: openapiOf(site) }
  if (path === '/api/v1/identify') {
    const value = headers[site.naming.idHeader.toLowerCase()]
    const tail = parseIdentificationHeader(site.naming, typeof value === 'string' ? value : '')
    return {
      body: documents.identifyOf(
        site,
        found(agents, (each) => each.tail === tail),
      ),
    }
  }
  const asked = approvals.find(({ id }) => path === `/api/v1/approvals/${id}`)
  if (asked !== undefined) return { body: await progressOf(asked, site, issuer) }
  const ofIssuer = await issuerDocument(issuer, site, path)
  if (ofIssuer !== null) return ofIssuer
  const [, reference = '', suffix = ''] =
    /^\/(?:api\/v1\/agent|api\/agents|agent)\/([^/]+)(\/[a-z.]+)?$/.exec(path) ?? []
  const agent = reference === '' ? null : agentOf(site, agents, reference, path)
  const wanted = {
    path,
    suffix,
    accept: headers.accept?.toLowerCase() ?? '',
    alg: algorithmIn(url),
  }
  const document = agent && (await documentOf(served, agent, wanted))
  if (!document) throw new CodedError('NOT_FOUND', 'The mock does not serve this path.')
  return document
}

/** What the issuer publishes at a path, or null. */
async function issuerDocument(
  issuer: MockIssuer,
  { origin }: MockSite,
  path: string,
): Promise<Reply | null> {
  switch (path) {
    case KEY_SET_PATH:
      return { body: issuer.keySet() }
    case '/.well-known/jwt-vc-issuer':
      return { body: { issuer: origin, jwks_uri: origin + KEY_SET_PATH } }
    case '/api/v1/snapshot':
      return { body: await issuer.snapshot() }
    case '/api/v1/feed/latest':
      return { type: FEED_TYPE, body: `${JSON.stringify({ head: await issuer.head() })}\n` }
    case STATUS_LIST_PATH:
      return { type: 'application/statuslist+jwt', body: await issuer.statusList() }
    default:
      return null
  }
}

function algorithmIn(url: string): JwsAlgorithm | undefined {
  const named = new URL(url, 'http://mock').searchParams.get('alg')
  if (named === null) return undefined
  const alg = JWS_ALGORITHMS.find((each) => each === named)
  if (alg !== undefined) return alg
  throw new CodedError('VALIDATION_ERROR', `alg is ${JWS_ALGORITHMS.join(' or ')}.`)
}

interface Asked {
  readonly path: string
  readonly suffix: string
  /** In lower case. */
  readonly accept: string
  readonly alg: JwsAlgorithm | undefined
}

/** The document at a path about an agent, or null. */
async function documentOf(
  { site, issuer }: Served,
  agent: MockAgent,
  { path, suffix, accept, alg }: Asked,
): Promise<Reply | null> {
  const [root] = /^\/(api\/v1\/agent|api\/agents|agent)/.exec(path) as RegExpExecArray
  switch (`${root}${suffix}`) {
    case '/api/v1/agent':
      return { body: documents.lookupOf(site, agent) }
    case '/api/v1/agent/card':
      return { body: documents.compactCardOf(site, agent) }
    case '/api/v1/agent/certificate': {
      const body = await issuer.certificate(agent, alg)
      if (!accept.includes(SD_JWT_TYPE)) return { type: JWT_TYPE, body }
      return { type: SD_JWT_TYPE, body: `${body}~` }
    }
    case '/api/v1/agent/staple':
      return { type: JWT_TYPE, body: await issuer.staple(agent, alg) }
    case '/api/v1/agent/keys':
      return { body: documents.keysOf(site, agent) }
    case '/api/agents/card':
      return { body: documents.cardOf(site, agent) }
    case '/api/agents/grade':
      return { body: documents.gradeReportOf(site, agent) }
    case '/api/agents/avatar.svg':
      return { type: 'image/svg+xml', body: AVATAR }
    case '/agent':
      return { type: 'text/plain; charset=utf-8', body: `${documents.displayNameOf(agent)}\n` }
    case '/agent/jwks.json':
      return { body: documents.keySetOf(agent) }
    case '/api/agents':
      if (!accept.includes(DID_JSON)) return { body: documents.agentObjectOf(site, agent) }
      return {
        status: agent.status === 'revoked' ? 410 : 200,
        type: DID_JSON,
        body: documents.didDocumentOf(site, agent),
      }
    default:
      return null
  }
}

async function answerPost(
  site: MockSite,
  agents: readonly MockAgent[],
  path: string,
  body: Uint8Array,
): Promise<Reply> {
  if (path === '/api/v1/claim') {
    readClaim(site.naming, body)
    throw new CodedError('NOT_FOUND', 'The mock has not issued this token: it has fixed agents.')
  }
  if (path === '/api/agents/token') {
    throw new CodedError('UNAUTHENTICATED', 'The mock has no owners who sign in.')
  }
  if (path !== '/api/v1/agent/verify') {
    throw new CodedError('NOT_FOUND', 'The mock does not serve this path.')
  }
  const { publicKey, message, signature, did } = readVerify(site.naming, body)
  if (!(await isSignature(publicKey, message, signature))) {
    throw new CodedError(
      'INVALID_SIGNATURE',
      'The signature is not one of the challenge by this key.',
    )
  }
  const agent = found(
    agents,
    (each) => hasKey(each, publicKey) && (did === null || did === documents.didOfMock(site, each)),
  )
  return {
    body: {
      verified: agent.status === 'active',
      signatureValid: true,
      certified: true,
      identityLevel: documents.identityLevelOf(site, agent),
      agent: {
        [site.naming.didField]: documents.didOfMock(site, agent),
        displayName: documents.displayNameOf(agent),
        status: agent.status,
      },
    },
  }
}

/** The agent of a path: by DID, tail or public key; below `/agent/` also by name. */
function agentOf(
  site: MockSite,
  agents: readonly MockAgent[],
  segment: string,
  path: string,
): MockAgent {
  const text = decode(segment)
  const named = path.startsWith('/agent/') && agents.find(({ name }) => name === text)
  if (named) return named
  const reference = parseAgentReference(site.naming, text)
  return found(agents, (each) =>
    reference.kind === 'tail' ? each.tail === reference.tail : hasKey(each, reference.publicKey),
  )
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new CodedError('VALIDATION_ERROR', 'The path is not valid percent-encoding.')
  }
}

function hasKey(agent: MockAgent, publicKey: Uint8Array): boolean {
  return Buffer.compare(currentKey(agent).publicKey, publicKey) === 0
}

function found(agents: readonly MockAgent[], matches: (agent: MockAgent) => boolean): MockAgent {
  const agent = agents.find(matches)
  if (agent !== undefined) return agent
  throw new CodedError('NOT_FOUND', 'There is no such agent.')
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += (chunk as Buffer).length
    if (size > MAX_BODY_BYTES) throw new CodedError('PAYLOAD_TOO_LARGE', 'The body is too large.')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

function errorReply(error: unknown): Reply {
  const { code, message } =
    error instanceof CodedError ? error : new CodedError('INTERNAL_ERROR', 'Unexpected error.')
  const requestId = `req_${randomBytes(12).toString('hex')}`
  return { status: ERROR_STATUS[code], body: { error: { code, message, requestId } } }
}

function send(
  { method }: IncomingMessage,
  response: ServerResponse,
  { status = 200, type = JSON_TYPE, body }: Reply,
): void {
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    // The body of a rejected request may not have been read.
    ...(status === ERROR_STATUS.PAYLOAD_TOO_LARGE ? { connection: 'close' } : {}),
  })
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.end(method === 'HEAD' ? undefined : text)
}

/** What clients read of it: the short name and the identification header. */
function openapiOf({ naming }: MockSite) {
  const schema = identifySchema(naming)
  const header = { name: naming.idHeader, in: 'header', required: true, schema: { type: 'string' } }
  const responses = {
    '200': { description: 'The agent', content: { [JSON_TYPE]: { schema } } },
  }
  return {
    openapi: '3.1.0',
    info: { title: 'countersign mock', version: '1' },
    paths: { '/api/v1/identify': { get: { parameters: [header], responses } } },
  }
}

const AVATAR =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1" fill="#888"/></svg>'
