import { utf8 } from '../encoding.ts'
import type { Naming } from '../naming.ts'
import { cachedThumbprint } from '../public-key.ts'
import {
  agentHeaders,
  componentIdentifier,
  coversDigest,
  signatureBase,
  strictComponents,
  WEB_BOT_AUTH_TAG,
} from './components.ts'
import { contentDigest } from './content-digest.ts'
import { headerFields } from './raw-request.ts'
import { signatureAgentField } from './signature-agent.ts'
import type { HeaderList, SignatureAgent } from './signed-request-types.ts'
import { StructuredFieldError, serializeMember, serializeString } from './structured-fields.ts'

/** A request that is about to be sent. */
export interface RequestToSign {
  /** In the case in which it is sent. */
  readonly method: string
  /** As it is sent: an absolute URL in the form that `URL.href` has. A `#` and what follows it are not sent. */
  readonly url: string
  /** Including the identification header, if it is sent. */
  readonly headers: HeaderList
  /** The bytes on the wire; null without content. */
  readonly body: Uint8Array | null
}

/** How a request is signed. */
export interface RequestSigner {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** Signs the bytes with pure Ed25519. @returns 64 bytes */
  readonly sign: (message: Uint8Array) => Promise<Uint8Array>
  /** Where the key is published. */
  readonly signatureAgent: SignatureAgent
  /** The names of the deployment. */
  readonly naming: Naming
  /** When the signature is made, in milliseconds since 1970. */
  readonly createdAt: number
  /** At least 16 random bytes in base64url. Never the same twice. */
  readonly nonce: string
}

/** How long a signature is valid, in seconds. */
export const SIGNATURE_LIFETIME = 60

const LABEL = 'sig1'

/**
 * Signs a request in the profile `strict` (RFC 9421, draft-ietf-webbotauth-httpsig-protocol).
 * @returns the headers to set, in lower case: `content-digest` if the signature covers it, `signature-agent`, `signature-input`,
 *   `signature`
 * @throws StructuredFieldError if a header to cover is not printable ASCII, or the address of the keys does not fit its dialect
 */
export async function signRequest(
  request: RequestToSign,
  signer: RequestSigner,
): Promise<readonly (readonly [name: string, value: string])[]> {
  const url = new URL(request.url)
  const target = request.url.slice(url.origin.length).replace(/#.*$/s, '')
  if (!request.url.startsWith(`${url.origin}/`) || url.href !== request.url) {
    throw new StructuredFieldError('the URL is not in its normalized form')
  }
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  const query = mark === -1 ? null : target.slice(mark)
  const { method, body } = request
  const agent = signatureAgentField(signer.signatureAgent, LABEL)
  const hasContent = body !== null && body.length > 0

  const added: (readonly [string, string])[] = [['signature-agent', agent.field]]
  if (coversDigest({ method, hasContent })) {
    added.unshift(['content-digest', contentDigest(body ?? new Uint8Array())])
  }
  const replaced = new Set(added.map(([name]) => name))
  const kept = request.headers.filter(([name]) => !replaced.has(name.toLowerCase()))
  const fields = headerFields([...kept, ...added])
  const components = strictComponents(
    { method, fields, hasQuery: query !== null, hasContent },
    agent.component,
    agentHeaders(signer.naming.idHeader),
  )
  const params = `(${components.map(componentIdentifier).join(' ')})${parametersOf(signer)}`
  const base = signatureBase(
    { method, origin: url.origin, path, query, fields },
    components,
    params,
  )
  const value = await signer.sign(utf8(base))
  const signature = serializeMember({ item: { type: 'bytes', value }, params: new Map() })
  return [
    ...added,
    ['signature-input', `${LABEL}=${params}`],
    ['signature', `${LABEL}=${signature}`],
  ]
}

function parametersOf({ createdAt, publicKey, nonce }: RequestSigner): string {
  const created = Math.floor(createdAt / 1000)
  const keyid = serializeString(cachedThumbprint(publicKey))
  const expires = created + SIGNATURE_LIFETIME
  return `;created=${created};expires=${expires};keyid=${keyid};nonce=${serializeString(nonce)};tag="${WEB_BOT_AUTH_TAG}"`
}
