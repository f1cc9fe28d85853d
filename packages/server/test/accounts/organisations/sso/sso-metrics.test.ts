import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Visitor } from '../../../../../../test/support/visitor.ts'
import { scraping } from '../../../http/metrics/support/scrape.ts'
import { linkToSso, signInBySso, startSsoWorld } from './sso-world.ts'

test('sign-ins at identity providers are counted by result', async (t) => {
  const { env, scrape } = await scraping()
  const world = await startSsoWorld(t, { env })
  const results = async () => {
    const series = await scrape()
    const names = ['signed-in', 'linked', 'no-role', 'not-provisioned', 'flow-expired']
    return names.map((name) => series.get(`countersign_sso_sign_ins_total{result="${name}"}`))
  }
  assert.deepEqual(await results(), [0, 0, 0, 0, undefined])
  await signInBySso(world, { sub: 'lea', name: 'Lea', groups: ['leads'] })
  await signInBySso(world, { sub: 'lea', name: 'Lea', groups: ['staff'] })
  await signInBySso(world, { sub: 'nobody', name: 'No', groups: [] })
  const grace = await world.acme.addMember('grace', 'viewer')
  await linkToSso(world, grace.self, 'acme', { sub: 'grace' })
  // A stranger cannot add results with connections that do not exist.
  await new Visitor(world.service).get('/sign-in/organisation/sso-none?code=a&state=b')
  assert.deepEqual(await results(), [2, 1, 1, 0, undefined])
})
