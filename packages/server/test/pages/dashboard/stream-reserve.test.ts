import assert from 'node:assert/strict'
import { Agent, get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { until } from '../../../../../test/support/until.ts'

/** Together the streams that owners without agents may have; each owner may have 20. */
const OWNERS = 10
const EACH = 20

test('owners without agents cannot take all streams', async (t) => {
  const service = await startTestService(t)
  const agent = new Agent()
  t.after(() => agent.destroy())
  const open = (cookie: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get(`${service.url}/api/account/stream`, { agent, headers: { cookie } }, resolve).on(
        'error',
        reject,
      )
    })
  const owner = async () => signIn(service, await service.operator.addVerifiedOwner())
  const streams: IncomingMessage[] = []
  for (let i = 0; i < OWNERS; i++) {
    const { cookie } = await owner()
    for (let j = 0; j < EACH; j++) streams.push(await open(cookie))
  }
  // Destroying a stream below emits an error.
  for (const stream of streams) stream.on('error', () => undefined).resume()
  assert.deepEqual([...new Set(streams.map(({ statusCode }) => statusCode))], [200])

  const without = await owner()
  const refused = await open(without.cookie)
  refused.resume()
  assert.equal(refused.statusCode, 503)
  const withAgent = await owner()
  await claimAgent(service, withAgent.ownerId)
  assert.equal((await open(withAgent.cookie)).statusCode, 200)

  streams[0]?.destroy()
  await until(async () => {
    const again = await open(without.cookie)
    if (again.statusCode !== 200) again.resume()
    return again.statusCode === 200
  }, 10_000)
})
