import { IssuerFollower } from '../packages/gateway/src/issuers/issuer-follower.ts'

/** The followers of `bench/offline.ts`: told an entry, it answers when all of them refuse it. */
const [issuer = '', count = '1'] = process.argv.slice(2)
const elapsed = () => performance.now()
const followers = Array.from(
  { length: Number(count) },
  () => new IssuerFollower({ issuer, base: issuer, jwks: null, elapsed, now: Date.now }),
)
let wanted = 'none'
let missing = 0

for (const follower of followers) {
  follower.onRestricted((entry) => {
    if (entry !== wanted) return
    missing -= 1
    if (missing === 0) process.send?.(performance.timeOrigin + performance.now())
  })
}
process.on('message', async (message: 'stop' | { list: number; idx: number }) => {
  if (message === 'stop') {
    await Promise.all(followers.map((each) => each.stop()))
    return process.disconnect()
  }
  const { list, idx } = message
  wanted = `${list}:${idx}`
  missing = followers.length
  for (const each of followers) each.remember(list, idx, wanted)
  process.send?.('armed')
})
await Promise.all(followers.map((each) => each.ready))
process.send?.('ready')
