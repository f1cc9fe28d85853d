import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { textOf, unescaped } from './support/html.ts'

const FORM = 'application/x-www-form-urlencoded'

async function check(service: TestService, agent: string): Promise<string> {
  const answer = await ask(service, `/check?${new URLSearchParams({ agent })}`)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  return textOf(answer.text)
}

async function prove(service: TestService, fields: Record<string, string>): Promise<string> {
  const body = new URLSearchParams(fields).toString()
  const answer = await unchanged(service, () => post(service, '/check', body, FORM))
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  return textOf(answer.text)
}

test('the check page finds an agent by username, DID, tail, did:web, key and page URL', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  await giveProfile(service, did, { username: 'shopper', displayName: 'Shopper Nine' })
  const { host } = new URL(service.url)
  const names = [
    'shopper',
    '@shopper',
    '  shopper\n',
    did,
    did.slice(-24),
    key.publicKey,
    `${service.url}/agent/shopper`,
    `${service.url}/agent/${did}?x=1#y`,
    `${service.url}/agent/${encodeURIComponent(key.publicKey)}`,
    `${service.url}/agent/shopper/badge.svg`,
    `${service.url}/agent/svc/agent/${did.slice(-24)}/did.json`,
    `${service.url}/api/v1/agent/${did}`,
    `${host}/agent/shopper`,
    `did:web:${host.replace(':', '%3A')}:agent:${did}`,
  ]
  for (const name of names) {
    await t.test(name, async () => {
      const text = await check(service, name)
      assert.match(text, /Active This certificate is valid\./)
      assert.match(text, /Shopper Nine/)
    })
  }
})

test('the check page distinguishes unknown agents, other deployments and unreadable input', async (t) => {
  const service = await startTestService(t)
  const cases: [string, RegExp][] = [
    ['nobody', /No agent has this username.*proves nothing/],
    ['1'.repeat(24), /Unknown agent/],
    [newKey().publicKey, /Unknown agent/],
    ['not a name!', /Not an agent/],
    ['x'.repeat(5000), /Not an agent/],
    [`${service.url}/docs`, /Not an agent/],
    [`${service.url}/agent/%ff`, /Not an agent/],
    [
      'https://elsewhere.example/agent/shopper',
      /Certificate of another service.*elsewhere\.example/,
    ],
    [
      'did:web:elsewhere.example%3A8080:agent:x',
      /Certificate of another service.*elsewhere\.example:8080/,
    ],
    ['did:web:', /another service|Not an agent/],
  ]
  for (const [name, words] of cases) {
    await t.test(name.slice(0, 40), async () => {
      const text = await check(service, name)
      assert.match(text, words)
      assert.doesNotMatch(text, /certificate is valid/)
    })
  }
  assert.doesNotMatch(await check(service, ' '), /Not an agent/, 'nothing was asked')
  const twice = await ask(service, '/check?agent=a&agent=b')
  assert.equal(twice.status, 200)
})

test('the check page does not echo a pasted claim token', async (t) => {
  const service = await startTestService(t)
  const token = await service.operator.issueToken(await service.operator.addVerifiedOwner())
  const { text: html } = await ask(service, `/check?agent=${token}`)
  assert.match(textOf(html), /That is a claim token/)
  assert.ok(!html.includes(token))
})

for (const status of ['suspended', 'revoked'] as const) {
  test(`the check of an agent that is ${status} shows the status first`, async (t) => {
    const service = await startTestService(t)
    const key = newKey()
    const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
    await setStatus(service, did, status, 'no_longer_used')
    const word = status === 'revoked' ? 'Revoked' : 'Suspended'
    const text = await check(service, did)
    const day = '\\d+ [A-Z][a-z]+ \\d{4}'
    assert.match(
      text,
      new RegExp(
        `${word} This certificate (is permanently revoked|is suspended).*${word} on ${day} by its owner\\. Reason: no longer used\\.`,
      ),
    )
    assert.equal(/Send it a challenge/.test(text), status === 'suspended', 'no further step')
    const fields = { agent: did, challenge: 'x', signature: key.sign('x') }
    assert.match(
      await prove(service, fields),
      new RegExp(`Valid signature, but ${status}.*Do not rely on it`),
    )
  })
}

test('the check page verifies a signature by key, DID or username', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  await giveProfile(service, did, { username: 'shopper', displayName: 'Shopper' })
  const challenge = ' a challenge é+%26&=  '
  const signature = key.sign(challenge)
  for (const agent of [
    key.publicKey,
    did,
    did.slice(-24),
    'shopper',
    `${service.url}/agent/shopper`,
  ]) {
    const text = await prove(service, { agent, challenge, signature })
    assert.match(
      text,
      /Valid signature The signer holds the key of Shopper.*cannot tell whether the answer is new/,
      agent,
    )
  }
  const lines = 'one\ntwo\n'
  const asAFormSendsIt = { agent: did, challenge: 'one\r\ntwo\r\n' }
  assert.match(
    await prove(service, { ...asAFormSendsIt, signature: key.sign(lines) }),
    /Valid signature The signer/,
  )
  const crlf = key.sign('one\r\ntwo\r\n')
  assert.match(
    await prove(service, { ...asAFormSendsIt, signature: crlf }),
    /Valid signature The signer/,
  )
})

const PASTE = /Not a signature Paste what the command of step 2 prints: 88 characters of base64/

test('the check page says why a signature proves nothing', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const stranger = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const good = { agent: did, challenge: 'x', signature: key.sign('x') }
  const claim = `svc-verify-${'0'.repeat(32)}|main`
  const cases: [string, Record<string, string>, RegExp][] = [
    ['another text', { ...good, challenge: 'x ' }, /Invalid signature.*paste the 88 characters/],
    ['another key', { ...good, signature: stranger.sign('x') }, /Invalid signature/],
    [
      'a key that nobody certified',
      { agent: stranger.publicKey, challenge: 'x', signature: stranger.sign('x') },
      /Valid signature of an unknown key/,
    ],
    [
      'a claim',
      { ...good, challenge: claim, signature: key.sign(claim) },
      /not a challenge but a claim/,
    ],
    ['bad base64', { ...good, signature: 'not base64' }, PASTE],
    ['no signature', { ...good, signature: '' }, PASTE],
    ['no challenge', { ...good, challenge: '' }, /A challenge is not empty/],
    ['a NUL', { ...good, challenge: 'a\0b' }, /without U\+0000/],
    ['a small-order key', { ...good, agent: `AQ${'A'.repeat(41)}=` }, /not a valid Ed25519 key/],
    ['an unknown agent', { ...good, agent: 'nobody' }, /No agent has this username/],
    ['no agent', { ...good, agent: '' }, /Not an agent/],
    ['nothing', {}, /Not an agent/],
    ['a token for an agent', { ...good, agent: claim.slice(0, 43) }, /That is a claim token/],
  ]
  for (const [name, fields, words] of cases) {
    await t.test(name, async () => {
      const text = await prove(service, fields)
      assert.match(text, words)
      assert.doesNotMatch(text, /Valid signature The signer/)
    })
  }
})

test('the check page accepts only small, well-formed form bodies, and no other route accepts forms', async (t) => {
  const service = await startTestService(t)
  const refused: [string, string, number, RegExp][] = [
    ['{}', 'application/json', 415, /must be a form/],
    ['agent=x', 'text/plain', 415, /must be a form/],
    ['agent=x', 'multipart/form-data; boundary=x', 415, /must be a form/],
    ['agent=%ff', FORM, 400, /percent-encoded UTF-8/],
    ['agent=%', FORM, 400, /percent-encoded UTF-8/],
    ['agent=é', FORM, 400, /percent-encoded UTF-8/],
    ['agent=a&agent=b', FORM, 400, /duplicate field/],
    [`agent=${'x'.repeat(20_000)}`, FORM, 413, /16 KiB/],
  ]
  for (const [body, type, status, words] of refused) {
    const code =
      status === 415
        ? 'UNSUPPORTED_MEDIA_TYPE'
        : status === 413
          ? 'PAYLOAD_TOO_LARGE'
          : 'VALIDATION_ERROR'
    assertRefused(await post(service, '/check', body, type), status, code, words)
  }
  const elsewhere = await post(service, '/api/v1/agent/verify', 'agent=x', FORM)
  assertRefused(elsewhere, 415, 'UNSUPPORTED_MEDIA_TYPE')
})

/** The challenge that the check page shows, and its HTML. */
async function challengeOf(service: TestService, query: string) {
  const { text: html } = await ask(service, `/check?${query}`)
  const [, shown] = /data-copy="(svc-challenge-v1:[^"]*)"/.exec(html) ?? []
  assert.ok(shown !== undefined, textOf(html))
  return { challenge: unescaped(shown), html }
}

/** Posts the form, as a browser with a cookie. */
async function answer(service: TestService, fields: Record<string, string>, cookie = '') {
  const response = await fetch(`${service.url}/check`, {
    method: 'POST',
    headers: { 'content-type': FORM, cookie },
    body: new URLSearchParams(fields),
  })
  const html = await response.text()
  return { html, text: textOf(html), cookie: response.headers.get('set-cookie') }
}

test('the check page creates a challenge for an agent, and accepts its signature once in a browser', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const { challenge, html } = await challengeOf(service, `agent=${did}`)
  assert.ok(challenge.startsWith(`svc-challenge-v1:${service.url}:`))
  assert.ok(textOf(html).includes(`sign --audience ${service.url} '${challenge}'`))
  assert.notEqual((await challengeOf(service, `agent=${did}`)).challenge, challenge)

  const fields = { agent: did, challenge, signature: key.sign(challenge) }
  const first = await unchanged(service, () => answer(service, fields))
  assert.match(first.text, /Active This certificate is valid\..*Valid signature The signer holds/)
  assert.doesNotMatch(first.text, /cannot tell whether/)
  assert.ok(first.text.includes(challenge), 'the result has the challenge')
  const link = /action="([^"]*)"/.exec(first.html.slice(first.html.indexOf('id="signature"')))?.[1]
  assert.equal(
    new URL(unescaped(link ?? ''), service.url).search,
    `?${new URLSearchParams({ agent: did, challenge })}`,
    'the address of the result has no signature',
  )

  const cookie = first.cookie?.split(';')[0] ?? ''
  assert.match(first.cookie ?? '', /HttpOnly.*SameSite=Lax/)
  const again = await answer(service, fields, cookie)
  assert.match(again.text, /Challenge already used/)
  assert.doesNotMatch(again.text, /Valid signature/)
  assert.match((await answer(service, fields)).text, /Valid signature/, 'another browser')
  const wrong = { ...fields, signature: newKey().sign(challenge) }
  const refused = await answer(service, wrong)
  assert.match(refused.text, /Invalid signature/)
  assert.equal(refused.cookie, null, 'a wrong answer does not use up the challenge')
})

test('the check page keeps the challenge of a link, and replaces one that cannot count', async (t) => {
  const clock = { ms: Date.now() }
  const service = await startTestService(t, {}, () => clock.ms)
  const [key, other] = [newKey(), newKey()]
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner, key)
  const another = await claimAgent(service, owner, other, 'other')
  const { challenge } = await challengeOf(service, `agent=${did}`)
  const linked = (agent: string, text: string) =>
    challengeOf(service, new URLSearchParams({ agent, challenge: text }).toString())

  assert.equal((await linked(did, challenge)).challenge, challenge)
  const forged = `${challenge.slice(0, -1)}${challenge.endsWith('A') ? 'B' : 'A'}`
  for (const text of [
    forged,
    'pay 100 euros',
    `svc-challenge-v1:https://evil.example:${'n'.repeat(22)}`,
  ]) {
    const { challenge: shown, html } = await linked(did, text)
    assert.notEqual(shown, text)
    assert.match(textOf(html), /did not create the challenge in this link/)
    assert.ok(!html.includes(text), text)
  }
  assert.match(textOf((await linked(another, challenge)).html), /did not create the challenge/)
  for (const [agent, text, signer] of [
    [another, challenge, other],
    [did, forged, key],
  ] as const) {
    const { text: told } = await answer(service, {
      agent,
      challenge: text,
      signature: signer.sign(text),
    })
    assert.match(told, /Not a challenge for this agent/)
  }

  clock.ms += 10 * 60_000 + 1
  assert.match(textOf((await linked(did, challenge)).html), /challenge in this link has expired/)
  const late = await answer(service, { agent: did, challenge, signature: key.sign(challenge) })
  assert.match(late.text, /Expired challenge/)
  assert.doesNotMatch(late.text, /Valid signature/)
})
