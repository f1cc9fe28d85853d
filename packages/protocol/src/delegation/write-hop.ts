import { encodeBase64Url, utf8 } from '../encoding.ts'
import type { DelegationLimits } from '../http-signatures/signed-request-types.ts'
import { bindingOf, hopSigningInput, isChain, joinChain, splitChain } from './format.ts'

/** A hop that is about to be signed. */
export interface HopToWrite {
  /** The next key: 32 bytes. */
  readonly publicKey: Uint8Array
  /** Unix seconds. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** 16 random bytes or more in base64url: 22 to 128 characters. */
  readonly nonce: string
  /** How many hops may follow. */
  readonly maxDepth: number
  readonly limits: DelegationLimits
}

/**
 * Signs a hop and appends it to a chain. Read the result with `readChain` before you hand it on: what is wrong with it is not checked here.
 * @param before a certificate or a chain
 * @param sign signs with the key before the new hop. @returns 64 bytes
 * @throws RangeError if `before` is neither
 */
export async function appendHop(
  before: string,
  { issuedAt, expiresAt, ...hop }: HopToWrite,
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<string> {
  const tokens = isChain(before)
    ? splitChain(before)
    : { certificate: before.replace(/~$/, ''), hops: [] }
  if (tokens === null) throw new RangeError('the text is no chain of delegations')
  const { certificate, hops } = tokens
  const input = hopSigningInput({
    ...hop,
    iat: issuedAt,
    exp: expiresAt,
    binding: bindingOf(hops.at(-1) ?? certificate),
  })
  const signature = encodeBase64Url(await sign(utf8(input)))
  return joinChain(certificate, [...hops, `${input}.${signature}`])
}
