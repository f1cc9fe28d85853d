import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOrganisation } from '../../../../../../test/support/organisations.ts'
import { connectDirectory } from '../../../../../../test/support/scim.ts'
import { startTestService } from '../../../../../../test/support/service.ts'
import { scraping } from '../../../http/metrics/support/scrape.ts'

test('requests are counted by operation and status', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startTestService(t, env)
  const directory = await connectDirectory(service, await createOrganisation(service))
  const id = await directory.add('grace')
  await directory.deactivate(id)
  await directory.deactivate(id)
  await directory.send('GET', '/Users/su_x')
  await directory.send('POST', '/Bulk', {})
  const series = await scrape()
  const count = (operation: string, status: number) =>
    series.get(`countersign_scim_requests_total{operation="${operation}",status="${status}"}`)
  assert.deepEqual(
    [
      count('createScimUser', 201),
      count('changeScimUser', 200),
      count('readScimUser', 404),
      count('unsupported', 501),
    ],
    [1, 2, 1, 1],
  )
})
