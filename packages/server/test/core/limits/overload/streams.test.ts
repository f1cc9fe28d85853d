import assert from 'node:assert/strict'
import { Agent, get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { startTestService } from '../../../../../../test/support/service.ts'
import { signIn } from '../../../../../../test/support/signed-in.ts'
import { until } from '../../../../../../test/support/until.ts'
import { answerOf, assertTurnedAway, PATIENT } from './support.ts'

/** As many as there is room for, of as many owners as it takes: each may have 20. */
const OWNERS = 50
const EACH = 20

test('past the bound a stream is refused with 503, and there is room again when another ends', async (t) => {
  const service = await startTestService(t, PATIENT)
  const owners = await Promise.all(
    Array.from({ length: OWNERS + 1 }, async () =>
      signIn(service, await service.operator.addVerifiedOwner()),
    ),
  )
  const agent = new Agent()
  t.after(() => agent.destroy())
  const url = `${service.url}/api/account/stream`
  const openOnce = (cookie: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { agent, headers: { cookie } }, resolve).on('error', reject)
    })
  // A machine that cannot keep up with so many is waited for: that is another refusal.
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
    // A stream that is given up ends in an error.
    stream.on('error', () => undefined).resume()
    assert.equal(stream.statusCode, 200)
  }
  const ask = () => fetch(url, { headers: { cookie: late.cookie } })
  await until(async () => {
    const refused = await answerOf(await ask())
    assertTurnedAway(refused)
    return refused.text.includes('Too many streams')
  }, 30_000)
  // Everything else goes on.
  await until(async () => (await late.get('/api/account')).status === 200, 30_000)
  for (const stream of streams.slice(0, 3)) stream.destroy()
  await until(async () => {
    const response = await ask()
    await response.body?.cancel()
    return response.status === 200
  }, 30_000)
})
