import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../../test/support/until.ts'
import manifest from '../../../package.json' with { type: 'json' }
import {
  addChannel,
  check,
  DOMAIN,
  newProver,
  startChannelFixture,
} from '../../channels/support/channel-fixture.ts'

test('requests carry a User-Agent with the version and the origin', async (t) => {
  const fixture = await startChannelFixture(t)
  const prover = await newProver(fixture)
  await check(prover, await addChannel(prover, 'domain'))
  const [request] = fixture.site.requests
  assert.equal(
    request?.headers['user-agent'],
    `Countersign/${manifest.version} (+${fixture.service.settings.baseUrl.origin})`,
  )
})

test('each resolver is evaluated separately, and the owner sees why one is rejected', async (t) => {
  const fixture = await startChannelFixture(t, { resolvers: 3 })
  const [one, two, three] = fixture.dns
  const prover = await newProver(fixture)
  const channel = await addChannel(prover, 'domain', 'elsewhere.example.com')
  one?.set('elsewhere.example.com', 'A', ['127.0.0.1'])
  two?.set('elsewhere.example.com', 'AAAA', ['::ffff:169.254.169.254'])
  three?.fail('*', 'SERVFAIL')
  const { outcome, seen } = await check(prover, channel)
  assert.equal(outcome, 'unreachable')
  assert.deepEqual(
    seen.map(({ name }) => name),
    fixture.dns.map(({ address }) => address),
  )
  const [first, second, third] = seen.map(({ detail }) => detail)
  assert.match(first ?? '', /resolves to an address that is not a public address/)
  assert.match(second ?? '', /resolves to an address that is not a public address/)
  assert.match(third ?? '', /fails to look it up \(SERVFAIL\)/)
  assert.equal(fixture.site.connections, 0)
})

test('a host in LOOPBACK_HOSTS may not resolve to other addresses', async (t) => {
  const fixture = await startChannelFixture(t)
  const prover = await newProver(fixture)
  const channel = await addChannel(prover, 'domain')
  fixture.dns[0]?.set(DOMAIN, 'A', ['127.0.0.1', '10.0.0.1'])
  const { outcome, seen } = await check(prover, channel)
  assert.equal(outcome, 'unreachable')
  assert.match(seen[0]?.detail ?? '', /resolves to an address that is not a loopback address/)
  assert.equal(fixture.site.connections, 0)
})

test('a stop does not wait for network requests', async (t) => {
  const fixture = await startChannelFixture(t)
  const prover = await newProver(fixture)
  const channel = await addChannel(prover, 'domain')
  fixture.dns[0]?.fail('*', 'silence')
  const checked = check(prover, channel)
  await until(async () => fixture.dns[0]?.asked(`_svc-challenge.${DOMAIN}`) !== 0)
  await fixture.service.stop()
  const { outcome, seen } = await checked
  assert.equal(outcome, 'unreachable')
  assert.match(seen[0]?.detail ?? '', /was cancelled/)
})
