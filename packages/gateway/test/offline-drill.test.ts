import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testIssuer } from '../../../test/support/test-issuer.ts'
import { until } from '../../../test/support/until.ts'
import type { WhenUnreachable } from '../src/policy/policy.ts'
import { startIssuerSite } from './support/issuer-site.ts'
import {
  type OfflineAgent,
  offlineAgent,
  PROVEN,
  startOfflineSite,
  type Tokens,
} from './support/offline.ts'

const HOUR = 3_600_000
/** Up to this age, the status is used while the service is off. */
const OFFLINE_HOURS = 4
/** With `unreachable: "stale"`, up to this age. */
const STALE_HOURS = 12
const POLICIES: readonly WhenUnreachable[] = ['deny', 'flag', 'allow', 'stale']

interface Visitor {
  readonly agent: OfflineAgent
  readonly tokens: Tokens
  /** Whether it may ever be admitted. */
  readonly good: boolean
}

test('the service is off for 24 hours: agents are decided as the policy says, and nothing fails open', async (t) => {
  const time = { passed: 0 }
  const clock = () => Date.now() + time.passed
  const elapsed = () => performance.now() + time.passed
  const site = await startIssuerSite(t, clock)
  const trust = [{ issuer: site.origin, didPrefix: 'svc:agent:' }]
  const shops = new Map(
    POLICIES.map((unreachable) => {
      const policy = {
        ...PROVEN,
        trust,
        unreachable,
        maxStaleSeconds: (STALE_HOURS * HOUR) / 1000,
        offline: { maxStaleSeconds: (OFFLINE_HOURS * HOUR) / 1000 },
      }
      return [unreachable, startOfflineSite(t, [site], { now: elapsed, clock, policy })]
    }),
  )
  await site.untilFollowed()

  const of = (n: number) => offlineAgent(site.origin, n, { now: clock })
  const certified = async (n: number, good: boolean): Promise<Visitor> => {
    const agent = of(n)
    const tokens = {
      certificate: await site.issuer.certificate(agent, { idx: n }),
      staple: await site.issuer.staple(agent),
    }
    return { agent, tokens, good }
  }
  const forger = of(4)
  const visitors: Readonly<Record<string, Visitor>> = {
    known: await certified(0, true),
    new: await certified(1, true),
    suspended: await certified(2, false),
    revoked: await certified(3, false),
    forged: {
      agent: forger,
      tokens: { certificate: await testIssuer(site.origin, clock).certificate(forger) },
      good: false,
    },
  }
  const visit = (unreachable: WhenUnreachable, name: keyof typeof visitors) => {
    const { agent, tokens } = visitors[name] ?? assert.fail()
    return (shops.get(unreachable) ?? assert.fail()).visit(agent, tokens)
  }
  site.change(1, 2, 2)
  site.change(1, 3, 1)
  for (const each of POLICIES) {
    await until(async () => (await visit(each, 'revoked')).status === 401)
    assert.equal((await visit(each, 'suspended')).status, 403)
    assert.equal((await visit(each, 'known')).status, 200)
  }
  await site.stop()

  for (let hour = 0; hour <= 25; hour += 1) {
    time.passed = hour * HOUR
    const row: string[] = []
    for (const unreachable of POLICIES) {
      for (const [name, { good }] of Object.entries(visitors)) {
        const { status, decision, reasons } = await visit(unreachable, name)
        const where = `${unreachable}, ${name}, after ${hour} hours: ${reasons}`
        row.push(`${name}=${status}${decision.source === null ? '' : `/${decision.source}`}`)
        if (!good || hour >= 24) assert.ok(status === 401 || status === 403, where)
        else assert.equal(status === 200, isAdmitted(unreachable, hour), where)
        if (status === 200 && hour > OFFLINE_HOURS) {
          assert.equal(decision.action, unreachable === 'flag' ? 'flag' : 'allow', where)
        }
      }
    }
    t.diagnostic(`after ${String(hour).padStart(2)} hours: ${row.join(' ')}`)
  }
})

function isAdmitted(unreachable: WhenUnreachable, hour: number): boolean {
  // The heads are a moment older than the time that has passed.
  if (hour < OFFLINE_HOURS) return true
  if (unreachable === 'stale') return hour < STALE_HOURS
  return unreachable === 'flag' || unreachable === 'allow'
}
