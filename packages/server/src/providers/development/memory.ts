import type { Adapter, AdapterPayload } from 'oidc-provider'

interface Kept {
  readonly payload: AdapterPayload
  readonly until: number
}

/** Where a provider for development keeps what it has begun: in memory, until it ends. One for each provider. */
export class Memory {
  readonly #kept = new Map<string, Kept>()

  /** What oidc-provider calls with the name of each kind of thing that it keeps. */
  readonly adapterFor = (kind: string): Adapter => {
    const kept = this.#kept
    const find = async (id: string) => this.#live(`${kind}:${id}`)
    const findBy = async (name: 'uid' | 'userCode', value: string) =>
      [...kept.values()].find(({ payload }) => payload[name] === value)?.payload
    return {
      async upsert(id, payload, seconds) {
        kept.set(`${kind}:${id}`, { payload, until: Date.now() + (seconds || 3600) * 1000 })
      },
      find,
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (code) => findBy('userCode', code),
      async consume(id) {
        const payload = await find(id)
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
      },
      async destroy(id) {
        kept.delete(`${kind}:${id}`)
      },
      async revokeByGrantId(grantId) {
        for (const [key, { payload }] of kept) if (payload.grantId === grantId) kept.delete(key)
      },
    }
  }

  #live(key: string): AdapterPayload | undefined {
    const found = this.#kept.get(key)
    if (found !== undefined && found.until > Date.now()) return found.payload
    this.#kept.delete(key)
    return undefined
  }
}
