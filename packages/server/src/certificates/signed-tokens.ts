import type { JwsAlgorithm, TokenType } from '@countersign/protocol'
import type { IssuerKeys } from '../core/issuer-keys/issuer-keys.ts'

/** About 1 KB each. */
const MAX_TOKENS = 20_000

interface Unsigned {
  readonly typ: TokenType
  readonly claims: object
  readonly alg: JwsAlgorithm
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
  token(id: string, { typ, claims, alg }: Unsigned): Promise<string> {
    // A token of a key that was taken out of use is never handed out again.
    const kid = this.#keys.kid(alg)
    const content = JSON.stringify(claims)
    const known = this.#tokens.get(id)
    if (known?.kid === kid && known.content === content) return known.token
    const token = this.#keys.sign(typ, claims, alg)
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
