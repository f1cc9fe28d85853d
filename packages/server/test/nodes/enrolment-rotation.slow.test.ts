import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { newKey } from '../../../../test/support/key.ts'
import { newPlatform, ruleFor, startIssuer } from '../../../../test/support/platform.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { startTestService } from '../../../../test/support/service.ts'
import {
  assertUnavailable,
  didIn,
  enrolBy,
  newOwner,
  newRule,
} from '../agents/enrolment/with-rules.ts'

const MINUTE_MS = 60_000

test(
  'an issuer rotates while two nodes serve: each accepts its new key after at most a minute',
  POSTGRES_ONLY,
  async (t) => {
    let elapsed = 1_000_000
    const start = (env: Record<string, string>) => startTestService(t, env, Date.now, () => elapsed)
    const first = await start({ BASE_URL: 'http://localhost:1' })
    const second = await start({ ...first.env, PORT: String(await freePort()) })
    const issuer = await startIssuer(t)
    const owner = await newOwner(first)
    const former = newPlatform(issuer.url)
    const next = newPlatform(issuer.url, Date.now, 'key-2')
    issuer.jwks = former.jwks
    const rule = await newRule(owner, ruleFor(former, { keys: { discovery: true } }))
    const key = newKey()
    const did = didIn(await enrolBy(first, former, rule, key))
    elapsed += MINUTE_MS
    // The second node reads the keys a minute after the first one.
    assert.equal(didIn(await enrolBy(second, former, rule, key), 200), did)
    issuer.jwks = { keys: [...former.jwks.keys, ...next.jwks.keys] }
    assert.equal(didIn(await enrolBy(first, next, rule, key), 200), did)
    assertUnavailable(await enrolBy(second, next, rule, key))
    for (const node of [first, second]) didIn(await enrolBy(node, former, rule, key), 200)
    elapsed += MINUTE_MS
    assert.equal(didIn(await enrolBy(second, next, rule, key), 200), did)
    // The former key is withdrawn: each node refuses it within ten minutes.
    issuer.jwks = next.jwks
    elapsed += 10 * MINUTE_MS
    for (const node of [first, second]) {
      didIn(await enrolBy(node, next, rule, key), 200)
      assertUnavailable(await enrolBy(node, former, rule, key))
    }
    elapsed += MINUTE_MS
    for (const node of [first, second]) {
      const refused = await enrolBy(node, former, rule, key)
      assertRefused(refused, 403, 'FORBIDDEN', /\(unknown-key\)/)
    }
  },
)
