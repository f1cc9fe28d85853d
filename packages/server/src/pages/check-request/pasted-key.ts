import { decodeKey, keyFault, keyThumbprint, readKeySet } from '@countersign/protocol'
import { EntryFault } from './request-form.ts'

/** The DER of a SubjectPublicKeyInfo of Ed25519 up to the key (RFC 8410). */
const SPKI = '302a300506032b6570032100'

/**
 * Reads public keys: base64 of 32 bytes, PEM, a JWK or a JSON Web Key Set.
 * @returns them by JWK thumbprint
 * @throws EntryFault if there is no usable Ed25519 key
 */
export function parsePastedKey(text: string): ReadonlyMap<string, Uint8Array> {
  const keys = text.startsWith('{') ? keysOfJson(text) : [keyOfText(text)]
  const usable = keys.filter((each) => each !== null && keyFault(each) === null)
  if (usable.length > 0)
    return new Map(usable.map((each) => [keyThumbprint(each as Uint8Array), each as Uint8Array]))
  throw new EntryFault(
    'key',
    'This is no usable Ed25519 public key. Paste a JWK, a key set, PEM, or base64 of 32 bytes.',
  )
}

function keyOfText(text: string): Uint8Array | null {
  const [, pem] = /^-----BEGIN PUBLIC KEY-----([^-]*)-----END PUBLIC KEY-----$/.exec(text) ?? []
  if (pem === undefined) return decodeKey(text)
  const der = Buffer.from(pem, 'base64')
  const isEd25519 = der.length === 44 && der.toString('hex').startsWith(SPKI)
  return isEd25519 ? new Uint8Array(der.subarray(12)) : null
}

function keysOfJson(text: string): Uint8Array[] {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return []
  }
  const isSet = Array.isArray((json as { keys?: unknown }).keys)
  const keys = readKeySet(isSet ? json : { keys: [json] })
  return [...(keys?.values() ?? [])].map(({ publicKey }) => publicKey)
}
