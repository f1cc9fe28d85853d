import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonOf } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { forbiddenWords } from '../../../../test/support/forbidden-words.ts'
import { newKey } from '../../../../test/support/key.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { textOf } from './support/html.ts'

/** Without the texts of docs/ (test/docs-words.test.ts reads them) and the reference of each operation, which shows /openapi.json. */
const PATHS = [
  '/',
  '/docs',
  '/check',
  '/check/request',
  '/console',
  '/sample',
  '/docs/api',
  '/docs/search?q=zzzz',
  '/nowhere',
]

/** The texts of an OpenAPI document. */
function textsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) =>
    typeof each === 'string'
      ? ['summary', 'description'].includes(key)
        ? [each]
        : []
      : textsOf(each),
  )
}

const FORM = 'application/x-www-form-urlencoded'

test('the public pages have no forbidden words', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada', 'high')
  const key = newKey()
  const dids = {
    active: await claimAgent(service, owner, key),
    suspended: await claimAgent(service, owner, undefined, 'b'),
    revoked: await claimAgent(service, owner, undefined, 'c'),
  }
  const channels = ['domain', 'a2a', 'runtime', 'github'].map((kind) => ({
    kind,
    handleOrDomain: kind === 'domain' || kind === 'a2a' ? 'shop.example' : 'shopper',
    tier: kind === 'domain' || kind === 'a2a' ? (2 as const) : (1 as const),
  }))
  await giveProfile(service, dids.active, { description: 'Buys things.', channels })
  await setStatus(service, dids.suspended, 'suspended', 'under_review')
  await setStatus(service, dids.revoked, 'revoked', 'key_compromised')
  const agents = Object.values(dids).flatMap((did) => [`/agent/${did}`, `/check?agent=${did}`])
  const inputs = ['nobody', 'not a name!', 'https://elsewhere.example/x', 'svc-verify-x']
  const lookups = inputs.map((agent) => `/check?${new URLSearchParams({ agent })}`)

  for (const path of [...PATHS, ...agents, ...lookups, '/agent/nobody', '/agent/a!']) {
    const { text } = await ask(service, path, { headers: { accept: 'text/html' } })
    assert.match(text, /^<!doctype html>/, path)
    assert.deepEqual(forbiddenWords(textOf(text)), [], path)
  }
  const texts = textsOf(jsonOf(await ask(service, '/openapi.json')))
  assert.ok(texts.length > 500, `${texts.length} texts`)
  assert.deepEqual(forbiddenWords(texts.join('\n')), [], 'openapi.json')
  const proof = (challenge: string, signature: string) =>
    new URLSearchParams({ agent: dids.active, challenge, signature }).toString()
  for (const body of [
    proof('x', key.sign('x')),
    proof('x', key.sign('y')),
    proof(`svc-challenge-v1:${service.url}:${'n'.repeat(72)}`, key.sign('y')),
  ]) {
    const { text } = await post(service, '/check', body, FORM)
    assert.deepEqual(forbiddenWords(textOf(text)), [])
  }
  for (const fields of [
    { caller: 'header', agent: dids.active, requireProof: 'true', origin: 'https://a.example' },
    { caller: 'signature', agent: dids.active, origin: 'https://a.example' },
    { requireProof: 'true' },
  ]) {
    const { text } = await post(service, '/console', new URLSearchParams(fields).toString(), FORM)
    assert.deepEqual(forbiddenWords(textOf(text)), [])
  }
  const request = new URLSearchParams({ method: 'GET', url: 'https://a.example/', headers: '' })
  const { text } = await post(service, '/check/request', request.toString(), FORM)
  assert.deepEqual(forbiddenWords(textOf(text)), [])
})
