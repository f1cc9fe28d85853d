import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type Provider from 'oidc-provider'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import { loginPage, loginPageHeaders } from './login-page.ts'

/** What a development provider is to be. */
export interface DevelopmentServerOptions {
  readonly id: string
  readonly label: string
  readonly acr: string
  readonly clientId: string
  readonly clientSecret: string
  /** Where the service stands: loopback. */
  readonly baseUrl: URL
}

interface DevelopmentServer {
  readonly issuer: string
  close(): Promise<void>
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

const LOGIN = /^\/login\/[\w-]+$/
const BODY_LIMIT = 4096

/** Starts a real OpenID Connect provider on a free port of loopback, at which any name is a human. */
export async function startDevelopmentServer(
  options: DevelopmentServerOptions,
): Promise<DevelopmentServer> {
  const { hostname } = options.baseUrl
  const server = createServer()
  server.listen(0, hostname.replace(/^\[|\]$/g, ''))
  await once(server, 'listening')
  const issuer = `http://${hostname}:${(server.address() as AddressInfo).port}`
  try {
    // Only here, so that a service in production does not load it.
    const { default: OidcProvider } = await import('oidc-provider')
    const provider = new OidcProvider(issuer, configurationOf(options))
    const callback = provider.callback()
    server.on('request', (request, response) => {
      if (!LOGIN.test(request.url ?? '')) return callback(request, response)
      logIn(provider, options, request, response).catch(() => response.writeHead(400).end())
    })
  } catch (error) {
    server.close()
    throw error
  }
  return { issuer, close: () => close(server) }
}

function configurationOf(
  options: DevelopmentServerOptions,
): ConstructorParameters<typeof Provider>[1] {
  const { id, acr, clientId, clientSecret, baseUrl } = options
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // Cookies are not told apart by port: each provider has names of its own.
  const names = { session: `${id}-session`, interaction: `${id}-login`, resume: `${id}-resume` }
  return {
    adapter: new MemoryAdapter().adapterFor,
    acrValues: [acr],
    claims: { openid: ['sub'] },
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        id_token_signed_response_alg: 'ES256',
        redirect_uris: ['identity', 'sign-in'].map(
          (side) => `${baseUrl.origin}/${side}/callback/${id}`,
        ),
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    cookies: { names, keys: [randomBytes(32).toString('base64url')] },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
    interactions: { url: (_ctx, { uid }) => `/login/${uid}` },
    jwks: {
      keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256', kid: id }],
    },
    // Nobody is asked whether they agree: the client is the service that they came from.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId as string,
        accountId: oidc.session?.accountId as string,
      })
      grant.addOIDCScope('openid')
      await grant.save()
      return grant
    },
    renderError(ctx, { error, error_description: description }) {
      ctx.type = 'text/plain; charset=utf-8'
      ctx.body = `${options.label}: ${error}. ${description ?? ''}`
    },
    ttl: {
      AccessToken: 60,
      AuthorizationCode: 60,
      Grant: 900,
      IdToken: 300,
      Interaction: 900,
      Session: 900,
    },
  }
}

async function logIn(
  provider: Provider,
  { label, acr, baseUrl }: DevelopmentServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Throws where this browser has not begun anything.
  const interaction = await provider.interactionDetails(request, response)
  if (request.method !== 'POST') {
    const page = { label, action: request.url ?? '', backTo: baseUrl.origin }
    response.writeHead(200, loginPageHeaders(page)).end(loginPage(page))
    return
  }
  if (Number(request.headers['content-length'] ?? Number.NaN) <= BODY_LIMIT === false) {
    response.writeHead(413).end()
    return
  }
  const form = new URLSearchParams(await text(request))
  const name = (form.get('name') ?? '').trim().slice(0, 64)
  const result =
    name === '' || form.has('cancel')
      ? { error: 'access_denied', error_description: 'cancelled' }
      : { login: { accountId: name, acr, remember: false } }
  await endPreviousSession(provider, interaction)
  await provider.interactionFinished(request, response, result)
}

/** The same browser may be another person the next time: that is what these providers are for. */
async function endPreviousSession(provider: Provider, interaction: Interaction): Promise<void> {
  const { session, exp } = interaction
  if (session === undefined) return
  const before = await provider.Session.findByUid(session.uid)
  await before?.destroy()
  delete interaction.session
  await interaction.save(exp - Math.floor(Date.now() / 1000))
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

interface Kept {
  readonly payload: AdapterPayload
  readonly until: number
}

/** Where a provider for development keeps what it has begun: in memory, until it ends. One for each provider. */
class MemoryAdapter {
  readonly #kept = new Map<string, Kept>()

  /** What oidc-provider calls with the name of each kind of thing that it keeps. */
  readonly adapterFor = (kind: string): Adapter => {
    const kept = this.#kept
    const find = async (id: string) => this.#live(`${kind}:${id}`)
    const findBy = async (name: 'uid' | 'userCode', value: string) =>
      [...kept.values()].find(({ payload }) => payload[name] === value)?.payload
    return {
      async upsert(id, payload, seconds) {
        kept.set(`${kind}:${id}`, { payload, until: Date.now() + (seconds || 3600) * 1000 })
      },
      find,
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (code) => findBy('userCode', code),
      async consume(id) {
        const payload = await find(id)
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
      },
      async destroy(id) {
        kept.delete(`${kind}:${id}`)
      },
      async revokeByGrantId(grantId) {
        for (const [key, { payload }] of kept) if (payload.grantId === grantId) kept.delete(key)
      },
    }
  }

  #live(key: string): AdapterPayload | undefined {
    const found = this.#kept.get(key)
    if (found !== undefined && found.until > Date.now()) return found.payload
    this.#kept.delete(key)
    return undefined
  }
}
