import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import {
  agentKeySetUrl,
  challengeNonce,
  headerFields,
  isInnerList,
  keyThumbprint,
  type Naming,
  namingFor,
  parseDictionary,
  readComponents,
  type SignatureAgent,
  signatureAgentField,
  signatureBase,
  signRequest,
} from '@countersign/protocol'
import { Agent, memoryNonceStore, newKey, Registry } from '@countersign/sdk'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import type { TestService } from '../../../../test/support/service.ts'

export const SHOP = 'https://shop.example'

/** A nonce store that is older than every request of a test. */
export function olderNonceStore(maxEntries?: number) {
  let now = () => Date.now() - 3_600_000
  const store = memoryNonceStore(maxEntries, () => now())
  now = Date.now
  return store
}

/** An agent that signs requests to the audiences. Its owner is verified. */
export async function signingAgent(service: TestService, audiences: readonly string[] = [SHOP]) {
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const key = await newKey()
  const agent = new Agent({ registry, signer: key, audiences })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  return { agent, did, key, registry, owner }
}

type SigningAgent = Pick<
  Awaited<ReturnType<typeof signingAgent>>,
  'agent' | 'did' | 'key' | 'registry'
>

/**
 * Signs a request with a nonce of the site, as `Agent.fetch` does after a refusal.
 * @param createdAt milliseconds since 1970
 */
export async function signWithNonce(
  { did, key, registry }: SigningAgent,
  unsigned: Request,
  nonce: string,
  createdAt = Date.now(),
): Promise<Request> {
  const naming = namingFor()
  const request = unsigned.clone()
  request.headers.set(naming.idHeader, did)
  const url = agentKeySetUrl(registry.service, did.slice(naming.didPrefix.length))
  const body = new Uint8Array(await unsigned.clone().arrayBuffer())
  const { method } = request
  const added = await signRequest(
    {
      method,
      url: request.url,
      headers: [...request.headers],
      body: body.length > 0 ? body : null,
    },
    {
      publicKey: key.publicKey,
      sign: (message) => key.sign(message),
      signatureAgent: { dialect: 'ietf', url },
      naming,
      createdAt,
      nonce,
    },
  )
  for (const [name, value] of added) request.headers.set(name, value)
  return request
}

/**
 * Signs a request so that a gateway that has just started can tell that its nonce is new: with a nonce that the gateway
 * sends in the refusal of another request.
 * @param send how the request gets to the gateway
 */
export async function signForNewGateway(
  signer: SigningAgent,
  unsigned: Request,
  send: (request: Request) => Promise<Pick<SentAnswer, 'status' | 'headers'>>,
): Promise<Request> {
  const { status, headers } = await send(await signer.agent.sign(unsigned.clone()))
  const nonce = challengeNonce(status, String(headers['accept-signature']))
  return nonce === null ? signer.agent.sign(unsigned) : signWithNonce(signer, unsigned, nonce)
}

export interface SentAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** What to send otherwise than it was signed. */
export interface Changes {
  readonly method?: string
  readonly target?: string
  readonly host?: string
  /** Replaced; several values are sent as several lines, none removes it. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
}

/** Sends a request to a server on loopback with the `Host` that it was signed for. */
export async function send(url: string, request: Request, changes: Changes = {}) {
  const address = new URL(request.url)
  const target = changes.target ?? request.url.slice(address.origin.length)
  const body = changes.body ?? (await request.clone().text())
  const headers: Record<string, string | string[]> = {
    ...Object.fromEntries(request.headers),
    host: changes.host ?? address.host,
  }
  for (const [name, value] of Object.entries(changes.headers ?? {})) {
    if (value.length === 0) delete headers[name]
    else headers[name] = typeof value === 'string' ? value : [...value]
  }
  if (body !== '') headers['content-length'] = String(Buffer.byteLength(body))
  const { hostname, port } = new URL(url)
  return new Promise<SentAnswer>((resolve, reject) => {
    httpRequest(
      { hostname, port, path: target, method: changes.method ?? request.method, headers },
      async (response) => {
        const text = (await buffer(response)).toString()
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      },
    )
      .once('error', reject)
      .end(body)
  })
}

/** A signer that is no agent of the service, and signs whatever it is told to. */
export interface ForeignSigner {
  readonly keyid: string
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly jwk: Readonly<Record<string, string>>
  /** Signs as agents do. */
  sign(url: string, init?: RequestInit, naming?: Naming): Promise<Request>
  /**
   * Signs other components or parameters than agents do.
   * @param components as in `Signature-Input`, such as `"@authority" "signature-agent";key="sig1"`
   * @param params as in `Signature-Input`, without `keyid` and `tag`
   * @param keyid another one than its own
   */
  signParts(request: Request, components: string, params: string, keyid?: string): Promise<Request>
}

/**
 * @param signatureAgent where it says that its key is published
 * @param now the clock of its signatures
 */
export function foreignSigner(
  signatureAgent: SignatureAgent,
  { privateKey, publicKey } = generateKeyPairSync('ed25519'),
  now: () => number = Date.now,
): ForeignSigner {
  const jwk = publicKey.export({ format: 'jwk' }) as { x: string }
  const bytes = new Uint8Array(Buffer.from(jwk.x, 'base64url'))
  const keyid = keyThumbprint(bytes)
  const signBytes = async (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey))
  return {
    keyid,
    publicKey: bytes,
    jwk: { ...jwk },
    async sign(url, init, naming = namingFor()) {
      const request = new Request(url, init)
      const body = new Uint8Array(await request.clone().arrayBuffer())
      const { method, headers } = request
      const added = await signRequest(
        { method, url: request.url, headers: [...headers], body: body.length > 0 ? body : null },
        {
          publicKey: bytes,
          sign: signBytes,
          signatureAgent,
          naming,
          createdAt: now(),
          nonce: randomBytes(18).toString('base64url'),
        },
      )
      for (const [name, value] of added) request.headers.set(name, value)
      return request
    },
    async signParts(unsigned, components, params, named = keyid) {
      const request = unsigned.clone()
      request.headers.set('signature-agent', signatureAgentField(signatureAgent, 'sig1').field)
      const input = `(${components})${params};keyid="${named}";tag="web-bot-auth"`
      const member = parseDictionary(`sig1=${input}`).get('sig1')
      assert.ok(member !== undefined && isInnerList(member))
      const { origin, pathname, search } = new URL(request.url)
      const fields = headerFields([...request.headers])
      const parts = {
        method: request.method,
        origin,
        path: pathname,
        query: search || null,
        fields,
      }
      const base = signatureBase(parts, readComponents(member), input)
      const signature = await signBytes(new TextEncoder().encode(base))
      request.headers.set('signature-input', `sig1=${input}`)
      request.headers.set('signature', `sig1=:${Buffer.from(signature).toString('base64')}:`)
      return request
    },
  }
}

/** `;created=…;expires=…;nonce=…` of a signature that is valid now. */
export function currentParams(createdAt = Date.now(), lifetime = 60): string {
  const created = Math.floor(createdAt / 1000)
  const nonce = randomBytes(18).toString('base64url')
  return `;created=${created};expires=${created + lifetime};nonce="${nonce}"`
}
