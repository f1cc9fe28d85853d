import { hash } from 'node:crypto'
import { getHeapStatistics } from 'node:v8'
import type { JwsAlgorithm, TokenType } from '@countersign/protocol'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'

/** About 27,000 certificates. */
const MAX_BYTES = 64 * 1024 * 1024
/** Of the heap, on a small machine. */
const HEAP_SHARE = 1 / 32
/** Of a token, besides its text and that of its claims. */
const OVERHEAD_BYTES = 400

interface Unsigned {
  readonly typ: TokenType
  readonly claims: object
  readonly alg: JwsAlgorithm
  /** Whether to add a `jti`: 128 bits that all nodes compute alike. */
  readonly identified: boolean
}

interface Signed {
  readonly kid: string
  readonly content: string
  readonly token: string
}

/** The last tokens that were signed: the same content is signed once. */
export class SignedTokens {
  readonly #keys: IssuerKeys
  readonly #tokens = new Map<string, Signed>()
  readonly #maxBytes = Math.min(MAX_BYTES, getHeapStatistics().heap_size_limit * HEAP_SHARE)
  #bytes = 0

  constructor(keys: IssuerKeys) {
    this.#keys = keys
  }

  /**
   * @param id identifies the agent and the kind of token
   * @throws what `IssuerKeys.sign` throws
   */
  token(id: string, { typ, claims, alg, identified }: Unsigned): string {
    // A token of a key that was taken out of use is never handed out again.
    const kid = this.#keys.kid(alg)
    const content = JSON.stringify(claims)
    const known = this.#tokens.get(id)
    if (known?.kid === kid && known.content === content) return known.token
    const payload = identified ? { ...claims, jti: identifierOf(kid, content) } : claims
    const token = this.#keys.sign(typ, payload, alg)
    this.#delete(id)
    this.#set(id, { kid, content, token })
    return token
  }

  #set(id: string, signed: Signed): void {
    this.#tokens.set(id, signed)
    this.#bytes += sizeOf(signed)
    for (const [oldest] of this.#tokens) {
      if (this.#bytes <= this.#maxBytes) break
      this.#delete(oldest)
    }
  }

  #delete(id: string): void {
    const known = this.#tokens.get(id)
    if (known === undefined) return
    this.#tokens.delete(id)
    this.#bytes -= sizeOf(known)
  }
}

/** All of it is ASCII. */
function sizeOf({ content, token }: Signed): number {
  return content.length + token.length + OVERHEAD_BYTES
}

function identifierOf(kid: string, content: string): string {
  return hash('sha256', kid + content, 'base64url').slice(0, 22)
}
