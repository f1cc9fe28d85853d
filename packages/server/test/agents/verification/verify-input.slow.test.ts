import { test } from 'node:test'
import {
  assertVerificationsRefused,
  type VerifyBody,
} from '../../../../../test/support/refused-posts.ts'
import { readCases, textOf } from '../../../../../test/support/vector-files.ts'

const MALFORMED = { status: 400, code: 'VALIDATION_ERROR' } as const
const FIELDS = ['publicKey', 'challenge', 'signature'] as const

test('a verification without one of its fields is rejected', async (t) => {
  await assertVerificationsRefused(
    t,
    FIELDS.map((field) => ({
      name: field,
      change: ({ [field]: _, ...rest }) => rest,
      message: new RegExp(`'${field}'`),
      ...MALFORMED,
    })),
  )
})

test('a verification whose field has another type is rejected: nothing is coerced to text', async (t) => {
  const wrong: [string, (value: string) => unknown][] = [
    ['a number', () => 123],
    ['null', () => null],
    ['true', () => true],
    ['an array of the text', (value) => [value]],
    ['an empty array', () => []],
    ['an object', () => ({})],
    ['an object around the text', (value) => ({ value })],
  ]
  await assertVerificationsRefused(
    t,
    FIELDS.flatMap((field) =>
      wrong.map(([name, of]) => ({
        name: `${field}: ${name}`,
        // Signed over the coerced value, so that only the type is wrong.
        change: (good: VerifyBody, key): unknown => {
          const value = of(good[field])
          const text = field === 'challenge' && value !== null ? String(value) : ''
          return { ...good, signature: key.sign(text || good.challenge), [field]: value }
        },
        message: new RegExp(`^body\\.${field} `),
        ...MALFORMED,
      })),
    ),
  )
})

test('a verification with an unknown field is rejected', async (t) => {
  const unknown = [
    ['note', 'x'],
    ['agentId', 'main'],
    ['acmeDid', 'acme:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'],
    ['svcdid', 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'],
    ['did', 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'],
    ['constructor', 'x'],
    ['hasOwnProperty', 'x'],
  ] as const
  await assertVerificationsRefused(
    t,
    unknown.map(([field, value]) => ({
      name: field,
      change: (good) => ({ ...good, [field]: value }),
      message: /an unknown field/,
      ...MALFORMED,
    })),
  )
})

test('a verification whose DID is malformed is rejected', async (t) => {
  const dids: [string, unknown][] = [
    ['a bare tail', '7Xk2mPqR9sTvWyZaBcDeFgHj'],
    ['a DID of another deployment', 'acme:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'],
    ['a letter that base58 does not have', 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgH0'],
    ['a tail of 23 letters', 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgH'],
    ['a tail of 25 letters', 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHjk'],
    ['a newline at the end', 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj\n'],
    ['did:web', 'did:web:localhost:agent:svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'],
    ['the empty text', ''],
    ['null', null],
    ['an array', ['svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj']],
    ['a number', 7],
  ]
  await assertVerificationsRefused(
    t,
    dids.map(([name, svcDid]) => ({
      name,
      change: (good) => ({ ...good, svcDid }),
      message: /^body\.svcDid must be/,
      ...MALFORMED,
    })),
  )
})

test('a verification whose body is not an object is rejected', async (t) => {
  const bodies: [string, (good: VerifyBody) => unknown][] = [
    ['null', () => 'null'],
    ['true', () => 'true'],
    ['a text', () => '"challenge"'],
    ['an array of a good one', (good) => [good]],
    ['a good one as text', (good) => JSON.stringify(JSON.stringify(good))],
  ]
  await assertVerificationsRefused(
    t,
    bodies.map(([name, change]) => ({ name, change, ...MALFORMED })),
  )
})

test('the invalid verifications of the vectors are rejected', async (t) => {
  const cases = readCases<{ set?: object; remove?: string[] }>('requests.json', 'verify', 'invalid')
  await assertVerificationsRefused(
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

test('a challenge that is empty, too long, ill-formed or looks like a claim is rejected, though its signature is valid', async (t) => {
  const cases = readCases<{ text: string; times?: number; shortName?: string }>(
    'challenge.json',
    'invalid',
  )
  const ours = cases.filter(({ shortName = 'svc' }) => shortName === 'svc')
  await assertVerificationsRefused(
    t,
    ours.map((each) => ({
      name: each.name,
      change: (good, key) => {
        const challenge = textOf(each)
        return { ...good, challenge, signature: key.sign(challenge) }
      },
      message: /challenge/,
      ...MALFORMED,
    })),
  )
})

test('a signature on the bytes of U+FFFD answers no challenge with a lone surrogate', async (t) => {
  await assertVerificationsRefused(
    t,
    ['\ud800', 'a\ud800', '\udfffb', '\udc00\ud800'].map((challenge) => ({
      name: JSON.stringify(challenge),
      change: (good, key) => {
        const signature = key.sign(challenge.replace(/[\ud800-\udfff]/g, '\ufffd'))
        return { ...good, challenge, signature }
      },
      ...MALFORMED,
    })),
  )
})
