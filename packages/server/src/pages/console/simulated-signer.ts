import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import {
  encodeBase64,
  keyThumbprint,
  type Naming,
  type SignatureAgent,
  type SignedRequest,
  signRequest,
} from '@countersign/protocol'

/** A key that exists for one simulated request, in place of a signer's own. */
export interface SimulatedSigner {
  /** Base64. */
  readonly publicKey: string
  /** JWK thumbprint (RFC 7638). */
  readonly thumbprint: string
  /** 32 bytes. */
  readonly publicKeyBytes: Uint8Array
  signBytes(message: Uint8Array): Uint8Array
  /** @returns the request with the headers of its signature */
  sign(request: SignedRequest, signatureAgent: SignatureAgent): Promise<SignedRequest>
  /** A key directory with this key alone. */
  directory(): Response
}

export function simulatedSigner(naming: Naming): SimulatedSigner {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const bytes = new Uint8Array(Buffer.from(x, 'base64url'))
  const signBytes = (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey))
  return {
    publicKey: encodeBase64(bytes),
    thumbprint: keyThumbprint(bytes),
    publicKeyBytes: bytes,
    signBytes,
    async sign(request, signatureAgent) {
      const headers = request.headers.map(([name = '', value = '']) => [name, value] as const)
      const added = await signRequest(
        { method: request.method, url: request.url, headers, body: null },
        {
          publicKey: bytes,
          sign: async (message) => signBytes(message),
          signatureAgent,
          naming,
          createdAt: Date.now(),
          nonce: randomBytes(18).toString('base64url'),
        },
      )
      return { ...request, headers: [...headers, ...added].map(([name, value]) => [name, value]) }
    },
    directory: () =>
      Response.json(
        { keys: [{ kty: 'OKP', crv: 'Ed25519', x }] },
        { headers: { 'content-type': 'application/http-message-signatures-directory+json' } },
      ),
  }
}
