import { test } from 'node:test'
import { assertVerificationsRefused } from '../../../../../test/support/refused-posts.ts'
import { readCases, textOf } from '../../../../../test/support/vector-files.ts'

const MALFORMED = { status: 400, code: 'VALIDATION_ERROR' } as const

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
