import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { scraping } from '../../http/metrics/support/scrape.ts'

test('organisations and members are counted, the row of deleted owners among neither', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startTestService(t, env)
  const counts = async () => {
    const found = await scrape()
    const names = ['organisations', 'members{source="manual"}', 'members{source="sso"}']
    return names.map((name) => found.get(`countersign_${name}`))
  }
  assert.deepEqual(await counts(), [0, 0, 0])
  const organisation = await createOrganisation(service)
  await organisation.addMember('grace', 'viewer')
  await createOrganisation(service, 'other')
  assert.deepEqual(await counts(), [2, 3, 0])
  const { admin } = organisation
  const erased = await admin.post('/api/account/deletion', { username: 'acme' })
  assert.equal(erased.status, 200, erased.text)
  assert.deepEqual(await counts(), [1, 1, 0])
})
