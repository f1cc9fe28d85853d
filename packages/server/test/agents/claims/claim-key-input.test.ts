import assert from 'node:assert/strict'
import { test } from 'node:test'
import { post } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { assertClaimsRefused } from '../../../../../test/support/refused-posts.ts'
import { claimBody, startTestService } from '../../../../../test/support/service.ts'
import { FORGERIES } from '../../../../../test/support/tampering.ts'
import { readCases } from '../../../../../test/support/vector-files.ts'

const MALFORMED = { status: 400, code: 'VALIDATION_ERROR' } as const
const FORGED = { status: 401, code: 'INVALID_SIGNATURE' } as const

test('a claim with a key that is not canonical, not on the curve, or of small or mixed order is rejected', async (t) => {
  const faulty = readCases<{ hex: string }>('public-keys.json', 'faulty')
  await assertClaimsRefused(
    t,
    faulty.flatMap(({ name, hex }) =>
      // The forged signature that verifies any message under a key of order 1.
      [undefined, `01${'0'.repeat(126)}`].map((signature) => ({
        name: signature === undefined ? name : `${name}, with R the identity and S = 0`,
        change: (good) => ({
          ...good,
          publicKey: Buffer.from(hex, 'hex').toString('base64'),
          ...(signature && { signature: Buffer.from(signature, 'hex').toString('base64') }),
        }),
        message: /not a valid Ed25519 key/,
        ...MALFORMED,
      })),
    ),
  )
})

test('a valid key with unusual bytes passes the key checks', async (t) => {
  const good = readCases<{ hex: string }>('public-keys.json', 'good')
  await assertClaimsRefused(
    t,
    good.map(({ name, hex }) => ({
      name,
      change: (claim) => ({ ...claim, publicKey: Buffer.from(hex, 'hex').toString('base64') }),
      ...FORGED,
    })),
  )
})

test('a claim with a signature that strict verifiers reject is rejected', async (t) => {
  await assertClaimsRefused(
    t,
    FORGERIES.map(({ name, of }) => ({
      name,
      change: (good) => ({ ...good, signature: of(good.signature) }),
      ...FORGED,
    })),
  )
})

test('a claim signs exactly the bytes claimToken|agentId with the key that it names', async (t) => {
  const other: [string, (token: string, label: string) => string][] = [
    ['the token alone', (token) => token],
    ['the label alone', (_, label) => label],
    ['the label first', (token, label) => `${label}|${token}`],
    ['a newline at the end', (token, label) => `${token}|${label}\n`],
    ['a space at the end', (token, label) => `${token}|${label} `],
    ['spaces around the pipe', (token, label) => `${token} | ${label}`],
    ['another separator', (token, label) => `${token}:${label}`],
    ['no separator', (token, label) => token + label],
    ['another label', (token) => `${token}|other`],
    ['another token', (_, label) => `svc-verify-${'0'.repeat(32)}|${label}`],
    ['the token in upper case', (token, label) => `${token.toUpperCase()}|${label}`],
    ['nothing', () => ''],
  ]
  const wrongBytes = other.map(([name, of]) => ({
    name,
    change: (
      good: { claimToken: string; agentId: string },
      key: { sign(text: string): string },
    ) => ({
      ...good,
      signature: key.sign(of(good.claimToken, good.agentId)),
    }),
    ...FORGED,
  }))
  await assertClaimsRefused(t, [
    ...wrongBytes,
    {
      name: 'the right bytes, by another key',
      change: (good) => {
        const signature = newKey().sign(`${good.claimToken}|${good.agentId}`)
        return { ...good, signature }
      },
      ...FORGED,
    },
    {
      name: 'another key of the holder, under the signature of the first',
      change: (good) => ({ ...good, publicKey: newKey().publicKey }),
      ...FORGED,
    },
  ])
})

test('the composed and the decomposed form of a label need different signatures', async (t) => {
  const [nfc, nfd] = ['\u00e9', 'e\u0301']
  await assertClaimsRefused(
    t,
    [
      [nfc, nfd],
      [nfd, nfc],
    ].map(([claimed, signed]) => ({
      name: `${visible(claimed)} signed as ${visible(signed)}`,
      change: (good, key) => ({
        ...good,
        agentId: claimed,
        signature: key.sign(`${good.claimToken}|${signed}`),
      }),
      ...FORGED,
    })),
  )
})

test('the signature of a claim is invalid for another token or another label', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const key = newKey()
  const first = claimBody(await service.operator.issueToken(owner), key)
  assert.equal((await post(service, '/api/v1/claim', first)).status, 200)
  const second = await service.operator.issueToken(owner)
  const replays = [
    { ...first, claimToken: second },
    { ...first, claimToken: second, agentId: 'other' },
  ]
  for (const replay of replays) {
    assert.equal((await post(service, '/api/v1/claim', replay)).status, 401)
  }
})

function visible(text: string | undefined): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`)
}
