import { hash } from 'node:crypto'
import type { JwsAlgorithm, TokenType } from '@countersign/protocol'
import type { IssuerKeys } from '../core/issuer-keys/issuer-keys.ts'

/** About 2 KB each, with their claims. */
const MAX_TOKENS = 5_000

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
  readonly token: Promise<string>
}

/** The last tokens that were signed: the same content is signed once, also for requests at the same time. */
export class SignedTokens {
  readonly #keys: IssuerKeys
  readonly #tokens = new Map<string, Signed>()

  constructor(keys: IssuerKeys) {
    this.#keys = keys
  }

  /**
   * @param id identifies the agent and the kind of token
   * @throws what `IssuerKeys.sign` throws
   */
  token(id: string, { typ, claims, alg, identified }: Unsigned): Promise<string> {
    // A token of a key that was taken out of use is never handed out again.
    const kid = this.#keys.kid(alg)
    const content = JSON.stringify(claims)
    const known = this.#tokens.get(id)
    if (known?.kid === kid && known.content === content) return known.token
    const payload = identified ? { ...claims, jti: identifierOf(kid, content) } : claims
    const token = this.#keys.sign(typ, payload, alg)
    token.catch(() => this.#tokens.delete(id))
    this.#tokens.delete(id)
    this.#tokens.set(id, { kid, content, token })
    if (this.#tokens.size > MAX_TOKENS) {
      const [oldest] = this.#tokens.keys()
      if (oldest !== undefined) this.#tokens.delete(oldest)
    }
    return token
  }
}

function identifierOf(kid: string, content: string): string {
  return hash('sha256', kid + content, 'base64url').slice(0, 22)
}
