import assert from 'node:assert/strict'
import { Agent, get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { claimAgent, startTestService } from '../../../../../../test/support/service.ts'
import { signIn } from '../../../../../../test/support/signed-in.ts'
import { until } from '../../../../../../test/support/until.ts'
import { answerOf, assertShed, PATIENT } from './support.ts'

/** Together the limit of 1,000 streams; each owner may have 20. */
const OWNERS = 50
const EACH = 20

test('past the limit a stream is rejected with 503; when another one ends its slot is free', async (t) => {
  const service = await startTestService(t, { ...PATIENT, MAX_CONNECTIONS_PER_ADDRESS: 'off' })
  const owners = await Promise.all(
    Array.from({ length: OWNERS + 1 }, async () =>
      signIn(service, await service.operator.addVerifiedOwner()),
    ),
  )
  for (const { ownerId } of owners) await claimAgent(service, ownerId)
  const agent = new Agent()
  t.after(() => agent.destroy())
  const url = `${service.url}/api/account/stream`
  const openOnce = (cookie: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { agent, headers: { cookie } }, resolve).on('error', reject)
    })
  // Retried: a slow machine may reject some under pressure, which is not what is tested here.
  const open = async (cookie: string) => {
    let stream = await openOnce(cookie)
    const isOpen = async () => {
      if (stream.statusCode === 200) return true
      stream.resume()
      stream = await openOnce(cookie)
      return stream.statusCode === 200
    }
    await until(isOpen, 60_000, 500)
    return stream
  }
  const [late, ...early] = owners as [(typeof owners)[number], ...typeof owners]
  const streams: IncomingMessage[] = []
  for (const { cookie } of early) {
    streams.push(...(await Promise.all(Array.from({ length: EACH }, () => open(cookie)))))
  }
  for (const stream of streams) {
    // Destroying a stream below emits an error.
    stream.on('error', () => undefined).resume()
    assert.equal(stream.statusCode, 200)
  }
  const ask = () => fetch(url, { headers: { cookie: late.cookie } })
  await until(async () => {
    const refused = await answerOf(await ask())
    assertShed(refused)
    return refused.text.includes('Too many streams')
  }, 30_000)
  // Other requests are still answered.
  await until(async () => (await late.get('/api/account')).status === 200, 30_000)
  for (const stream of streams.slice(0, 3)) stream.destroy()
  await until(async () => {
    const response = await ask()
    await response.body?.cancel()
    return response.status === 200
  }, 30_000)
})
