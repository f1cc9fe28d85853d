import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountEvents, IssuedTokens } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { ON_POSTGRES } from '../../../../../test/support/postgres.ts'
import {
  claimAgent,
  claimBody,
  postJson,
  startTestService,
} from '../../../../../test/support/service.ts'
import { signIn, withCookie } from '../../../../../test/support/signed-in.ts'
import { recordAccountActivity } from '../../../src/accounts/account-activity-table.ts'
import { AGENTS } from './with-agent.ts'

const WRITES = 1000
const AT_ONCE = 16

test('a reader gets each of 1,000 events that two nodes write meanwhile exactly once, in order', async (t) => {
  const first = await startTestService(t, { BASE_URL: 'https://certificates.example' })
  const { operator } = first
  const owner = await signIn(first, await operator.addVerifiedOwner('ada'))
  const { ownerId } = owner
  // On SQLite, a process of one node: the operator's connection is the other writer.
  const second = ON_POSTGRES
    ? await startTestService(t, { ...first.env, PORT: String(await freePort()) })
    : first
  const nodes = [owner, withCookie(second, ownerId, owner.cookie)]
  const did = [await claimAgent(first, ownerId)]
  const batch = await owner.post('/api/agents/tokens', { count: WRITES / 10 })
  const { claimTokens } = jsonOf<IssuedTokens>(batch)
  const claim = async (i: number) => {
    const { url } = i % 20 === 0 ? first : second
    const answer = await postJson(`${url}/api/v1/claim`, claimBody(claimTokens.pop() as string))
    assert.equal(answer.status, 200)
    did.push(((await answer.json()) as { svcDid: string }).svcDid)
  }
  const edit = async (i: number) => {
    const agent = `${AGENTS}/${did[i % did.length]}`
    const answer = await nodes[i % 2]?.send('PATCH', agent, { description: `Number ${i}` })
    assert.equal(answer?.status, 200)
  }
  const signedIn = (at: number) =>
    operator.db.write((tx) =>
      recordAccountActivity(tx, {
        ownerId,
        type: 'owner.signed_in',
        details: { method: 'passkey' },
        at,
      }),
    )

  let writing = true
  let next = WRITES
  const write = async () => {
    for (let i = next--; i > 0; i = next--) {
      if (i % 10 === 0) await claim(i)
      else await (i % 5 === 1 ? signedIn(Date.now()) : edit(i))
    }
  }
  const read: AccountEvents['events'] = []
  let pages = 0
  const follow = async () => {
    let after: string | null = null
    for (let isLast = false; !isLast; ) {
      isLast = !writing
      for (let more = true; more; pages++) {
        const query: string = after === null ? '?limit=7' : `?limit=100&after=${after}`
        const answer = await (nodes[pages % 2] as typeof owner).get(`/api/account/events${query}`)
        assert.equal(answer.status, 200, answer.text)
        const page: AccountEvents = jsonOf<AccountEvents>(answer)
        read.push(...page.events)
        after = page.next
        more = page.more
      }
    }
  }
  const reader = follow()
  await Promise.all(Array.from({ length: AT_ONCE }, write))
  writing = false
  await reader

  const events = await operator.db.read
    .selectFrom('events')
    .select(['seq', 'type'])
    .where('owner_id', '=', ownerId)
    .execute()
  const activities = await operator.db.read
    .selectFrom('account_activity')
    .select(['after_seq as seq', 'id', 'type'])
    .where('owner_id', '=', ownerId)
    .execute()
  const stored = [...events.map((each) => ({ ...each, id: 0 })), ...activities]
    .sort((a, b) => a.seq - b.seq || a.id - b.id)
    .map(({ seq, id, type }) => `${id === 0 ? seq : `${seq}.${id}`} ${type}`)
  assert.ok(stored.length > WRITES)
  assert.ok(pages > 20, `${pages} pages were read meanwhile`)
  assert.deepEqual(
    read.map(({ id, type }) => `${id} ${type}`),
    stored,
  )
})
