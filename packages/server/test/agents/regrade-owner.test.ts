import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type Assurance, randomTail } from '@countersign/protocol'
import { insertProvenChannel } from '../../../../test/support/channel-rows.ts'
import { gradeChanges, untilGradeChanges } from '../../../../test/support/grade-events.ts'
import {
  type Operator,
  openOperator,
  startTestService,
  type TestService,
  testEnv,
} from '../../../../test/support/service.ts'
import { insertAgent } from '../../src/claims/claim-table.ts'
import { readSettings } from '../../src/config/config.ts'
import { loadPepper } from '../../src/core/crypto/secrets.ts'
import type { Database } from '../../src/core/database/database.ts'
import { takeJob } from '../../src/core/jobs/job-table.ts'
import { runDueJobs } from '../../src/core/jobs/run-jobs.ts'
import { unverifyOwner, verifyOwner } from '../../src/identity/record-verification.ts'
import { deleteAccount } from '../../src/privacy/delete-account.ts'
import { JOB_HANDLERS } from '../../src/service/job-handlers.ts'

const MANY = 450

/** An owner of many agents, of which the last two can be reached: at a domain and in a chat. */
async function manyAgents(operator: Operator, username: string): Promise<Scene> {
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

interface Scene {
  readonly ownerId: number
  readonly tails: readonly string[]
}

/** The data of a service that does not run: nothing is done but what the test does. */
async function openData(t: TestContext): Promise<{ operator: Operator; dataDir: string }> {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  return { operator, dataDir: settings.dataDir }
}

function verify(db: Database, dataDir: string, ownerId: number, assurance: Assurance) {
  const deps = { db, now: Date.now, pepper: loadPepper(dataDir) }
  const subject = { provider: 'mitid', issuer: 'x', subject: String(ownerId) }
  return verifyOwner(deps, ownerId, { ...subject, assurance, expiresAt: null })
}

async function jobs({ read }: Database) {
  return read.selectFrom('jobs').selectAll().orderBy('id').execute()
}

async function toldOf({ read }: Database, tails: readonly string[]): Promise<string[]> {
  const told = []
  for (const tail of tails) told.push((await gradeChanges(read, tail)).join())
  return told
}

const onFailure = (error: unknown) => assert.fail(String(error))

test('of an owner with many agents each is told once, by the service, whoever verified the owner', async (t) => {
  const service: TestService = await startTestService(t)
  const { operator } = service
  const { ownerId, tails } = await manyAgents(operator, 'ada')
  const other = await manyAgents(operator, 'grace')

  await verify(operator.db, service.settings.dataDir, ownerId, 'high')

  await untilGradeChanges(operator.db.read, tails.at(-1) as string, ['C>B'])
  const expected = [...tails.slice(0, -2).map(() => 'D>C'), 'B>A', 'C>B']
  assert.deepEqual(await toldOf(operator.db, tails), expected)
  assert.deepEqual(await toldOf(operator.db, other.tails), Array(MANY).fill(''))
  assert.deepEqual(await jobs(operator.db), [])
})

test('the first agents are told in the transaction of the cause, the rest by a job that is due at once', async (t) => {
  const { operator, dataDir } = await openData(t)
  const { ownerId, tails } = await manyAgents(operator, 'ada')
  await verify(operator.db, dataDir, ownerId, 'high')
  const told = (await toldOf(operator.db, tails)).filter((each) => each !== '')
  assert.ok(told.length > 0 && told.length < MANY, String(told.length))
  const [job, ...others] = await jobs(operator.db)
  assert.ok(job !== undefined && job.run_at <= Date.now())
  assert.deepEqual([job.kind, others], ['regrade-owner', []])
  await runDueJobs({ db: operator.db, handlers: JOB_HANDLERS, now: Date.now, onFailure })
  assert.ok((await toldOf(operator.db, tails)).every((each) => each !== ''))
})

test('a change while agents are told begins again with the first', async (t) => {
  const { operator, dataDir } = await openData(t)
  const { db } = operator
  const { ownerId, tails } = await manyAgents(operator, 'ada')
  await verify(db, dataDir, ownerId, 'high')
  const [begun] = await jobs(db)
  // One job of the round, and no more.
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
  assert.equal(await db.write((tx) => takeJob(tx, late)), false, 'who read it before has it not')
  await runDueJobs({ db, handlers: JOB_HANDLERS, now: Date.now, onFailure })
  const told = await toldOf(db, tails)
  assert.equal(told[0], 'D>C,C>D,D>E')
  assert.deepEqual(told.slice(-3), ['D>E', 'B>C', 'C>D'], 'the last were reached by none before')
  assert.deepEqual(await jobs(db), [])
})

test('of those who do the same job at once one does it, also where another is in its place', async (t) => {
  const { operator, dataDir } = await openData(t)
  const { db } = operator
  const { ownerId, tails } = await manyAgents(operator, 'ada')
  const frozen = Date.now()
  await verify(db, dataDir, ownerId, 'high')
  // At one moment, so that the time of a job tells none from another.
  await Promise.all(
    Array.from({ length: 5 }, () =>
      runDueJobs({ db, handlers: JOB_HANDLERS, now: () => frozen + 60_000, onFailure }),
    ),
  )
  assert.deepEqual(
    new Set(await toldOf(db, tails)),
    new Set(['D>C', 'B>A', 'C>B']),
    'each once, none left out',
  )
})

test('an account that is deleted leaves no job behind, and no other account loses one', async (t) => {
  const { operator, dataDir } = await openData(t)
  const { db } = operator
  const owners: Scene[] = []
  // Twelve, so that the number of one begins with the number of another.
  for (let i = 0; i < 12; i++) {
    if (i === 0 || i === 11) owners.push(await manyAgents(operator, `owner-${i}`))
    else await operator.addVerifiedOwner()
  }
  const [first, twelfth] = owners as [Scene, Scene]
  assert.deepEqual([first.ownerId, twelfth.ownerId], [1, 12])
  for (const { ownerId } of owners) await verify(db, dataDir, ownerId, 'high')
  assert.equal(await deleteAccount({ db, now: Date.now }, first.ownerId, 'owner-0'), MANY)
  const [left, ...others] = await jobs(db)
  assert.deepEqual(others, [])
  assert.equal(JSON.parse(left?.subject ?? '{}').ownerId, 12)
  const told = await toldOf(db, first.tails)
  assert.deepEqual([told[0], told.at(-1)], ['D>C,C>E', 'C>E'])
})
