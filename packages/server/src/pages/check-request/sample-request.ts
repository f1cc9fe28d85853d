import { createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto'
import { agentKeySetUrl, signRequest, utf8 } from '@countersign/protocol'
import { sha256 } from '../../base/sha256.ts'
import { didOfAgent, type Site } from '../../base/site.ts'
import { SAMPLE_TAIL } from '../sample.ts'

/** A key that is no secret: everybody can compute it, and no agent has it. */
function openKey(name: string) {
  // PKCS #8 of an Ed25519 key (RFC 8410), whose seed is a hash.
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
  const der = Buffer.concat([prefix, sha256(utf8(name))])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  return { privateKey, publicKey: new Uint8Array(Buffer.from(x, 'base64url')) }
}

const SAMPLE = openKey('the sample agent of /check/request')

/** The key of the sample agent, which exists on this page alone. */
export const SAMPLE_KEY = SAMPLE.publicKey
/** A key that has not signed the request, for "swap the key". */
export const OTHER_KEY = openKey('another key of /check/request').publicKey

const METHOD = 'POST'
const REQUEST_URL = 'https://shop.example/orders?draft=1'
const BODY = '{"item":"teapot","quantity":1}'

/**
 * A raw request by the sample agent, signed now as every agent signs.
 * @param createdAt milliseconds since 1970
 */
export async function sampleRequest(site: Site, createdAt: number): Promise<string> {
  const headers: [string, string][] = [
    ['Host', 'shop.example'],
    ['User-Agent', 'sample-agent/1.0'],
    ['Content-Type', 'application/json'],
    [site.naming.idHeader, didOfAgent(site, SAMPLE_TAIL)],
  ]
  const added = await signRequest(
    { method: METHOD, url: REQUEST_URL, headers, body: utf8(BODY) },
    {
      publicKey: SAMPLE.publicKey,
      sign: async (message) => new Uint8Array(sign(null, message, SAMPLE.privateKey)),
      signatureAgent: { dialect: 'ietf', url: agentKeySetUrl(site.baseUrl, SAMPLE_TAIL) },
      naming: site.naming,
      createdAt,
      nonce: randomBytes(18).toString('base64url'),
    },
  )
  const lines = [...headers, ...added].map(([name, value]) => `${titleCase(name)}: ${value}`)
  return [
    `${METHOD} ${REQUEST_URL.slice('https://shop.example'.length)} HTTP/1.1`,
    ...lines,
    '',
    BODY,
  ].join('\n')
}

/** `content-digest` as people write it. */
function titleCase(name: string): string {
  return name.replace(/(?<=^|-)[a-z]/g, (each) => each.toUpperCase())
}
