import type { TestContext } from 'node:test'
import { until } from '../../../../test/support/until.ts'
import { Clock } from './clock.ts'
import { type IssuerSite, startIssuerSite } from './issuer-site.ts'
import { offlineAgent, PROVEN, startOfflineSite } from './offline.ts'

/** A site whose two clocks are moved by hand: what tokens go by, and how old heads are. */
export async function setUp(t: TestContext, policy = {}) {
  const elapsed = new Clock()
  const wall = { offset: 0 }
  const clock = () => Date.now() + wall.offset
  const site = await startIssuerSite(t)
  const trust = [{ issuer: site.origin, didPrefix: 'svc:agent:' }]
  const faults: string[] = []
  const onFeedFault = (fault: string) => faults.push(fault)
  const options = { now: elapsed.now, clock, policy: { ...PROVEN, trust, ...policy }, onFeedFault }
  const shop = startOfflineSite(t, [site], options)
  await site.untilFollowed()
  const agent = offlineAgent(site.origin, 0, { now: clock })
  const certificate = await site.issuer.certificate(agent)
  return { site, shop, agent, certificate, elapsed, wall, faults }
}

/** Waits until lines that were sent have arrived: an entry of another agent shows it. */
export async function untilArrived(
  site: IssuerSite,
  shop: Awaited<ReturnType<typeof setUp>>['shop'],
) {
  const marker = offlineAgent(site.origin, 20)
  const idx = 100_000 + site.n
  const certificate = await site.issuer.certificate(marker, { idx })
  site.change(1, idx, 1)
  await until(async () => (await shop.visit(marker, { certificate })).status === 401)
}
