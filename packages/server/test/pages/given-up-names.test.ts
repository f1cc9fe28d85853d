import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../../../../test/support/ask.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../test/support/signed-in.ts'
import { QUARANTINE_MS } from '../../src/accounts/username-quarantine.ts'
import { textOf } from './support/html.ts'

const START = Date.UTC(2031, 10, 5, 14, 20)

interface Named {
  readonly owner: SignedInOwner
  readonly did: string
}

/** An agent whose owner can name it. */
async function newAgent(service: TestService, username: string): Promise<Named> {
  const ownerId = await service.operator.addVerifiedOwner(username)
  const did = await claimAgent(service, ownerId)
  return { owner: await signIn(service, ownerId, START), did }
}

async function name({ owner, did }: Named, username: string | null): Promise<void> {
  const answer = await owner.send('PATCH', `/api/account/agents/${did}`, { username })
  assert.equal(answer.status, 200, answer.text)
}

test('a username that was given up has a page and a badge with the day, which do not say who had it', async (t) => {
  const service = await startTestService(t, {}, () => START)
  const agent = await newAgent(service, 'ada')
  await name(agent, 'paypal-desk')
  await name(agent, 'other-desk')

  const page = await ask(service, '/agent/paypal-desk')
  assert.equal(page.status, 410)
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.equal(page.headers.get('cache-control'), 'public, max-age=0, must-revalidate')
  assert.match(textOf(page.text), /This name was given up on 5 November 2031/)
  const check = textOf((await ask(service, '/check?agent=paypal-desk')).text)
  assert.match(check, /No agent has this username It was given up on 5 November 2031\./)
  const shown = [page.text, check]
  for (const style of ['flat', 'seal']) {
    const badge = await ask(service, `/agent/paypal-desk/badge.svg?style=${style}`)
    assert.equal(badge.status, 200)
    assert.equal(badge.headers.get('content-type'), 'image/svg+xml')
    assert.match(badge.text, /name given up on 5 November 2031/)
    shown.push(badge.text)
  }
  for (const each of shown) {
    assert.doesNotMatch(each, new RegExp(`${agent.did.slice(-24)}|other-desk|@ada|14:20`))
    assert.doesNotMatch(each, /not certified|\bactive\b/i)
  }
  const lookalike = await ask(service, '/agent/paypa1-desk')
  assert.equal(lookalike.status, 404, 'a name that nobody has given up')
})

test('a username that no agent has, for whatever reason, is answered alike', async (t) => {
  const clock = { now: START }
  const service = await startTestService(t, {}, () => clock.now)
  const [kept, erased] = [await newAgent(service, 'ada'), await newAgent(service, 'grace')]
  await name(kept, 'long-ago')
  await name(kept, null)
  await name(erased, 'erased-agent')
  const gone = await erased.owner.post('/api/account/deletion', { username: 'grace' })
  assert.equal(gone.status, 200, gone.text)

  const answers = async (username: string) => {
    const page = await ask(service, `/agent/${username}`, { headers: { accept: 'text/html' } })
    const badge = await ask(service, `/agent/${username}/badge.svg`)
    assert.deepEqual([page.status, badge.status], [404, 200])
    assert.match(badge.text, /no agent has this name/)
    return [page.text.replace(/req_\w+/, ''), badge.text]
  }
  const never = await answers('never-there')
  assert.doesNotMatch(never.join(), /not certified/)
  assert.deepEqual(await answers('erased-agent'), never, 'an erased account stays erased')
  assert.match((await ask(service, '/agent/long-ago')).text, /given up on/)
  clock.now += QUARANTINE_MS
  assert.deepEqual(await answers('long-ago'), never, 'anyone can take it now')
})

test('a username leads to the agent that has it now', async (t) => {
  const service = await startTestService(t, {}, () => START)
  const first = await newAgent(service, 'ada')
  await name(first, 'travel-desk')
  const to = async () => (await ask(service, '/agent/travel-desk')).headers.get('location')
  assert.equal(await to(), `/agent/${first.did}`)
  await name(first, null)
  const second = { ...first, did: await claimAgent(service, first.owner.ownerId, undefined, 'b') }
  await name(second, 'travel-desk')
  assert.equal(await to(), `/agent/${second.did}`)
})
