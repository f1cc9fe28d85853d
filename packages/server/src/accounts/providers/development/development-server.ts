import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type Provider from 'oidc-provider'
import type { Adapter, AdapterPayload } from 'oidc-provider'

/** Options of a development provider. */
export interface DevelopmentServerOptions {
  readonly id: string
  readonly label: string
  readonly acr: string
  readonly clientId: string
  readonly clientSecret: string
  /** The service's own URL, on loopback. */
  readonly baseUrl: URL
}

interface DevelopmentServer {
  readonly issuer: string
  close(): Promise<void>
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

const LOGIN = /^\/login\/[\w-]+$/
const BODY_LIMIT = 4096

/** Starts an OpenID Connect provider on a free loopback port. Any name signs in. */
export async function startDevelopmentServer(
  options: DevelopmentServerOptions,
): Promise<DevelopmentServer> {
  const { hostname } = options.baseUrl
  const server = createServer()
  server.listen(0, hostname.replace(/^\[|\]$/g, ''))
  await once(server, 'listening')
  const issuer = `http://${hostname}:${(server.address() as AddressInfo).port}`
  try {
    // Imported here, so that a service in production does not load it.
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
  // Browsers share cookies between ports, so each provider has its own cookie names.
  const names = { session: `${id}-session`, interaction: `${id}-login`, resume: `${id}-resume` }
  return {
    adapter: new MemoryAdapter().adapterFor,
    acrValues: [acr],
    claims: { openid: ['sub'], profile: ['name'] },
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
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub, name: sub }) }),
    interactions: { url: (_ctx, { uid }) => `/login/${uid}` },
    jwks: {
      keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256', kid: id }],
    },
    // No consent page: the only client is the service.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId as string,
        accountId: oidc.session?.accountId as string,
      })
      grant.addOIDCScope('openid profile')
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
  // Throws if this browser has no interaction.
  const interaction = await provider.interactionDetails(request, response)
  if (request.method !== 'POST') {
    const page = { label, action: request.url ?? '', returnOrigin: baseUrl.origin }
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

/** Ends the browser's session, so that the developer can sign in as another person. */
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

interface StoredEntry {
  readonly payload: AdapterPayload
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number
}

/** Stores a provider's state in memory. One for each provider. */
class MemoryAdapter {
  readonly #entries = new Map<string, StoredEntry>()

  /** oidc-provider calls this with the name of each of its models. */
  readonly adapterFor = (kind: string): Adapter => {
    const entries = this.#entries
    const find = async (id: string) => this.#live(`${kind}:${id}`)
    const findBy = async (name: 'uid' | 'userCode', value: string) =>
      [...entries.values()].find(({ payload }) => payload[name] === value)?.payload
    return {
      async upsert(id, payload, seconds) {
        entries.set(`${kind}:${id}`, { payload, expiresAt: Date.now() + (seconds || 3600) * 1000 })
      },
      find,
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (code) => findBy('userCode', code),
      async consume(id) {
        const payload = await find(id)
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
      },
      async destroy(id) {
        entries.delete(`${kind}:${id}`)
      },
      async revokeByGrantId(grantId) {
        for (const [key, { payload }] of entries)
          if (payload.grantId === grantId) entries.delete(key)
      },
    }
  }

  #live(key: string): AdapterPayload | undefined {
    const found = this.#entries.get(key)
    if (found !== undefined && found.expiresAt > Date.now()) return found.payload
    this.#entries.delete(key)
    return undefined
  }
}

/** The look of the dashboard (packages/ui/src/theme.css), without its font, which is on another origin. */
const STYLE = `
:root {
  color-scheme: light dark; font: 1rem/1.5 ui-sans-serif, system-ui, sans-serif;
  --ink: light-dark(#1b1f19, #eceee8); --soft: light-dark(#55594f, #aab1a3); --line: light-dark(#7d7a6e, #7e8879);
  --accent: light-dark(#0b5d4b, #66d3b4); --warn: light-dark(#8a5200, #f0b95b); --surface: light-dark(#fff, #1a1e18);
}
body { margin: 0; background: light-dark(#f6f5f1, #11140f); color: var(--ink) }
header {
  padding: .5rem 1rem; background: light-dark(#fcefd9, #372810); color: var(--warn);
  font-size: .875rem; font-weight: 500; text-align: center; text-wrap: balance
}
main { max-width: 28rem; margin: 0 auto; padding: 3rem 1rem }
svg { width: 1.75rem; height: 1.75rem; fill: none; stroke-linecap: round }
svg :is(circle, path:nth-of-type(1)) { stroke: var(--ink) }
svg path:nth-of-type(2) { stroke: var(--accent) }
h1 { margin: 1rem 0 .5rem; font-size: 1.875rem; line-height: 1.2; letter-spacing: -.025em; overflow-wrap: anywhere }
main > p { margin: 0; color: var(--soft) }
form.sheet { margin: 2rem 0 .75rem; padding: 1.25rem; border: 2px solid var(--line); border-radius: 1rem; background: var(--surface) }
label { display: block; margin-bottom: .375rem; font-weight: 500 }
input, button { box-sizing: border-box; width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border-radius: .5rem; font: inherit }
input { border: 1px solid var(--line); background: var(--surface); color: inherit }
button { border: 0; background: var(--accent); color: light-dark(#fff, #06231b); font-weight: 500; cursor: pointer }
input + button { margin-top: 1rem }
button.no { background: none; color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** As in packages/ui/src/logo.tsx. */
const LOGO =
  '<svg viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="14.5" stroke-width="1.6"/><path d="m8.6 16.4 5 5.2" stroke-width="3.4"/><path d="M13.6 21.6 24 10.6" stroke-width="3.4"/></svg>'

interface LoginPage {
  readonly label: string
  /** The form's action. */
  readonly action: string
  /** The origin that the browser is redirected to after the form. */
  readonly returnOrigin: string
}

/** The login page of a development provider, which accepts any name. */
function loginPage({ label, action }: LoginPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(label)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>Development only: nothing is checked here.</header>
<main>
${LOGO}
<h1>${escapeHtml(label)}</h1>
<p>Stands for an identity provider. Any name makes you that person.</p>
<form class="sheet" method="post" action="${escapeHtml(action)}">
<label for="name">Who are you?</label>
<input id="name" name="name" required maxlength="64" autocomplete="off" autofocus>
<button type="submit">Continue as this person</button>
</form>
<form method="post" action="${escapeHtml(action)}">
<button class="no" type="submit" name="cancel" value="yes">Cancel</button>
</form>
</main>
</body>
</html>
`
}

/** Headers of the login page. `form-action` also covers redirects after a form, so it allows the service's origin. */
function loginPageHeaders({ returnOrigin }: LoginPage): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self' ${returnOrigin}; frame-ancestors 'none'; base-uri 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  }
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
