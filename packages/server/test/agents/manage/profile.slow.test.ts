import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Lookup } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { claimAgent } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { AGENTS, editAgent, newOwner, showAgent, startWithAgent } from './with-agent.ts'

test('profile changes show at once wherever the agent is shown', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const profile = {
    displayName: 'Travel desk',
    username: 'travel-desk',
    description: 'Books trains.\nNever flights.',
  }

  const agent = await editAgent(owner, did, profile)

  assert.deepEqual(agent.profile, profile)
  const { baseUrl } = service.settings
  for (const path of [`/api/agents/${did}/card`, `/api/agents/${did}`]) {
    const shown = jsonOf(await ask(service, path))
    for (const [name, value] of Object.entries(profile)) assert.equal(shown[name], value)
    assert.equal(shown.certificateUrl, `${baseUrl.origin}/agent/${did}`)
  }
  const compact = jsonOf(await ask(service, `/api/v1/agent/${did}/card`))
  assert.deepEqual([compact.displayName, compact.chatHandle], ['Travel desk', '@travel-desk'])
  const lookup = jsonOf<Lookup>(await ask(service, `/api/v1/agent/${did}`))
  assert.equal(lookup.certificate.verifyUrl, `/agent/${did}`)
  assert.deepEqual(await showAgent(owner, did), agent)
})

test('null removes a value, missing members stay, and an equal value is no change', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  await editAgent(owner, did, { displayName: 'Travel desk', username: 'desk', description: 'x' })
  const without = await editAgent(owner, did, { displayName: null })
  assert.deepEqual(without.profile, { displayName: null, username: 'desk', description: 'x' })
  assert.equal(without.displayName, 'desk', 'the username stands in')
  await editAgent(owner, did, { description: '' })
  const bare = await editAgent(owner, did, { username: null })
  assert.deepEqual(bare.profile, { displayName: null, username: null, description: null })
  assert.equal(bare.displayName, `Agent ${did.slice(-24, -18)}`)
  await unchanged(service, () => editAgent(owner, did, { username: null, description: '' }))
})

test('text is stored unchanged, including markup', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const texts = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    '{{constructor.constructor("alert(1)")()}} %00',
    "'; drop table agents; --",
    '</script><svg onload=alert(1)>',
    'e\u0301 and \u00e9 are not one',
    'شركة السفر',
    '𠮷野家の旅行エージェント',
  ]
  for (const text of texts) {
    const agent = await editAgent(owner, did, { displayName: text, description: text })
    assert.deepEqual([agent.profile.displayName, agent.profile.description], [text, text])
    const card = await ask(service, `/api/agents/${did}/card`)
    const { displayName, description } = jsonOf(card)
    assert.deepEqual([displayName, description], [text, text])
    assert.match(card.headers.get('content-type') as string, /^application\/json/)
    assert.equal(card.headers.get('x-content-type-options'), 'nosniff')
  }
})

test('text with bidirectional controls, malformed text and text that is too long is rejected', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const astral = '𠮷'
  const refused: object[] = [
    { displayName: '' },
    { displayName: ' \u3000' },
    { displayName: '\u200b\u2060' },
    { displayName: 'a\nb' },
    { displayName: 'moc.lapyap\u202e' },
    { displayName: '\u2067x\u2069' },
    { displayName: astral.repeat(65) },
    { displayName: 'x\u0000' },
    { displayName: 7 },
    { description: astral.repeat(161) },
    { description: 'x'.repeat(161) },
    { description: '\u202dx' },
    { description: 'a\tb' },
    { description: 'zero\u200bwidth' },
    { displayName: 'Verified \u2713' },
    { description: '\ud800' },
    { username: '' },
    { username: 'No' },
    { agentId: 'x' },
    { status: 'active' },
    {},
  ]
  for (const patch of refused) {
    const answer = await unchanged(service, () => owner.send('PATCH', `${AGENTS}/${did}`, patch))
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
  for (const field of ['displayName', 'description']) {
    const answer = await owner.send('PATCH', `${AGENTS}/${did}`, { [field]: 'a\tb' })
    assertRefused(answer, 400, 'VALIDATION_ERROR', /without control characters/)
  }
  const agent = await editAgent(owner, did, {
    displayName: astral.repeat(64),
    description: astral.repeat(160),
  })
  assert.equal(agent.description, astral.repeat(160), '160 characters, not 160 units of UTF-16')
  assert.equal(agent.displayName, astral.repeat(64))
})

test('a taken, lookalike or reserved username is rejected with an explanation', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const other = await newOwner(service)
  const second = await claimAgent(service, other.ownerId)
  await editAgent(owner, did, { username: 'paypal-world' })
  const table: [string, RegExp][] = [
    ['paypal-world', /paypal-world is taken/],
    ['paypa1-world', /looks like one that is taken/],
    ['paypaiworld', /looks like one/],
    ['paypal-vvorld', /looks like one/],
    ['paypal-w0rld', /looks like one/],
    ['paypal-worlcl', /looks like one/],
    ['admin', /reserved/],
    ['adrnin', /reserved/],
    ['supp0rt', /reserved/],
    ['svc', /reserved/],
    ['verified', /reserved/],
    ['-desk', /hyphen/],
    ['desk-', /hyphen/],
    ['de--sk', /hyphen/],
    ['abcdefghijkmnopqrstuvwxy', /tail of a DID/],
    ['Desk', /username/],
    ['dé-sk', /username/],
    ['xn', /username/],
    ['a'.repeat(33), /username/],
  ]
  for (const [username, message] of table) {
    const answer = await unchanged(service, () =>
      other.send('PATCH', `${AGENTS}/${second}`, { username, displayName: 'Not this either' }),
    )
    assertRefused(answer, 400, 'VALIDATION_ERROR', message)
  }
  const own = await editAgent(owner, did, { username: 'paypa1-world' })
  assert.equal(own.username, 'paypa1-world', "an agent's own name is in nobody's way")
})

test('of 25 concurrent requests for a username, one succeeds', async (t) => {
  const { service, owner } = await startWithAgent(t)
  const spellings = ['road-runner', 'r0ad-runner', 'roadrunner']
  const dids: string[] = []
  for (let i = 0; i < 25; i++) {
    dids.push(await claimAgent(service, owner.ownerId, newKey(), `racer-${i}`))
  }
  const answers = await Promise.all(
    dids.map((did, i) => {
      const username = spellings[i % spellings.length]
      return owner.send('PATCH', `${AGENTS}/${did}`, { username })
    }),
  )
  const [won, ...others] = answers.filter(({ status }) => status === 200)
  assert.ok(won !== undefined && others.length === 0, `${1 + others.length} have it`)
  for (const answer of answers.filter((each) => each !== won)) {
    assertRefused(answer, 400, 'VALIDATION_ERROR', /taken/)
  }
})

test('a username is free again after its agent has changed or removed it', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const second = await claimAgent(service, owner.ownerId, newKey(), 'second')
  await editAgent(owner, did, { username: 'wanderer' })
  await editAgent(owner, did, { username: 'wayfarer' })
  await editAgent(owner, second, { username: 'wanderer' })
  await editAgent(owner, second, { username: null })
  await editAgent(owner, did, { username: 'wanderer' })
})

test('a revoked agent keeps its username: only its owner can reuse it', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  await editAgent(owner, did, { username: 'wanderer' })
  await owner.post(`${AGENTS}/${did}/revoke`)
  assert.equal((await showAgent(owner, did)).username, 'wanderer')
  const certificate = await fetch(`${service.url}/agent/wanderer`)
  assert.match(await certificate.text(), /Revoked/)

  const other = await signIn(service, await service.operator.addVerifiedOwner())
  const theirs = await claimAgent(service, other.ownerId)
  for (const username of ['wanderer', 'wander-er']) {
    const answer = await other.send('PATCH', `${AGENTS}/${theirs}`, { username })
    assertRefused(answer, 400, 'VALIDATION_ERROR', /taken/)
  }

  const next = await claimAgent(service, owner.ownerId, newKey(), 'next')
  await editAgent(owner, next, { username: 'wanderer' })
  const revoked = await showAgent(owner, did)
  assert.equal(revoked.username, null)
  assert.equal(revoked.certificateUrl, `${service.settings.baseUrl.origin}/agent/${did}`)
  const lookup = jsonOf<Lookup>(await ask(service, `/api/v1/agent/${did}`))
  assert.equal(lookup.certificate.verifyUrl, `/agent/${did}`)
  assert.equal((await showAgent(owner, next)).username, 'wanderer')
})

test('from a revoked agent text can be removed, and nothing can be added', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  await editAgent(owner, did, { displayName: 'Harmful', description: 'Text', username: 'harmful' })
  await owner.post(`${AGENTS}/${did}/revoke`)
  for (const patch of [
    { displayName: 'Other' },
    { description: 'Other' },
    { username: 'harmless' },
    { displayName: null, description: 'Other' },
  ]) {
    const answer = await unchanged(service, () => owner.send('PATCH', `${AGENTS}/${did}`, patch))
    assertRefused(answer, 400, 'VALIDATION_ERROR', /revoked/)
  }
  const agent = await editAgent(owner, did, {
    displayName: null,
    username: null,
    description: null,
  })
  assert.deepEqual(agent.profile, { displayName: null, username: null, description: null })
  const card = jsonOf(await ask(service, `/api/agents/${did}/card`))
  assert.deepEqual([card.status, card.description], ['revoked', ''])
})
