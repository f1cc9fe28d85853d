import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { firstMismatch, type Match, matchProblem, valueAt } from '../../src/enrolment/match.ts'
import {
  enrolmentEndMessage,
  enrolmentMessage,
  platformTokenHash,
} from '../../src/enrolment/messages.ts'
import { missingPin, unpinnedClaim } from '../../src/enrolment/pins.ts'
import {
  checkTokenBinding,
  isPlatformToken,
  PlatformTokenError,
  readPlatformToken,
} from '../../src/enrolment/platform-token.ts'
import { AGENT_ID_PATTERN } from '../../src/text.ts'
import { type Case, forEachCase, hexOf, namingOf, readVectors } from '../support/vectors.ts'

interface Rule {
  readonly id: string
  readonly issuer: string | null
  readonly trustDomain: string | null
  readonly match: Match
  readonly binding: 'key' | 'token'
  readonly agentId: string | null
  readonly agentIdClaim: string | null
  readonly maxTokenSeconds: number
}

interface TokenCase extends Case {
  readonly rule: string
  readonly now?: number
  readonly token: string
}

interface ValidToken extends TokenCase {
  readonly agentId: string
  readonly isBound: boolean
  readonly expiresAt: number
  readonly tokenHash: string
}

interface PinCase extends Case, Pick<Rule, 'issuer' | 'trustDomain' | 'match'> {}

interface Message {
  readonly subject: readonly [string, ...string[]]
  readonly issuedAt: number
  readonly messageHex: string
}

interface Vectors {
  readonly shortName: string
  readonly service: string
  readonly now: number
  readonly publicKey: string
  readonly rules: Readonly<Record<string, Rule>>
  readonly tokens: { readonly valid: readonly ValidToken[]; readonly invalid: readonly TokenCase[] }
  readonly pins: { readonly valid: readonly PinCase[]; readonly invalid: readonly PinCase[] }
  readonly messages: { readonly enrol: Message; readonly end: Message }
}

const vectors = readVectors<Vectors>('enrolment.json')
const publicKey = Buffer.from(vectors.publicKey, 'base64')
const THUMBPRINT = createHash('sha256')
  .update(`{"crv":"Ed25519","kty":"OKP","x":"${publicKey.toString('base64url')}"}`)
  .digest('base64url')

/** All checks but those that need the keys of the issuer. @returns what the token gives, or the check that refuses it */
function check({ rule: name, now = vectors.now, token }: TokenCase) {
  const rule = vectors.rules[name] as Rule
  const { issuer, trustDomain, binding, maxTokenSeconds, match } = rule
  if (!isPlatformToken(token)) return { why: 'form' }
  const expected = { issuer, binding, maxTokenSeconds, isSpiffe: trustDomain !== null }
  const audience = `${vectors.service}/enrol/${rule.id}`
  try {
    const read = readPlatformToken(token)
    const bound = checkTokenBinding(read, { ...expected, audience }, THUMBPRINT, now / 1000)
    const accepted = { issuer, trustDomain, match }
    const mismatch = unpinnedClaim(accepted, read.claims) ?? firstMismatch(match, read.claims)
    const agentId = rule.agentId ?? valueAt(read.claims, rule.agentIdClaim as string)
    const isLabel = typeof agentId === 'string' && AGENT_ID_PATTERN.test(agentId)
    return mismatch !== null || !isLabel ? { why: 'claim' } : { ...bound, agentId }
  } catch (error) {
    assert.ok(error instanceof PlatformTokenError)
    return { why: error.check }
  }
}

test('tokens of the vectors: accepted, or refused by the named check', () => {
  forEachCase(vectors.tokens.valid, (each) => {
    const { agentId, isBound, expiresAt, token } = each
    assert.deepEqual(check(each), { agentId, isBoundToKey: isBound, expiresAt: expiresAt / 1000 })
    assert.equal(platformTokenHash(token), each.tokenHash)
  })
  const byKeys = ['unknown-key', 'signature']
  forEachCase(vectors.tokens.invalid, (each) => {
    const { why } = each
    assert.equal(check(each).why, byKeys.includes(why as string) ? undefined : why)
  })
  const checks = new Set(vectors.tokens.invalid.map(({ why }) => why))
  assert.equal(checks.size, 10, `${[...checks]}`)
})

test('rules of the vectors: sound, or refused', () => {
  const problem = (rule: PinCase) => matchProblem(rule.match) ?? missingPin(rule)
  forEachCase(vectors.pins.valid, (each) => assert.equal(problem(each), null))
  // A number is refused by the schema of requests.
  const ofTypes = vectors.pins.invalid.filter(({ match }) =>
    Object.values(match).every((value) => typeof value !== 'number'),
  )
  forEachCase(ofTypes, (each) => assert.notEqual(problem(each), null))
})

test('the bytes that workloads sign', () => {
  const { service, shortName, tokens, messages } = vectors
  const naming = namingOf({ shortName })
  const [{ token }] = tokens.valid as [ValidToken]
  const { enrol, end } = messages
  const [rule, tokenHash] = enrol.subject
  assert.equal(tokenHash, platformTokenHash(token))
  const { issuedAt } = enrol
  const signed = { service, rule, token, publicKey, issuedAt }
  assert.equal(hexOf(enrolmentMessage(naming, signed)), enrol.messageHex)
  const [did] = end.subject
  const ended = { service, did, publicKey, issuedAt: end.issuedAt }
  assert.equal(hexOf(enrolmentEndMessage(naming, ended)), end.messageHex)
})
