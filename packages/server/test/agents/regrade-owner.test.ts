import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type Assurance, randomTail } from '@countersign/protocol'
import { insertProvenChannel } from '../../../../test/support/channel-rows.ts'
import { gradeChanges, untilGradeChanges } from '../../../../test/support/grade-events.ts'
import { insertAgent } from '../../../../test/support/insert-agent.ts'
import { JOB_HANDLERS } from '../../../../test/support/job-handlers.ts'
import {
  type Operator,
  openOperator,
  startTestService,
  type TestService,
  testEnv,
} from '../../../../test/support/service.ts'
import { unverifyOwner, verifyOwner } from '../../src/accounts/identity/record-verification.ts'
import { readSettings, type Settings } from '../../src/base/config.ts'
import type { Database } from '../../src/database/database.ts'
import { takeJob } from '../../src/database/jobs/job-table.ts'
import { runDueJobs } from '../../src/database/jobs/run-jobs.ts'
import { loadPepper, type SecretFolders } from '../../src/secrets/secrets.ts'
import { deleteAccount } from '../../src/service/privacy/delete-account.ts'
import { Erasures } from '../../src/service/privacy/erasures.ts'

const MANY = 450

/** An owner of many agents, of which the last two have a proven channel: a domain and a GitHub account. */
async function manyAgents(operator: Operator, username: string): Promise<OwnerWithAgents> {
  const { db } = operator
  const ownerId = await operator.addVerifiedOwner(username, 'low')
  const tails = await db.write(async (tx) => {
    const made: string[] = []
    for (let i = 0; i < MANY; i++) {
      const agent = { seq: 10_000 * ownerId + i, tail: randomTail(randomBytes), owner_id: ownerId }
      const label = `${username} ${i}`
      await insertAgent(tx, {
        ...agent,
        public_key: randomBytes(32),
        agent_id: label,
        claimed_at: Date.now(),
        grade: i === MANY - 2 ? 'B' : i === MANY - 1 ? 'C' : 'D',
      })
      made.push(agent.tail)
    }
    const [domain, chat] = made.slice(-2) as [string, string]
    await insertProvenChannel(tx, domain, { kind: 'domain', handle_or_domain: username, tier: 2 })
    await insertProvenChannel(tx, chat, { kind: 'github', handle_or_domain: username, tier: 1 })
    return made
  })
  return { ownerId, tails }
}

interface OwnerWithAgents {
  readonly ownerId: number
  readonly tails: readonly string[]
}

/** A database without a running service, so that jobs run only when the test runs them. */
async function openData(t: TestContext): Promise<{ operator: Operator; settings: Settings }> {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  return { operator, settings }
}

function verify(db: Database, folders: SecretFolders, ownerId: number, assurance: Assurance) {
  const deps = { db, now: Date.now, pepper: loadPepper(folders) }
  const subject = { provider: 'mitid', issuer: 'x', subject: String(ownerId) }
  return verifyOwner(deps, ownerId, { ...subject, assurance, expiresAt: null })
}

async function jobs({ read }: Database) {
  return read.selectFrom('jobs').selectAll().orderBy('id').execute()
}

async function gradeChangesOf({ read }: Database, tails: readonly string[]): Promise<string[]> {
  const changes = []
  for (const tail of tails) changes.push((await gradeChanges(read, tail)).join())
  return changes
}

const onFailure = (error: unknown) => assert.fail(String(error))

test('verifying an owner records one grade change for each of their many agents, and none for other owners', async (t) => {
  const service: TestService = await startTestService(t)
  const { operator } = service
  const { ownerId, tails } = await manyAgents(operator, 'ada')
  const other = await manyAgents(operator, 'grace')

  await verify(operator.db, service.settings, ownerId, 'high')

  await untilGradeChanges(operator.db.read, tails.at(-1) as string, ['C>B'])
  const expected = [...tails.slice(0, -2).map(() => 'D>C'), 'B>A', 'C>B']
  assert.deepEqual(await gradeChangesOf(operator.db, tails), expected)
  assert.deepEqual(await gradeChangesOf(operator.db, other.tails), Array(MANY).fill(''))
  assert.deepEqual(await jobs(operator.db), [])
})

test('the first batch of agents is regraded in the transaction of the verification, the rest by a job that is due at once', async (t) => {
  const { operator, settings } = await openData(t)
  const { ownerId, tails } = await manyAgents(operator, 'ada')
  await verify(operator.db, settings, ownerId, 'high')
  const changes = (await gradeChangesOf(operator.db, tails)).filter((each) => each !== '')
  assert.ok(changes.length > 0 && changes.length < MANY, String(changes.length))
  const [job, ...others] = await jobs(operator.db)
  assert.ok(job !== undefined && job.run_at <= Date.now())
  assert.deepEqual([job.kind, others], ['regrade-owner', []])
  await runDueJobs({ db: operator.db, handlers: JOB_HANDLERS, now: Date.now, onFailure })
  assert.ok((await gradeChangesOf(operator.db, tails)).every((each) => each !== ''))
})

test('another verification change during a regrade restarts it from the first agent', async (t) => {
  const { operator, settings } = await openData(t)
  const { db } = operator
  const { ownerId, tails } = await manyAgents(operator, 'ada')
  await verify(db, settings, ownerId, 'high')
  const [begun] = await jobs(db)
  // Run exactly one job.
  const frozen = begun?.run_at ?? 0
  let rounds = 0
  await runDueJobs(
    { db, handlers: JOB_HANDLERS, now: () => frozen, onFailure },
    () => ++rounds === 1,
  )
  const [late] = await jobs(db)
  assert.ok(late !== undefined && late.subject !== begun?.subject)

  await unverifyOwner({ db, now: () => frozen }, ownerId, 'mitid')
  await unverifyOwner({ db, now: () => frozen }, ownerId, 'in-person')

  assert.equal((await jobs(db))[0]?.run_at, late.run_at, 'in the same millisecond')
  assert.equal(
    await db.write((tx) => takeJob(tx, late)),
    false,
    'a runner that read the replaced job cannot take it',
  )
  await runDueJobs({ db, handlers: JOB_HANDLERS, now: Date.now, onFailure })
  const changes = await gradeChangesOf(db, tails)
  assert.equal(changes[0], 'D>C,C>D,D>E')
  assert.deepEqual(
    changes.slice(-3),
    ['D>E', 'B>C', 'C>D'],
    'the first regrade did not reach the last agents',
  )
  assert.deepEqual(await jobs(db), [])
})

test('of concurrent runners exactly one runs a job, also if the job was replaced', async (t) => {
  const { operator, settings } = await openData(t)
  const { db } = operator
  const { ownerId, tails } = await manyAgents(operator, 'ada')
  const frozen = Date.now()
  await verify(db, settings, ownerId, 'high')
  // All at the same time, so that jobs do not differ in their due time.
  await Promise.all(
    Array.from({ length: 5 }, () =>
      runDueJobs({ db, handlers: JOB_HANDLERS, now: () => frozen + 60_000, onFailure }),
    ),
  )
  assert.deepEqual(
    new Set(await gradeChangesOf(db, tails)),
    new Set(['D>C', 'B>A', 'C>B']),
    'each agent is regraded exactly once',
  )
})

test('deleting an account deletes its regrade job and no job of other accounts', async (t) => {
  const { operator, settings } = await openData(t)
  const { db } = operator
  const owners: OwnerWithAgents[] = []
  // Twelve owners, so that the id 12 starts with the id 1.
  for (let i = 0; i < 12; i++) {
    if (i === 0 || i === 11) owners.push(await manyAgents(operator, `owner-${i}`))
    else await operator.addVerifiedOwner()
  }
  const [first, twelfth] = owners as [OwnerWithAgents, OwnerWithAgents]
  assert.deepEqual([first.ownerId, twelfth.ownerId], [1, 12])
  for (const { ownerId } of owners) await verify(db, settings, ownerId, 'high')
  assert.equal(
    await deleteAccount(
      { db, now: Date.now, pepper: operator.pepper, erasures: new Erasures(settings.dataDir) },
      first.ownerId,
      'owner-0',
    ),
    MANY,
  )
  const [left, ...others] = (await jobs(db)).filter(({ kind }) => kind === 'regrade-owner')
  assert.deepEqual(others, [])
  assert.equal(JSON.parse(left?.subject ?? '{}').ownerId, 12)
  const { count } = await db.read
    .selectFrom('events')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('type', '=', 'agent.grade_changed')
    .where('tail', 'in', first.tails)
    .executeTakeFirstOrThrow()
  // 200 were regraded before; nothing tells any more from which grade.
  assert.equal(Number(count), MANY + 200)
})
