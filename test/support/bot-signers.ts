import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import * as messageSig from 'http-message-sig'
import { httpbis } from 'http-message-signatures'
import * as webBotAuth from 'web-bot-auth'

/** The origin at whose well-known path the key of the signers is. */
const BOTS = 'https://bots.example'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const jwk = publicKey.export({ format: 'jwk' })
const keyid = await webBotAuth.jwkToKeyID(
  jwk,
  webBotAuth.helpers.WEBCRYPTO_SHA256,
  webBotAuth.helpers.BASE64URL_DECODE,
)
const signBytes = (data: Uint8Array) => sign(null, data, privateKey)

/** What a directory serves: the key set with the key of all signers. */
export const KEY_SET = JSON.stringify({ keys: [{ ...jwk, kid: keyid, use: 'sig' }] })

/** When a signature is made, and for how long. */
export interface SignatureTimes {
  /** In milliseconds since 1970. */
  readonly createdAt: number
  readonly lifetimeSeconds: number
}

/** Signs a request as bots do, with a published library. */
export interface BotSigner {
  readonly name: string
  readonly hasNonce: boolean
  sign(request: Request, times: SignatureTimes): Promise<Request>
}

const MINIMAL = ['@authority'] as const
const WIDER = ['@authority', '@method', '@path'] as const

/** web-bot-auth signs with a nonce of 64 bytes in standard base64, always. */
function byWebBotAuth(components: readonly string[]): BotSigner {
  return {
    name: `web-bot-auth over ${components.join(' ')}`,
    hasNonce: true,
    async sign(unsigned, times) {
      const request = withAgent(unsigned, `"${BOTS}"`)
      const signer = { alg: 'ed25519', keyid, sign: (data: string) => signBytes(Buffer.from(data)) }
      const added = await webBotAuth.signatureHeaders(request, signer as never, {
        ...datesOf(times),
        components: [...components, 'signature-agent'] as never,
      })
      return withSignature(request, added['Signature-Input'], added.Signature)
    },
  }
}

function byHttpMessageSignatures(
  components: readonly string[],
  spelling: string,
  nonce: () => string | null,
): BotSigner {
  return {
    name: `http-message-signatures over ${components.join(' ')}, ${spelling}`,
    hasNonce: nonce() !== null,
    async sign(unsigned, times) {
      const request = withAgent(unsigned, `sig1="${BOTS}"`)
      const value = nonce()
      const { headers } = await httpbis.signMessage(
        {
          key: { id: keyid, sign: async (data) => signBytes(data) },
          name: 'sig1',
          fields: [...components, 'signature-agent;key="sig1"'],
          params: ['created', 'expires', 'keyid', ...(value === null ? [] : ['nonce']), 'tag'],
          paramValues: {
            ...datesOf(times),
            tag: 'web-bot-auth',
            ...(value !== null && { nonce: value }),
          },
        },
        {
          method: request.method,
          url: request.url,
          headers: Object.fromEntries(request.headers),
        },
      )
      return withSignature(request, headers['Signature-Input'], headers.Signature)
    },
  }
}

/** With `type=directory` and a parameter that no draft has. */
function byHttpMessageSig(components: readonly string[]): BotSigner {
  return {
    name: `http-message-sig over ${components.join(' ')}, without a nonce`,
    hasNonce: false,
    async sign(unsigned, { createdAt, lifetimeSeconds }) {
      const request = withAgent(unsigned, `bot="${BOTS}";type=directory;since=2026`)
      const created = Math.floor(createdAt / 1000)
      const added = await messageSig.createSignature(
        {
          kind: 'request',
          method: request.method,
          targetUri: request.url,
          fields: [...request.headers].map(([name, value]) => ({ name, value })),
        },
        {
          label: 'bot',
          components: [...components, messageSig.component('signature-agent', { key: 'bot' })],
          parameters: { created, expires: created + lifetimeSeconds, keyid, tag: 'web-bot-auth' },
          signer: { algorithm: 'ed25519', sign: signBytes },
        },
      )
      return withSignature(request, added.signatureInput, added.signature)
    },
  }
}

/** Every signer: with and without a nonce, in each spelling, over the minimum of the draft and over more. */
export const BOT_SIGNERS: readonly BotSigner[] = [MINIMAL, WIDER].flatMap((components) => [
  byWebBotAuth(components),
  byHttpMessageSignatures(components, 'nonce in base64url', () =>
    randomBytes(32).toString('base64url'),
  ),
  byHttpMessageSignatures(components, 'long nonce with padding', () =>
    randomBytes(190).toString('base64'),
  ),
  byHttpMessageSignatures(components, 'short nonce', () => randomBytes(8).toString('base64')),
  byHttpMessageSignatures(components, 'without a nonce', () => null),
  byHttpMessageSig(components),
])

function datesOf({ createdAt, lifetimeSeconds }: SignatureTimes) {
  return { created: new Date(createdAt), expires: new Date(createdAt + lifetimeSeconds * 1000) }
}

function withAgent(unsigned: Request, field: string): Request {
  const request = unsigned.clone()
  request.headers.set('signature-agent', field)
  return request
}

function withSignature(request: Request, input: unknown, signature: unknown): Request {
  request.headers.set('signature-input', String(input))
  request.headers.set('signature', String(signature))
  return request
}
