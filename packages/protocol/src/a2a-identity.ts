/** Where the uri of the extension ends, under whichever service. */
export const A2A_IDENTITY_PATH = '/a2a/identity/v1'

/**
 * The uri of the extension by which an agent card of A2A names an agent of a service, in its `params`: `did`, `nonce`
 * (the token of the channel) and `expiry` (RFC 3339). docs/contract-notes.md.
 * @param baseUrl the origin of the service: who certifies the DID is part of what the card says
 */
export function a2aIdentityUri(baseUrl: string): string {
  return `${baseUrl}${A2A_IDENTITY_PATH}`
}
