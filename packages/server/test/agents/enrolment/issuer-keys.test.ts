import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnrolmentRule } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { newPlatform, ruleFor, startIssuer } from '../../../../../test/support/platform.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { assertUnavailable, didIn, enrolBy, newOwner, newRule, RULES } from './with-rules.ts'

const MINUTE_MS = 60_000

test('keys are read from the issuer: unknown ones once a minute, withdrawn ones end within ten', async (t) => {
  let elapsed = 1_000_000
  const service = await startTestService(t, {}, Date.now, () => elapsed)
  const issuer = await startIssuer(t)
  const owner = await newOwner(service)
  const first = newPlatform(issuer.url)
  const second = newPlatform(issuer.url, Date.now, 'key-2')
  issuer.jwks = first.jwks
  const rule = await newRule(owner, ruleFor(first, { keys: { discovery: true } }))
  const before = issuer.reads
  const key = newKey()
  didIn(await enrolBy(service, first, rule, key))
  assert.equal(issuer.reads, before + 1)
  for (let i = 0; i < 20; i++) {
    const stranger = newPlatform(issuer.url, Date.now, `random-${i}`)
    assertUnavailable(await enrolBy(service, stranger, rule))
  }
  didIn(await enrolBy(service, first, rule, key), 200)
  assert.equal(issuer.reads, before + 1, 'a flood of unknown keys reads nothing within a minute')
  // The issuer rotates.
  issuer.jwks = second.jwks
  elapsed += MINUTE_MS
  didIn(await enrolBy(service, second, rule))
  assert.equal(issuer.reads, before + 2)
  elapsed += MINUTE_MS
  const unknown = await enrolBy(service, first, rule, key)
  assertRefused(unknown, 403, 'FORBIDDEN', /\(unknown-key\)/)
  assert.equal(issuer.reads, before + 3)
  // A key that is withdrawn without another one.
  issuer.jwks = first.jwks
  elapsed += 10 * MINUTE_MS
  assertUnavailable(await enrolBy(service, second, rule))
  didIn(await enrolBy(service, first, rule, key), 200)
})

test('an issuer that is away is asked once a minute; its keys serve for an hour, then nobody enrols', async (t) => {
  let elapsed = 1_000_000
  const service = await startTestService(t, {}, Date.now, () => elapsed)
  const issuer = await startIssuer(t)
  const owner = await newOwner(service)
  const platform = newPlatform(issuer.url)
  issuer.jwks = platform.jwks
  const rule = await newRule(owner, ruleFor(platform, { keys: { jwksUri: `${issuer.url}/keys` } }))
  const read = async () => jsonOf<EnrolmentRule>(await owner.get(`${RULES}/${rule.id}`))
  const key = newKey()
  didIn(await enrolBy(service, platform, rule, key))
  issuer.isAway = true
  elapsed += 11 * MINUTE_MS
  didIn(await enrolBy(service, platform, rule, key), 200)
  assert.match((await read()).keysProblem ?? '', /500/)
  elapsed += 50 * MINUTE_MS
  for (let i = 0; i < 3; i++) assertUnavailable(await enrolBy(service, platform, rule, key))
  issuer.isAway = false
  assertUnavailable(await enrolBy(service, platform, rule, key))
  elapsed += MINUTE_MS
  didIn(await enrolBy(service, platform, rule, key), 200)
  assert.equal((await read()).keysProblem, null)
})

test('a rule is refused if its keys cannot be read, and no inner address is asked', async (t) => {
  const service = await startTestService(t, { BASE_URL: 'https://certificates.example' })
  const issuer = await startIssuer(t)
  const platform = newPlatform(issuer.url)
  issuer.jwks = platform.jwks
  const owner = await newOwner(service)
  const inner = ['https://127.0.0.1/keys', 'https://169.254.169.254/', 'https://10.0.0.1/keys']
  for (const jwksUri of [...inner, `${issuer.url}/keys`, 'https://localhost/keys', 'no url']) {
    const answer = await owner.post(RULES, ruleFor(platform, { keys: { jwksUri } }))
    assertRefused(answer, 400, 'VALIDATION_ERROR', /cannot be read/)
  }
  const discovered = await owner.post(RULES, ruleFor(platform, { keys: { discovery: true } }))
  assertRefused(discovered, 400, 'VALIDATION_ERROR', /cannot be read/)
  assert.equal(issuer.reads, 0)
})

test('discovery must name the issuer of the rule; a slash that differs is named', async (t) => {
  const service = await startTestService(t)
  const issuer = await startIssuer(t)
  const platform = newPlatform(issuer.url)
  issuer.jwks = platform.jwks
  const owner = await newOwner(service)
  const create = () => owner.post(RULES, ruleFor(platform, { keys: { discovery: true } }))
  issuer.issuer = `${issuer.url}/`
  assertRefused(await create(), 400, 'VALIDATION_ERROR', /differs by a slash/)
  issuer.issuer = 'https://other.example'
  assertRefused(await create(), 400, 'VALIDATION_ERROR', /another issuer/)
  issuer.issuer = issuer.url
  issuer.jwks = { keys: [] }
  assertRefused(await create(), 400, 'VALIDATION_ERROR', /no key/)
})
