import type { SsoConnectionRow } from '../../../database/schema/organisation-rows.ts'
import type { GuardedFetch } from '../../../http/outbound/guarded-fetch.ts'
import { unseal } from '../../../secrets/seal.ts'
import type { Pepper } from '../../../secrets/secrets.ts'
import type { SsoClient, SsoClientSettings } from './sso-client.ts'

/** For sealing client secrets, with the id of the connection as additional data. */
export const SECRET_PURPOSE = 'sso-client-secret'
/** Clients whose discovered metadata stay in memory. */
const MAX_CACHED = 200

interface ClientDeps {
  readonly guardedFetch: GuardedFetch
  readonly pepper: Pepper
  readonly now: () => number
}

/** The clients of all connections, each opened when it is first used, and again after its settings have changed. */
export class SsoClients {
  readonly #deps: ClientDeps
  readonly #cached = new Map<string, { readonly updatedAt: number; readonly client: SsoClient }>()

  constructor(deps: ClientDeps) {
    this.#deps = deps
  }

  async clientOf(connection: SsoConnectionRow): Promise<SsoClient> {
    const { id, issuer, client_id, group_claim, updated_at: updatedAt } = connection
    const cached = this.#cached.get(id)
    if (cached?.updatedAt === updatedAt) return cached.client
    const client = await this.open({
      issuer,
      clientId: client_id,
      secret: secretOf(this.#deps.pepper, connection),
      groupClaim: group_claim,
    })
    this.#cached.delete(id)
    this.#cached.set(id, { updatedAt, client })
    const [oldest] = this.#cached.keys()
    if (this.#cached.size > MAX_CACHED && oldest !== undefined) this.#cached.delete(oldest)
    return client
  }

  /** A client with settings that are not stored yet. */
  async open(settings: SsoClientSettings): Promise<SsoClient> {
    // Loaded on demand: openid-client and jose are large.
    const { openSsoClient } = await import('./sso-client.ts')
    return openSsoClient(settings, this.#deps.guardedFetch, this.#deps.now)
  }
}

/** The client secret of a connection; null: a public client. */
export function secretOf(
  pepper: Pepper,
  { id, sealed_secret }: Pick<SsoConnectionRow, 'id' | 'sealed_secret'>,
): string | null {
  if (sealed_secret === null) return null
  const secret = unseal(pepper, SECRET_PURPOSE, sealed_secret, id)
  if (secret === null) throw new Error('the client secret was sealed with another pepper')
  return secret.toString()
}
