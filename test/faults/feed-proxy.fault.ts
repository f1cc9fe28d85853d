import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IssuerFollower } from '../../packages/gateway/src/issuers/issuer-follower.ts'
import { certificateOf } from '../support/agent-certificates.ts'
import { type FeedAttack, startFeedProxy } from '../support/feed-proxy.ts'
import { claimAgent, startTestService } from '../support/service.ts'
import { setStatus } from '../support/set-status.ts'
import { referenceIn } from '../support/status-feed.ts'
import { until } from '../support/until.ts'
import { report } from './support/report.ts'

/** From the acknowledgement of a suspension until a gateway behind the proxy refuses the agent, in milliseconds. */
const PROMISED_MS: Readonly<Record<Exclude<FeedAttack, 'replay'>, number>> = {
  pass: 1000,
  // The head follows the change within a second, and then all lists are read again.
  'drop-lines': 3000,
  'hold-heads': 1000,
}

test('a proxy drops lines or holds heads back: suspensions are noticed, and what is old looks old', async (t) => {
  const service = await startTestService(t)
  const proxy = await startFeedProxy(t, service.url)
  const faults: string[] = []
  const follower = new IssuerFollower({
    issuer: service.url,
    base: proxy.url,
    jwks: null,
    elapsed: () => performance.now(),
    now: Date.now,
  })
  t.after(() => follower.stop())
  follower.onFault((fault) => faults.push(fault))
  await follower.ready
  const owner = await service.operator.addVerifiedOwner()
  const found: Record<string, string> = {}
  for (const attack of Object.keys(PROMISED_MS) as (keyof typeof PROMISED_MS)[]) {
    const did = await claimAgent(service, owner)
    const { list, idx } = referenceIn(await certificateOf(service, did))
    proxy.attack = 'pass'
    await until(async () => {
      await follower.loadList(list)
      return follower.status(list, idx)?.status === 'valid' && follower.statusAgeMs < 2000
    })
    const known = faults.length
    proxy.attack = attack
    const began = performance.now()
    await setStatus(service, did, 'suspended')
    await until(async () => follower.status(list, idx)?.status === 'suspended')
    const took = Math.round(performance.now() - began)
    const noticed = faults.slice(known)
    found[attack] = `refused after ${took} ms, faults: ${noticed.join(', ') || 'none'}`
    assert.ok(took <= PROMISED_MS[attack], found[attack])
    assert.equal(noticed.includes('position'), attack === 'drop-lines')
  }
  proxy.attack = 'replay'
  proxy.cut()
  const { asOf } = follower
  await until(async () => follower.statusAgeMs > 12_000)
  found.replay = `the status is ${Math.round(follower.statusAgeMs / 1000)} s old, and grows`
  assert.equal(follower.asOf, asOf)
  report(t, found)
})
