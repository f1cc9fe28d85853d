import { randomBytes, sign } from 'node:crypto'
import {
  agentKeySetUrl,
  type HeaderList,
  type SignatureAgent,
  signRequest,
} from '@countersign/protocol'
import type { TestKey } from './key.ts'
import type { TestService } from './service.ts'

/** A request of an agent, before it is signed. The body is only signed. */
export interface UnsignedRequest {
  readonly method?: string
  readonly url: string
  readonly headers?: HeaderList
  readonly body?: string
  /** Default: now. */
  readonly createdAt?: number
  /** Default: the agent's key set at the service. */
  readonly signatureAgent?: SignatureAgent
}

/** Signs a request as an agent of the service. @returns all its header fields, `Host` first */
export async function signedHeaders(
  { url: issuer, settings: { naming } }: Pick<TestService, 'url' | 'settings'>,
  did: string,
  key: TestKey,
  request: UnsignedRequest,
): Promise<HeaderList> {
  const { method = 'GET', url, headers = [], body, createdAt = Date.now() } = request
  const sent = [['Host', new URL(url).host] as const, ...headers]
  const content = body === undefined ? null : new Uint8Array(Buffer.from(body))
  const added = await signRequest(
    { method, url, headers: sent, body: content },
    {
      publicKey: new Uint8Array(Buffer.from(key.publicKey, 'base64')),
      sign: async (message) => new Uint8Array(sign(null, message, key.privateKey)),
      signatureAgent: request.signatureAgent ?? {
        dialect: 'ietf',
        url: agentKeySetUrl(issuer, did.slice(-24)),
      },
      naming,
      createdAt,
      nonce: randomBytes(18).toString('base64url'),
    },
  )
  return [...sent, ...added]
}
