import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { readCases } from '../../../../test/support/vector-files.ts'

/** Every URL with an agent reference in its path. */
const PATHS: readonly ((reference: string) => string)[] = [
  (reference) => `/api/v1/agent/${reference}`,
  (reference) => `/api/v1/agent/${reference}/card`,
  (reference) => `/api/agents/${reference}`,
  (reference) => `/api/agents/${reference}/card`,
  (reference) => `/api/agents/${reference}/avatar.svg`,
  (reference) => `/agent/${reference}`,
  (reference) => `/agent/svc/agent/${reference}/did.json`,
]

interface ReferenceCase {
  readonly text: string
  readonly shortName?: string
}

test('a malformed agent reference is rejected at every URL', async (t) => {
  const service = await startTestService(t)
  await claimAgent(service, await service.operator.addVerifiedOwner())
  const cases = readCases<ReferenceCase>('agent-reference.json', 'invalid').filter(
    ({ text, shortName = 'svc' }) => text !== '' && text.isWellFormed() && shortName === 'svc',
  )
  for (const { name, text } of cases) {
    await t.test(name, () =>
      unchanged(service, async () => {
        for (const path of PATHS) {
          const answer = await ask(service, path(encodeURIComponent(text)))
          assertRefused(answer, 400, 'VALIDATION_ERROR')
        }
      }),
    )
  }
})

test('a well-formed reference to no agent is not found at every URL', async (t) => {
  const service = await startTestService(t)
  await claimAgent(service, await service.operator.addVerifiedOwner())
  const tail = '1'.repeat(24)
  const references = {
    'a DID': `svc:agent:${tail}`,
    'a DID, percent-encoded': encodeURIComponent(`svc:agent:${tail}`),
    'a tail': tail,
    'a key': encodeURIComponent(newKey().publicKey),
    'a key of small order': encodeURIComponent(`AQ${'A'.repeat(41)}=`),
  }
  for (const [name, reference] of Object.entries(references)) {
    await t.test(name, async () => {
      for (const path of PATHS) {
        const target = path(reference)
        const answer = await ask(service, target)
        // A did:web path accepts only a tail.
        const ofTailOnly = target.endsWith('did.json') && reference !== tail
        if (ofTailOnly) assertRefused(answer, 400, 'VALIDATION_ERROR')
        else assertRefused(answer, 404, 'NOT_FOUND')
      }
    })
  }
})

test('invalid percent-encoding is rejected at every URL, known or not', async (t) => {
  const service = await startTestService(t)
  const paths = [...PATHS, (text: string) => `/${text}`, (text: string) => `/docs/${text}`]
  const bad = {
    'a byte that UTF-8 does not have': '%ff',
    'a sequence that breaks off': '%e2%82',
    'an overlong slash': '%c0%af',
    'an overlong NUL': '%c0%80',
    'a surrogate in UTF-8': '%ed%a0%80',
    'beyond U+10FFFF': '%f4%90%80%80',
    'no digits': '%',
    'one digit': '%4',
    'letters that are no digits': '%zz',
    'an escape of JavaScript': '%u0041',
    'a good escape and a bad one': '%41%ff',
  }
  for (const [name, text] of Object.entries(bad)) {
    await t.test(name, async () => {
      for (const path of paths) {
        assertRefused(await ask(service, path(text)), 400, 'VALIDATION_ERROR', /percent-encoding/)
      }
    })
  }
})

test('a reference is percent-decoded once, and a plus stays a plus', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  let key = newKey()
  while (!/\+/.test(key.publicKey) || !/\//.test(key.publicKey)) key = newKey()
  const did = await claimAgent(service, owner, key)
  const encoded = encodeURIComponent(key.publicKey)
  const good = {
    'a DID as it is': did,
    'a DID with its colons encoded': encodeURIComponent(did),
    'a DID with every character encoded': everyByte(did),
    'a tail': did.slice(-24),
    'a key with its + encoded': encoded,
    'a key with its + as it is': encoded.replaceAll('%2B', '+'),
    'a key with its = as it is': encoded.replaceAll('%3D', '='),
    'a key in lower-case escapes': encoded.replaceAll(/%../g, (hex) => hex.toLowerCase()),
    'a key with every character encoded': everyByte(key.publicKey),
    'a DID before a query': `${did}?x=%ff&y`,
  }
  for (const [name, reference] of Object.entries(good)) {
    await t.test(name, async () => {
      const answer = await ask(service, `/api/v1/agent/${reference}`)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(JSON.parse(answer.text).certificate.id, did)
    })
  }
  const bad = {
    'a key encoded twice': encodeURIComponent(encoded),
    'a key whose + came as a space': encoded.replaceAll('%2B', '%20'),
    'a DID encoded twice': encodeURIComponent(encodeURIComponent(did)),
    'a DID with a fragment in it': `${did}%23key-1`,
    'a DID with a query in it': `${did}%3Fversion=1`,
  }
  for (const [name, reference] of Object.entries(bad)) {
    await t.test(name, async () => {
      const answer = await ask(service, `/api/v1/agent/${reference}`)
      assertRefused(answer, 400, 'VALIDATION_ERROR')
    })
  }
})

test('a key with unencoded slashes is another URL, which does not exist', async (t) => {
  const service = await startTestService(t)
  for (const path of PATHS) {
    const answer = await ask(service, path(`a/${'A'.repeat(41)}=`))
    assertRefused(answer, 404, 'NOT_FOUND')
  }
})

test('a reference of the maximum URL length is rejected like any other', async (t) => {
  const service = await startTestService(t)
  for (const path of PATHS) {
    for (const text of ['a'.repeat(15_000), `svc:agent:${'a'.repeat(9000)}`, '%41'.repeat(5000)]) {
      assertRefused(await ask(service, path(text)), 400, 'VALIDATION_ERROR', /base58/)
    }
  }
})

function everyByte(text: string): string {
  return Buffer.from(text).toString('hex').replaceAll(/../g, '%$&')
}
