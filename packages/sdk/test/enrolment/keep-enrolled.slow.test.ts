import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newTestRule } from '../../../../test/support/enrolment-rule.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { keepEnrolled } from '../../src/enrolment/keep-enrolled.ts'
import { newKey } from '../../src/keys/keys.ts'
import { failsWith } from '../support/fails.ts'

test('keepEnrolled retries, renews before the end, reports another DID, and stops', async (t) => {
  let ahead = 0
  const now = () => Date.now() + ahead
  const service = await startTestService(t, {}, now)
  const { rule, tokenFor } = await newTestRule(service, {}, now)
  const stop = new AbortController()
  const events: string[] = []
  let failing = 2
  const token = (audience: string) => {
    // The first attempts fail as an outage does, later ones as the platform does.
    if (failing > 0) failing -= 1
    else return tokenFor(audience)
    throw new Error('no token now')
  }
  let attempts = 0
  let renewals = 0
  const dids = new Set<string>()
  const options = {
    service: service.url,
    rule: rule.id,
    signer: await newKey(),
    token,
    now,
    retries: 0,
    fetch: (async (input, init) => {
      const isEnrolment = String(input).endsWith('/enrol')
      if (isEnrolment && attempts++ === 0) throw new TypeError('fetch failed')
      const response = await fetch(input, init)
      const body = (await response.clone().json()) as { renewAfter?: string; svcDid?: string }
      if (!isEnrolment || body.renewAfter === undefined) return response
      dids.add(body.svcDid ?? '')
      renewals += 1
      if (renewals === 2) failing = 2
      if (renewals === 3) await setStatus(service, body.svcDid ?? '', 'revoked')
      if (renewals === 5) stop.abort()
      // The next one is due.
      ahead += Date.parse(body.renewAfter) - now()
      return response
    }) as typeof fetch,
  }
  await assert.rejects(keepEnrolled(options), /no token now/)
  failing = 0
  await keepEnrolled(options, {
    signal: stop.signal,
    onChanged: ({ did }) => void events.push(did),
    onFailure: (error, retryAt) => {
      events.push((error as Error).message)
      ahead += retryAt - now()
    },
  })
  assert.equal(renewals, 5)
  const [first, second, ...none] = [...dids]
  assert.deepEqual(none, [])
  const [outage = '', ...others] = events
  assert.match(outage, /fetch failed/)
  assert.deepEqual(others, [first, 'no token now', 'no token now', second])
})

test('keepEnrolled throws if the first enrolment is refused', async (t) => {
  const service = await startTestService(t)
  const { rule, platform } = await newTestRule(service)
  const token = () => platform.token({ aud: rule.audience, sub: 'another workload' })
  const options = { service: service.url, rule: rule.id, signer: await newKey(), token }
  await failsWith('FORBIDDEN', keepEnrolled(options))
})
