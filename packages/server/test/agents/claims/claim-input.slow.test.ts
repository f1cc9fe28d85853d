import { test } from 'node:test'
import { assertClaimsRefused, type BadPost } from '../../../../../test/support/refused-posts.ts'
import type { ClaimBody } from '../../../../../test/support/service.ts'
import { readCases, textOf } from '../../../../../test/support/vector-files.ts'

const MALFORMED = { status: 400, code: 'VALIDATION_ERROR' } as const

test('a claim whose body is not an object is rejected', async (t) => {
  const bodies: [string, (good: ClaimBody) => unknown][] = [
    ['null', () => 'null'],
    ['true', () => 'true'],
    ['a number', () => '1'],
    ['a text', () => '"claim"'],
    ['an array of a good claim', (good) => [good]],
    ['a good claim as text', (good) => JSON.stringify(JSON.stringify(good))],
    ['a good claim within another object', (good) => ({ claim: good })],
  ]
  await assertClaimsRefused(
    t,
    bodies.map(([name, change]) => ({ name, change, ...MALFORMED })),
  )
})

test('the invalid claims of the vectors are rejected', async (t) => {
  const cases = readCases<{ set?: object; remove?: string[] }>('requests.json', 'claim', 'invalid')
  await assertClaimsRefused(
    t,
    cases.map(({ name, set, remove = [] }) => ({
      name,
      change: (good) => {
        const entries = Object.entries({ ...good, ...set })
        return Object.fromEntries(entries.filter(([field]) => !remove.includes(field)))
      },
      ...MALFORMED,
    })),
  )
})

test('a malformed claim token is rejected, not looked up', async (t) => {
  const vectors = readCases<{ token: string }>('claim-token.json', 'invalid')
  const respelled: [string, (token: string) => string][] = [
    ['the live token in upper-case digits', (token) => token.replace(/[a-f]/g, upper)],
    ['the live token with a newline', (token) => `${token}\n`],
    ['the live token after a space', (token) => ` ${token}`],
    ['the live token with its label', (token) => `${token}|main`],
    ['the live token with a NUL', (token) => `${token}\0`],
    ['the live token without its prefix', (token) => token.slice('svc-verify-'.length)],
  ]
  const cases = [
    ...vectors.map(({ name, token }) => [name, () => token] as const),
    ...respelled,
  ].map(
    ([name, of]): BadPost<ClaimBody> => ({
      name,
      change: (good, key) => {
        const claimToken = of(good.claimToken)
        return { ...good, claimToken, signature: key.sign(`${claimToken}|main`) }
      },
      message: /claimToken must be/,
      ...MALFORMED,
    }),
  )
  await assertClaimsRefused(t, cases)
})

test('a label that is empty, too long, ill-formed or has control characters is rejected', async (t) => {
  const cases = readCases<{ text: string; times?: number }>('text.json', 'agentId', 'invalid')
  await assertClaimsRefused(
    t,
    cases.map((each) => ({
      name: each.name,
      change: (good, key) => {
        const agentId = textOf(each)
        return { ...good, agentId, signature: key.sign(`${good.claimToken}|${agentId}`) }
      },
      message: /agentId must be/,
      ...MALFORMED,
    })),
  )
})

function upper(letter: string): string {
  return letter.toUpperCase()
}
