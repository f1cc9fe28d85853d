import { randomBytes, sign } from 'node:crypto'
import { agentKeySetUrl, type Evidence, keyThumbprint } from '@countersign/protocol'
import * as messageSig from 'http-message-sig'
import { httpbis } from 'http-message-signatures'
import type { Answer } from './answer.ts'
import { ask, post } from './ask.ts'
import type { TestKey } from './key.ts'
import type { TestService } from './service.ts'

export const SHOP = 'https://shop.example'

/** An agent, and the key with which it signs. */
export interface Signer {
  readonly did: string
  readonly key: TestKey
}

interface Request {
  readonly method?: string
  readonly url?: string
  /** Header fields that the signature covers, beside those that it needs. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** In milliseconds since 1970. Default: now. */
  readonly createdAt?: number
  readonly library?: 'http-message-signatures' | 'http-message-sig'
}

/** A request that an agent has signed with a published library, as a site keeps it. */
export async function evidenceBy(
  { url: issuer }: Pick<TestService, 'url'>,
  { did, key }: Signer,
  request: Request = {},
): Promise<Evidence> {
  const { method = 'GET', url = `${SHOP}/search?q=1`, createdAt = Date.now() } = request
  const headers: Record<string, string> = {
    'signature-agent': `sig1="${agentKeySetUrl(issuer, did.slice(-24))}"`,
    serviceid: did,
    ...request.headers,
  }
  const names = Object.keys(headers).filter((name) => name !== 'signature-agent')
  const hasQuery = url.includes('?')
  const derived = ['@method', '@authority', '@path', ...(hasQuery ? ['@query'] : [])]
  const signed = { method, url, headers, components: [...derived, ...names], createdAt }
  const added =
    request.library === 'http-message-sig'
      ? await signBySig(key, signed)
      : await signBySignatures(key, signed)
  return { method, url, headers: Object.entries({ ...headers, ...added }) }
}

interface ToSign {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly components: readonly string[]
  readonly createdAt: number
}

const LIFETIME = 60
const keyidOf = ({ publicKey }: TestKey) => keyThumbprint(Buffer.from(publicKey, 'base64'))
const nonceOf = () => randomBytes(18).toString('base64url')

async function signBySignatures(
  key: TestKey,
  { method, url, headers, components, createdAt }: ToSign,
): Promise<Record<string, string>> {
  const { headers: signed } = await httpbis.signMessage(
    {
      key: { id: keyidOf(key), sign: async (data) => sign(null, data, key.privateKey) },
      name: 'sig1',
      fields: [...components, 'signature-agent;key="sig1"'],
      params: ['created', 'expires', 'keyid', 'nonce', 'tag'],
      paramValues: {
        created: new Date(createdAt),
        expires: new Date(createdAt + LIFETIME * 1000),
        nonce: nonceOf(),
        tag: 'web-bot-auth',
      },
    },
    { method, url, headers: { ...headers } },
  )
  return {
    'signature-input': String(signed['Signature-Input']),
    signature: String(signed.Signature),
  }
}

async function signBySig(
  key: TestKey,
  { method, url, headers, components, createdAt }: ToSign,
): Promise<Record<string, string>> {
  const created = Math.floor(createdAt / 1000)
  const added = await messageSig.createSignature(
    {
      kind: 'request',
      method,
      targetUri: url,
      fields: Object.entries(headers).map(([name, value]) => ({ name, value })),
    },
    {
      label: 'sig1',
      components: [...components, messageSig.component('signature-agent', { key: 'sig1' })],
      parameters: {
        created,
        expires: created + LIFETIME,
        keyid: keyidOf(key),
        nonce: nonceOf(),
        tag: 'web-bot-auth',
      },
      signer: { algorithm: 'ed25519', sign: (data) => sign(null, data, key.privateKey) },
    },
  )
  return { 'signature-input': String(added.signatureInput), signature: String(added.signature) }
}

/** The body of a report. */
export function reportBody(did: string, evidence: readonly Evidence[], more: object = {}): object {
  const text = '4,800 searches in five minutes, after three 429.'
  return { agent: did, category: 'rate', text, evidence, ...more }
}

export function sendReport(service: TestService, body: object): Promise<Answer> {
  return post(service, '/api/v1/reports', body)
}

/** Reports a new request of an agent. */
export async function reportNew(
  service: TestService,
  signer: Signer,
  request: Request = {},
  more: object = {},
): Promise<Answer> {
  const evidence = [await evidenceBy(service, signer, request)]
  return sendReport(service, reportBody(signer.did, evidence, more))
}

/** What a site asks about its report, with the token. */
export function askReport(
  service: TestService,
  { id, token }: { readonly id: string; readonly token: string | null },
  method = 'GET',
): Promise<Answer> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  return ask(service, `/api/v1/reports/${id}`, { method, headers })
}
