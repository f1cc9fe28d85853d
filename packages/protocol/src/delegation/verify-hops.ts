import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64Url, utf8 } from '../encoding.ts'
import type { Chain, SignedChain } from './read-chain.ts'

/**
 * Verifies an Ed25519 signature strictly: S below the order, R and the key canonical and not of small order.
 * @param publicKey 32 bytes
 */
export type VerifyBytes = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean | Promise<boolean>

/** Step j: verifies the signature of each hop by the key before it. @param rootKey the agent's: 32 bytes */
export async function verifyHops(
  { hops, signed }: SignedChain,
  rootKey: Uint8Array,
  verify: VerifyBytes,
): Promise<boolean> {
  for (const [at, { signingInput, signature }] of signed.entries()) {
    const key = at === 0 ? rootKey : hops[at - 1]?.publicKey
    if (key === undefined || !(await verify(key, signingInput, signature))) return false
  }
  return true
}

/** Chains beyond this are forgotten, the oldest first. */
const MAX_CHAINS = 10_000

/**
 * Chains whose hops were verified, so that a delegate's second request costs no more than an agent's. Share it among the verifiers of one
 * issuer. Nothing else of a chain is remembered: its times, the certificate and its status count anew with each request.
 */
export class ProvenChains {
  readonly #chains = new Map<string, Chain>()

  /** @param chain as in the header */
  get(chain: string): Chain | null {
    return this.#chains.get(digestOf(chain)) ?? null
  }

  /** @param chain as in the header, bound and with valid signatures */
  add(chain: string, { root, hops }: Chain): void {
    const [oldest] = this.#chains.keys()
    if (this.#chains.size >= MAX_CHAINS && oldest !== undefined) this.#chains.delete(oldest)
    this.#chains.set(digestOf(chain), { root, hops })
  }
}

function digestOf(chain: string): string {
  return encodeBase64Url(sha256(utf8(chain)))
}
