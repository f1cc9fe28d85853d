/** The path of the extension's URI, the same for every service. */
export const A2A_IDENTITY_PATH = '/a2a/identity/v1'

/**
 * The URI of the A2A extension with which an agent card names an agent of a service. Its `params` are `did`, `nonce` (the
 * token of the channel) and `expiry` (RFC 3339). docs/contract/resources.md.
 * @param baseUrl the origin of the service that certifies the DID
 */
export function a2aIdentityUri(baseUrl: string): string {
  return `${baseUrl}${A2A_IDENTITY_PATH}`
}

/**
 * The URL of the keys with which a service countersigns the agent cards of an agent: the only `jku` that a verifier may accept for
 * that agent.
 * @param baseUrl the origin of the service that certifies the agent
 * @param tail the last part of the agent's DID
 */
export function a2aKeySetUrl(baseUrl: string, tail: string): string {
  return `${baseUrl}/agent/${tail}/a2a-jwks.json`
}
