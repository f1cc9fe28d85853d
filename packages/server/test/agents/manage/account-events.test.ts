import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountEvents, Activity, CreatedApiKey, OcsfEvent } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { assertOcsf } from '../../../../../test/support/ocsf-schema.ts'
import { claimAgent } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { replaceEpoch } from '../../../src/agents/changes/feed-change-table.ts'
import { AGENTS, editAgent, newOwner, startWithAgent } from './with-agent.ts'

const EVENTS = '/api/account/events'

async function events(owner: Pick<SignedInOwner, 'get'>, query = ''): Promise<AccountEvents> {
  const answer = await owner.get(EVENTS + query)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<AccountEvents>(answer)
}

function ocsfLines({ text }: Answer): OcsfEvent[] {
  const lines = text.split('\n')
  assert.equal(lines.pop(), '', 'each line ends')
  return lines.map((line) => JSON.parse(line))
}

test('the events of an account for programs', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const stranger = await newOwner(service, 'grace')
  await claimAgent(service, stranger.ownerId)
  await editAgent(owner, did, { displayName: 'Front desk', description: 'Answers guests' })
  await setStatus(service, did, 'suspended', 'abuse')
  await owner.post('/api/account/sessions/end-others')
  await owner.post(`${AGENTS}/${did}/keys/compromised`, { sequence: 1 })

  await t.test('are those of the activity, oldest first, in pages without gaps', async () => {
    const all = await events(owner, '?limit=500')
    const activity = jsonOf<Activity>(await owner.get('/api/account/activity'))
    const withoutCursor = all.events.map(({ cursor: _, ...each }) => each)
    assert.deepEqual(withoutCursor, activity.events.toReversed())
    assert.ok(all.events.length >= 6)
    assert.ok(
      all.events.some(({ seq }) => seq === null),
      'activities are among them',
    )
    assert.equal(all.more, false)
    assert.equal(all.next, all.events.at(-1)?.cursor)

    for (const limit of [1, 2, 3]) {
      const read: AccountEvents['events'] = []
      let page = await events(owner, `?limit=${limit}`)
      read.push(...page.events)
      while (page.more) {
        page = await events(owner, `?limit=${limit}&after=${page.next}`)
        read.push(...page.events)
      }
      assert.deepEqual(read, all.events)
    }
    const empty = await events(owner, `?after=${all.next}`)
    assert.deepEqual(empty, { events: [], next: all.next, more: false })
    await editAgent(owner, did, { displayName: 'Desk' })
    const [newest, ...none] = (await events(owner, `?after=${all.next}`)).events
    assert.deepEqual([newest?.type, none], ['agent.updated', []])
  })

  await t.test('in OCSF have no names, and the cursors as their identifiers', async () => {
    const all = await events(owner, '?limit=500')
    const answer = await owner.get(`${EVENTS}?limit=500&format=ocsf`)
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
    assert.equal(answer.headers.get('x-more'), 'false')
    const lines = ocsfLines(answer)
    for (const line of lines) assertOcsf(line)
    assert.deepEqual(
      lines.map(({ metadata, message, time }) => [metadata.uid, message, time]),
      all.events.map(({ cursor, type, at }) => [cursor, type, Date.parse(at)]),
    )
    assert.doesNotMatch(answer.text, /[Dd]esk|guests|a test/)
    const of = (type: string) => lines.find(({ message }) => message === type)
    assert.deepEqual(of('agent.claimed')?.entity, { uid: did, type_id: 99, type: 'AI Agent' })
    assert.deepEqual(of('agent.updated')?.unmapped, { changed: ['displayName', 'description'] })
    assert.deepEqual(of('agent.suspended')?.unmapped, { status: 'suspended', reason: 'abuse' })
    const { user, auth_protocol } = of('owner.signed_in') as OcsfEvent
    const { username } = jsonOf<{ owner: { username: string } }>(
      await owner.get('/api/session'),
    ).owner
    assert.deepEqual([user, auth_protocol], [{ uid: username }, 'passkey'])
    assert.deepEqual(of('agent.key_compromised')?.resources, [{ uid: did, type: 'AI Agent' }])

    const page = await owner.get(`${EVENTS}?format=ocsf&limit=2`)
    assert.equal(page.headers.get('x-more'), 'true')
    const [, next = ''] = /^<(.*)>; rel="next"$/.exec(page.headers.get('link') ?? '') ?? []
    const { origin, pathname, search } = new URL(next)
    assert.equal(origin, service.settings.baseUrl.origin)
    const second = await owner.get(pathname + search)
    assert.deepEqual([...ocsfLines(page), ...ocsfLines(second)], lines.slice(0, 4))
  })

  await t.test(
    'are read with an API key that has the scope, and never those of others',
    async () => {
      const key = async (scopes: string[]) => {
        const made = await owner.post('/api/account/api-keys', { name: 'SIEM', scopes })
        return { authorization: `Bearer ${jsonOf<CreatedApiKey>(made).secret}` }
      }
      const headers = await key(['events:read'])
      const byKey = await ask(service, `${EVENTS}?limit=500`, { headers })
      assert.deepEqual(jsonOf(byKey), await events(owner, '?limit=500'))
      for (const path of ['/api/account/activity', AGENTS, '/api/account/webhooks'])
        assertRefused(await ask(service, path, { headers }), 403, 'FORBIDDEN')
      const others = await key(['agents:read'])
      assertRefused(await ask(service, EVENTS, { headers: others }), 403, 'FORBIDDEN')
      assertRefused(await ask(service, EVENTS), 401, 'UNAUTHENTICATED')

      const [first] = (await events(owner)).events
      const foreign = await events(stranger, `?after=${first?.cursor}`)
      assert.deepEqual(foreign.events.map(({ type }) => type).sort(), [
        'agent.claimed',
        'owner.identity_verified',
        'owner.signed_in',
      ])
    },
  )

  await t.test('refuse cursors that are malformed, ahead, or of before a restore', async () => {
    const { next } = await events(owner)
    for (const query of [
      'after=x',
      'after=',
      `after=${next}x`,
      'limit=0',
      'limit=501',
      'format=cef',
    ])
      assertRefused(await owner.get(`${EVENTS}?${query}`), 400, 'VALIDATION_ERROR')
    const epoch = next.replace(/-[^-]*$/, '')
    for (const cursor of [`${epoch}-99999`, `${epoch}-99999.1`, `other-1`, `${epoch}x-1`]) {
      for (const format of ['countersign', 'ocsf']) {
        const answer = await owner.get(`${EVENTS}?after=${cursor}&format=${format}`)
        assertRefused(answer, 410, 'CURSOR_EXPIRED')
      }
    }
    await service.operator.db.write((tx) => replaceEpoch(tx, Date.now()))
    assertRefused(await owner.get(`${EVENTS}?after=${next}`), 410, 'CURSOR_EXPIRED')
    const again = await events(owner)
    assert.equal((await events(owner, `?after=${again.next}`)).events.length, 0)
  })
})
