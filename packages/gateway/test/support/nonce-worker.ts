import { agentOf, gateway } from '../../src/fetch.ts'
import {
  CountersignNonces,
  type DurableObjectNonces,
  durableObjectNonceStore,
} from '../../src/workers.ts'

interface Env {
  readonly SERVICE: string
  readonly ORIGIN: string
  readonly NONCES?: DurableObjectNonces
}

/** The object with a way to evict it from memory, and to fill it. */
export class Nonces extends CountersignNonces {
  readonly #state: State

  constructor(state: State) {
    super(state)
    this.#state = state
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const { sql } = this.#state.storage
    if (pathname === '/evict') this.#state.abort()
    if (pathname === '/fill') {
      const { count, expiresAt } = (await request.json()) as { count: number; expiresAt: number }
      const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)'
      const rows = "select expires || '/' || i, expires from n, (select ? as expires)"
      sql.exec(`insert into nonces ${numbers} ${rows}`, count, expiresAt)
    } else if (pathname === '/alarm') await this.alarm()
    else return super.fetch(request)
    return Response.json(sql.exec('select count(*) as count from nonces').toArray()[0]?.count)
  }
}

type State = ConstructorParameters<typeof CountersignNonces>[0] & { abort(): void }

let protect: ((request: Request) => Promise<Response>) | undefined

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const { NONCES } = env
    if (pathname === '/evict' && NONCES !== undefined) {
      const object = NONCES.get(NONCES.idFromName(searchParams.get('keyid') ?? ''))
      await object.fetch('https://nonces.invalid/evict', { method: 'POST' }).catch(() => undefined)
      return new Response('evicted')
    }
    if (pathname === '/record' && NONCES !== undefined) {
      const { hash, expiresAt } = (await request.json()) as { hash: string; expiresAt: number }
      const nonce = { keyid: 'k', nonce: '', hash, createdAt: 0, expiresAt }
      return Response.json(await durableObjectNonceStore(NONCES).record(nonce))
    }
    if (/^\/(fill|alarm)$/.test(pathname) && NONCES !== undefined) {
      const object = NONCES.get(NONCES.idFromName('k'))
      const body = await request.text()
      return object.fetch(`https://nonces.invalid${pathname}`, { method: 'POST', body })
    }
    protect ??= gateway({
      service: env.SERVICE,
      audiences: [env.ORIGIN],
      timeoutMs: 30_000,
      policy: { requireProof: true, routes: [{ path: '/pay', approval: {} }] },
      nonces: NONCES && durableObjectNonceStore(NONCES),
    })((each) => Response.json({ did: agentOf(each).did }))
    return protect(request)
  },
}
