import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  enrol,
  enrolmentBody,
  newPlatform,
  ruleFor,
  startIssuer,
} from '../../../../../test/support/platform.ts'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { didIn, newOwner, newRule } from './with-rules.ts'

const MINUTE_MS = 60_000
const MINUTES = 5

/** Defines the test. @param count how many tokens */
export function randomKeyNames(count: number): void {
  test(
    `${count} tokens with random names of keys cost one read a minute, and known keys go on`,
    SQLITE_ONLY,
    async (t) => {
      let elapsed = 1_000_000
      const service = await startTestService(t, {}, Date.now, () => elapsed)
      const owner = await newOwner(service)
      const issuer = await startIssuer(t)
      const platform = newPlatform(issuer.url)
      issuer.jwks = platform.jwks
      const rule = await newRule(
        owner,
        ruleFor(platform, { keys: { discovery: true }, match: { '/sub': 'a' } }),
      )
      const key: TestKey = newKey()
      const good = enrolmentBody(
        service,
        rule.id,
        await platform.token({ aud: rule.audience, sub: 'a' }),
        key,
      )
      didIn(await enrol(service, good))
      const [, payload = '', signature = ''] = (good.token as string).split('.')
      const strangers = (minute: number) =>
        Array.from({ length: count / MINUTES }, (_, i) => {
          const head = JSON.stringify({ alg: 'RS256', kid: `random-${minute}-${i}` })
          const token = `${Buffer.from(head).toString('base64url')}.${payload}.${signature}`
          return enrolmentBody(service, rule.id, token, key)
        })
      const before = issuer.reads
      for (let minute = 1; minute <= MINUTES; minute++) {
        elapsed += MINUTE_MS
        const bodies = strangers(minute)
        while (bodies.length > 0) {
          const answers = await Promise.all(
            bodies.splice(0, 20).map((body) => enrol(service, body)),
          )
          for (const { status } of answers) assert.ok([403, 503].includes(status), `${status}`)
        }
        assert.equal(issuer.reads, before + minute)
        didIn(await enrol(service, good), 200)
      }
    },
  )
}
