import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import { claimAgent, claimBody, startTestService } from '../../../../test/support/service.ts'
import { readCases, textOf } from '../../../../test/support/vector-files.ts'

test('every valid label of the vectors can be claimed, including 128 code points of four bytes', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  for (const each of readCases<{ text: string; times?: number }>('text.json', 'agentId', 'valid')) {
    await t.test(each.name, async () => {
      const claim = claimBody(await service.operator.issueToken(owner), newKey(), textOf(each))
      const answer = await post(service, '/api/v1/claim', claim)
      assert.equal(answer.status, 200, answer.text)
      assert.match(jsonOf(answer).svcDid as string, /^svc:agent:[1-9A-HJ-NP-Za-km-z]{24}$/)
    })
  }
})

test('one key can claim similar labels as separate agents: labels are not normalized or trimmed', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const key = newKey()
  const alike = [
    '\u00e9',
    'e\u0301',
    'E\u0301',
    'a',
    'A',
    ' a',
    'a ',
    '\u0430',
    '\uff41',
    'a\u200b',
  ]
  const dids = new Set<string>()
  for (const agentId of alike) dids.add(await claimAgent(service, owner, key, agentId))
  assert.equal(dids.size, alike.length)
})

test('a label with a pipe is signed as it is, and cannot be read as another token and label', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const key = newKey()
  const labels = ['|', 'a|b', 'a|', `svc-verify-${'0'.repeat(32)}|a`]
  for (const label of labels) await claimAgent(service, owner, key, label)
  const claim = claimBody(await service.operator.issueToken(owner), key, 'c|d')
  const token = `${claim.claimToken}|c`
  const shifted = await post(service, '/api/v1/claim', {
    ...claim,
    claimToken: token,
    agentId: 'd',
  })
  assertRefused(shifted, 400, 'VALIDATION_ERROR')
  assert.equal((await post(service, '/api/v1/claim', claim)).status, 200)
})

test('equivalent JSON spellings of a body are accepted: escapes, UTF-8, key order, white space', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const rewrites: Record<string, (json: string, body: object) => string> = {
    'UTF-8 as it is': (json) => json,
    'escapes for what is not ASCII': (json) => json.replaceAll(/[^ -~]/g, escaped),
    'escapes for every letter': (json) => json.replaceAll(/[a-z](?=[^"]*"[,}])/g, escaped),
    'slashes with backslashes': (json) => json.replaceAll('/', '\\/'),
    'another order': (_, body) =>
      JSON.stringify(Object.fromEntries(Object.entries(body).reverse())),
    'white space': (_, body) => `\r\n\t ${JSON.stringify(body, null, '\t')}\n`,
  }
  for (const [name, rewrite] of Object.entries(rewrites)) {
    await t.test(name, async () => {
      const claim = claimBody(await service.operator.issueToken(owner), newKey(), 'é/😀')
      const json = rewrite(JSON.stringify(claim), claim)
      assert.deepEqual(JSON.parse(json), claim)
      const answer = await post(service, '/api/v1/claim', json)
      assert.equal(answer.status, 200, answer.text)
    })
  }
})

test('every valid challenge of the vectors is verified, including 8,192 bytes', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const svcDid = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  for (const each of readCases<{ text: string; times?: number }>('challenge.json', 'valid')) {
    await t.test(each.name, async () => {
      const answer = await post(service, '/api/v1/agent/verify', verifyBody(key, textOf(each)))
      assert.deepEqual(jsonOf(answer), {
        verified: true,
        signatureValid: true,
        certified: true,
        identityLevel: 'in-person',
        agent: { svcDid, displayName: `Agent ${svcDid.slice(10, 16)}`, status: 'active' },
      })
    })
  }
})

test('the certificate page is found by every reference to the agent', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  for (const reference of [did, did.slice(-24), encodeURIComponent(key.publicKey)]) {
    const answer = await ask(service, `/agent/${reference}`)
    assert.equal(answer.status, 200)
    assert.ok(answer.text.includes(did))
  }
})

function escaped(character: string): string {
  return [...character]
    .flatMap((each) => each.split(''))
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
