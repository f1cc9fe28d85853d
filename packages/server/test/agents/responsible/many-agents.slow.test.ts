import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { randomTail } from '@countersign/protocol'
import { insertAgent } from '../../../../../test/support/insert-agent.ts'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { openOperator, testEnv } from '../../../../../test/support/service.ts'
import { endMembership } from '../../../src/accounts/organisations/end-membership.ts'
import { insertMembership } from '../../../src/accounts/organisations/membership-table.ts'
import { insertOwner } from '../../../src/accounts/owner-table.ts'
import { readSettings } from '../../../src/base/config.ts'
import type { Database } from '../../../src/database/database.ts'
import { appendAgentEvent } from '../../../src/database/event-table.ts'
import { beforeStatements } from '../keys/killable-operations.ts'

const MANY = 100_000
const FEW = 10
const BATCH = 10_000

/** Adds a member to an organisation. @returns the id of the membership */
async function addMember(db: Database, org_id: number, name: string): Promise<string> {
  const [id, at] = [`mb_${name}`, Date.now()]
  await db.write(async (tx) => {
    const person = { username: name, display_name: name, username_skeleton: name }
    const { id: person_id } = await insertOwner(tx, { ...person, created_at: at })
    const [role, source] = ['manager', 'manual'] as const
    const membership = { id, org_id, person_id, role, role_since: at, source, created_at: at }
    await insertMembership(tx, { ...membership, ended_at: null, end_reason: null })
  })
  return id
}

async function addAgents(
  db: Database,
  owner_id: number,
  responsible: string,
  count: number,
): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    await db.write(async (tx) => {
      const last = Math.min(from + BATCH, count) - 1
      for (let i = from; i <= last; i++) {
        const [seq, tail, public_key] = [tx.nextSeq(), randomTail(randomBytes), randomBytes(32)]
        const claimed = { claimed_at: Date.now(), grade: 'C', agent_id: 'main' } as const
        await insertAgent(tx, { ...claimed, seq, tail, public_key, owner_id, responsible })
        if (i < last) continue
        const event = { seq, at: Date.now(), tail, ownerId: owner_id, payload: {} }
        await appendAgentEvent(tx, { ...event, type: 'agent.updated' })
      }
    })
  }
}

/**
 * Ends a membership, and counts its statements only: services of other test files write at the same time in this process.
 * @returns how many agents the member was responsible for, and the number of statements
 */
async function countedEnd(db: Database, membership: string) {
  const isOurs = new AsyncLocalStorage<true>()
  let statements = 0
  const stopCounting = beforeStatements(() => {
    if (isOurs.getStore()) statements += 1
  })
  const ended = await db.write((tx) =>
    isOurs.run(true, () => endMembership(tx, membership, 'removed', Date.now())),
  )
  stopCounting()
  return { responsibleFor: ended?.responsibleFor, statements }
}

/** What any change of an agent would change. */
function writtenColumns(db: Database) {
  return db.read
    .selectFrom('agents')
    .select((eb) => [eb.fn.max('version').as('version'), eb.fn.max('updated_at').as('updated')])
    .select((eb) => eb.fn.max('status_changed_at').as('statuses'))
    .select((eb) => eb.fn.count('responsible').as('responsible'))
    .executeTakeFirstOrThrow()
}

test(
  'the end of a membership takes as many statements with 100,000 agents as with 10, and writes none of them',
  SQLITE_ONLY,
  async (t) => {
    const operator = await openOperator(readSettings(await testEnv(t)))
    t.after(() => operator.close())
    const { db } = operator
    const name = { username: 'acme', display_name: 'Acme', username_skeleton: 'acme' }
    const { id: orgId } = await db.write((tx) =>
      insertOwner(tx, { ...name, kind: 'organisation', created_at: Date.now() }),
    )
    const statements = []
    for (const count of [FEW, MANY]) {
      const membership = await addMember(db, orgId, `member-${count}`)
      await addAgents(db, orgId, membership, count)
      const before = await writtenColumns(db)
      const began = performance.now()
      const end = await countedEnd(db, membership)
      t.diagnostic(
        `${count} agents: ${end.statements} statements, ${(performance.now() - began).toFixed(1)} ms`,
      )
      statements.push(end.statements)
      assert.equal(end.responsibleFor, count)
      assert.deepEqual(await writtenColumns(db), before)
    }
    const [few = 0, many] = statements
    assert.ok(few > 0, 'they are counted')
    assert.equal(many, few)
  },
)
