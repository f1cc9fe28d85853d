import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DID, lookupBody, startImpostor } from '../../../test/support/impostor.ts'
import { Clock } from './support/clock.ts'
import { fetchGateway } from './support/fetch-gateway.ts'

const service = 'http://127.0.0.1:1'
const policy = { levels: { none: 'limit' }, limit: { requests: 1, seconds: 3600 } } as const
const address = (request: Request) => request.headers.get('x-test-address')

test('unidentified callers are limited by address, with IPv6 grouped by /64', async () => {
  const visit = fetchGateway({ service, policy, address })
  const from = async (each: string) => (await visit({ 'x-test-address': each })).status
  assert.deepEqual(
    [await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.2')],
    [200, 429, 200],
  )
  assert.deepEqual(
    [await from('2001:db8:0:1::1'), await from('2001:db8:0:1:f::2'), await from('2001:db8:0:2::1')],
    [200, 429, 200],
  )
})

test('callers without a known address share one limit', async () => {
  const broken = () => {
    throw new Error('broken')
  }
  for (const each of [undefined, broken, () => null]) {
    const visit = fetchGateway({ service, policy, address: each })
    assert.deepEqual([(await visit()).status, (await visit()).status], [200, 429])
  }
})

test('callers that name an unknown agent are limited by address, so that invented DIDs bring no extra requests', async (t) => {
  const unknown = {
    status: 404,
    body: { error: { code: 'NOT_FOUND', message: 'No.', requestId: 'req_1' } },
  }
  const { url } = await startImpostor(t, unknown)
  const visit = fetchGateway({
    service: url,
    address,
    policy: { ...policy, levels: { unknown: 'limit' } },
  })
  const naming = async (letter: string) =>
    (await visit({ ServiceID: DID.replaceAll('A', letter), 'x-test-address': '192.0.2.1' })).status
  assert.deepEqual([await naming('A'), await naming('B'), await naming('C')], [200, 429, 429])
})

test('an agent is limited across addresses, and admitted again after the time has passed', async (t) => {
  const { url } = await startImpostor(t, { body: lookupBody() })
  const clock = new Clock()
  const limit = { requests: 2, seconds: 60 }
  const visit = fetchGateway({
    service: url,
    now: clock.now,
    address,
    policy: { levels: { verified: 'limit' }, limit, cacheSeconds: 60 },
  })
  const from = async (each: string) =>
    (await visit({ ServiceID: DID, 'x-test-address': each })).status
  assert.deepEqual(
    [await from('192.0.2.1'), await from('192.0.2.2'), await from('192.0.2.3')],
    [200, 200, 429],
  )
  clock.pass(30_000)
  assert.deepEqual([await from('192.0.2.1'), await from('192.0.2.2')], [200, 429])
})
