import { AsyncLocalStorage } from 'node:async_hooks'
import { IssuerFollower } from '../packages/gateway/src/issuers/issuer-follower.ts'

/** The followers of `bench/offline.ts`: told an entry, it answers when all of them refuse it. */
const [issuer = '', count = '1', way = 'stream'] = process.argv.slice(2)
const elapsed = () => performance.now()
/** Each follower has an address of its own, because one address gets 20 streams. The service trusts this process as a proxy. */
const address = new AsyncLocalStorage<string>()
const send = globalThis.fetch
globalThis.fetch = async (input, init) => {
  const headers = new Headers(init?.headers)
  const isStream = headers.get('accept') === 'text/event-stream'
  if (isStream && way === 'poll') return new Response(null, { status: 503 })
  headers.set('x-forwarded-for', address.getStore() ?? '127.0.0.1')
  return send(input, { ...init, headers })
}
const followers = Array.from({ length: Number(count) }, (_, i) =>
  address.run(
    `10.0.${i}.1`,
    () => new IssuerFollower({ issuer, base: issuer, jwks: null, elapsed, now: Date.now }),
  ),
)
let wanted = 'none'
let missing = new Set<IssuerFollower>()

for (const follower of followers) {
  follower.onRestricted((entry) => {
    if (entry !== wanted || !missing.delete(follower) || missing.size > 0) return
    process.send?.(performance.timeOrigin + performance.now())
  })
}
process.on('message', async (message: 'stop' | { list: number; idx: number }) => {
  if (message === 'stop') {
    await Promise.all(followers.map((each) => each.stop()))
    return process.disconnect()
  }
  const { list, idx } = message
  wanted = `${list}:${idx}`
  missing = new Set(followers)
  for (const each of followers) each.remember(list, idx, wanted)
  process.send?.('armed')
})
await Promise.all(followers.map((each) => each.ready))
process.send?.('ready')
