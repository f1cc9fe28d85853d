import assert from 'node:assert/strict'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseVerifierKey } from '@countersign/protocol'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import {
  countersignd,
  openOperator,
  startTestService,
  type TestService,
  tempDir,
  testEnv,
} from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { readSettings } from '../../../src/base/config.ts'
import type { Database } from '../../../src/database/database.ts'
import { UnknownOutcome } from '../../../src/database/database.ts'
import { Witness } from '../../../src/log/cosigning/witness.ts'
import { WitnessHead } from '../../../src/log/cosigning/witness-head.ts'
import { addCheckpoint, cosigned, TestLog, witnessLogsFile } from './support.ts'

async function start(t: TestContext, log: TestLog) {
  return startTestService(t, { WITNESS_LOGS: witnessLogsFile(t, [log]) })
}

async function reportOf({ url }: TestService) {
  const body = (await (await fetch(`${url}/readyz`)).json()) as {
    witness: { state: string; problem: string | null }
  }
  return body.witness
}

/** What the database has of the witness, as a backup would have it. */
async function save({ read }: Pick<Database, 'read'>) {
  return {
    keys: await read.selectFrom('witness_keys').selectAll().execute(),
    logs: await read.selectFrom('witnessed_logs').selectAll().execute(),
  }
}

async function putBack(
  db: Pick<Database, 'write'>,
  { keys, logs }: Awaited<ReturnType<typeof save>>,
): Promise<void> {
  await db.write(async (tx) => {
    await tx.db.deleteFrom('witness_keys').execute()
    await tx.db.deleteFrom('witnessed_logs').execute()
    for (const row of keys) await tx.db.insertInto('witness_keys').values(row).execute()
    for (const row of logs) await tx.db.insertInto('witnessed_logs').values(row).execute()
  })
}

test('a witness whose database was restored signs nothing until it has a new key, and then remembers', async (t) => {
  const log = new TestLog()
  const service = await start(t, log)
  const { operator, env, url } = service
  const send = (body: string) => addCheckpoint(url, body)
  assert.equal((await send(await log.request(0, 10))).status, 200)
  const backup = await save(operator.db)
  assert.equal((await send(await log.request(10, 20))).status, 200)
  assert.deepEqual(await reportOf(service), { state: 'ok', problem: null })

  await putBack(operator.db, backup)
  // By the database alone, a fork of what was cosigned would be fine.
  const fork = log.fork(15)
  const refused = await send(await fork.request(10, 20))
  assert.equal(refused.status, 503)
  assert.match(refused.text, /"code":"UNAVAILABLE"/)
  assert.equal((await send(await log.request(10, 20))).status, 503)
  const report = await reportOf(service)
  assert.equal(report.state, 'halted')
  assert.match(report.problem ?? '', /countersignd witness new-key/)
  assert.equal((await fetch(`${url}/witness`)).status, 503)
  const doctor = await countersignd(env, 'doctor')
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, /fail {2}witness: .*witness new-key/)
  assert.equal((await countersignd(env, 'witness', 'show')).code, 1)

  const made = await countersignd(env, 'witness', 'new-key', '--json')
  assert.equal(made.code, 0, made.stderr)
  const { name, verifierKey } = JSON.parse(made.stdout) as { name: string; verifierKey: string }
  assert.equal(name, `${service.settings.baseUrl.host}/witness/2`)
  const key = parseVerifierKey(verifierKey)
  assert.ok(key)
  const shown = await countersignd(env, 'witness', 'show')
  assert.equal(shown.stdout, `witness ${name} ${verifierKey} ${url}/witness\n${log.key.name}: 20\n`)
  // What the file outside the database has is not forgotten: the fork stays refused.
  assert.equal((await send(await fork.request(10, 20))).text, '20\n')
  assert.equal((await send(await fork.request(20, 20))).status, 409)
  const next = await send(await log.request(20, 30))
  assert.equal(next.status, 200, next.text)
  await cosigned(await log.checkpoint(30), next.text, key)
  await untilTicked(service, async () => (await reportOf(service)).state === 'ok')
  const ok = await countersignd(env, 'doctor')
  assert.match(ok.stdout, /ok {4}witness: .*\/witness\/2 cosigns 1 logs/)
})

test('a backup of countersignd that is restored halts the witness', SQLITE_ONLY, async (t) => {
  const log = new TestLog()
  const service = await start(t, log)
  const { env } = service
  assert.equal((await addCheckpoint(service.url, await log.request(0, 10))).status, 200)
  const file = join(tempDir(t), 'backup.db')
  assert.equal((await countersignd(env, 'backup', file)).code, 0)
  assert.equal((await addCheckpoint(service.url, await log.request(10, 20))).status, 200)
  await service.stop()
  assert.equal((await countersignd(env, 'restore', file)).code, 0)
  const again = await startTestService(t, env)
  assert.equal((await reportOf(again)).state, 'halted')
  const answer = await addCheckpoint(again.url, await log.fork(15).request(10, 20))
  assert.equal(answer.status, 503)
})

test('a machine that was restored without its head, or with that of another key, does not sign', async (t) => {
  const log = new TestLog()
  const service = await start(t, log)
  const { url, settings } = service
  const head = join(settings.dataDir, 'witness-head')
  const key = join(settings.dataDir, 'witness-key')
  assert.equal((await addCheckpoint(url, await log.request(0, 10))).status, 200)
  const text = readFileSync(head, 'utf8')
  assert.equal(text.split('\n\n')[1], `${(await log.checkpoint(10)).split('\n\n')[0]}\n`)
  const status = async () => (await addCheckpoint(url, await log.request(10, 10))).status
  const states: [() => void, RegExp][] = [
    [() => rmSync(head), /witness-head is missing in DATA_DIR/],
    [() => writeFileSync(head, ''), /witness-head is malformed/],
    [() => writeFileSync(head, `${text}x`), /witness-head is malformed/],
    [() => rmSync(key), /witness-key is missing in DATA_DIR/],
    [() => writeFileSync(key, '7'.repeat(64)), /is not the one that the database knows/],
  ]
  const secret = readFileSync(key)
  for (const [damage, problem] of states) {
    damage()
    assert.equal(await status(), 503)
    await untilTicked(service, async () => problem.test((await reportOf(service)).problem ?? ''))
    writeFileSync(head, text)
    writeFileSync(key, secret)
    // The control: nothing else has changed.
    assert.equal(await status(), 200)
  }
  const other = await start(t, log)
  cpSync(join(other.settings.dataDir, 'witness-head'), head)
  assert.equal(await status(), 503)
  assert.match((await reportOf(service)).problem ?? '', /is of the key .*\/witness\/1/)
})

test('a database from before the witness does not get a second first key', async (t) => {
  const log = new TestLog()
  const service = await start(t, log)
  assert.equal((await addCheckpoint(service.url, await log.request(0, 10))).status, 200)
  await putBack(service.operator.db, { keys: [], logs: [] })
  assert.equal((await addCheckpoint(service.url, await log.fork(1).request(0, 10))).status, 503)
  await untilTicked(service, async () =>
    /does not know witness-key/.test((await reportOf(service)).problem ?? ''),
  )
})

interface Node {
  readonly witness: Witness
  readonly dataDir: string
}

async function openNodes(t: TestContext, log: TestLog) {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const open = (dataDir: string, db: Pick<Database, 'read' | 'write'> = operator.db): Node => {
    const parts = { host: 'id.example', now: Date.now, onRefusal: () => undefined }
    return { dataDir, witness: new Witness({ ...parts, db, dataDir, logs: [log.key] }) }
  }
  return { operator, settings, open }
}

test('the node that notices a restore stops all nodes, also those that have seen less', async (t) => {
  const log = new TestLog()
  const { operator, settings, open } = await openNodes(t, log)
  const { db } = operator
  const node = open(settings.dataDir)
  await node.witness.run()
  await node.witness.addCheckpoint(await log.request(0, 10))
  const backup = await save(db)
  const other = open(tempDir(t))
  cpSync(node.dataDir, other.dataDir, { recursive: true })
  await node.witness.addCheckpoint(await log.request(10, 20))

  await putBack(db, backup)
  // The control: a node that has seen less cannot know.
  const fork = log.fork(12)
  assert.equal((await other.witness.addCheckpoint(await fork.request(10, 20))).kind, 'cosigned')

  await putBack(db, backup)
  cpSync(join(node.dataDir, 'witness-key'), join(other.dataDir, 'witness-key'))
  const stale = open(tempDir(t))
  cpSync(node.dataDir, stale.dataDir, { recursive: true })
  const head = new WitnessHead(stale.dataDir)
  const known = head.read()
  head.locked(() => head.write({ key: known?.key as never, trees: [] }))
  await node.witness.run()
  assert.match(node.witness.problem ?? '', /does not have the tree of 20 entries of log\.example/)
  await assert.rejects(stale.witness.addCheckpoint(await fork.request(10, 20)), {
    code: 'UNAVAILABLE',
  })
  assert.match(stale.witness.problem ?? '', /A node has found/)
})

test('each node learns what the others have cosigned', async (t) => {
  const log = new TestLog()
  const { operator, settings, open } = await openNodes(t, log)
  const node = open(settings.dataDir)
  await node.witness.run()
  const other = open(tempDir(t))
  cpSync(node.dataDir, other.dataDir, { recursive: true })
  const backup = await save(operator.db)
  await node.witness.addCheckpoint(await log.request(0, 20))
  assert.equal(new WitnessHead(other.dataDir).read()?.trees.length, 0)
  await other.witness.run()
  assert.equal(new WitnessHead(other.dataDir).read()?.trees[0]?.size, 20)
  await putBack(operator.db, backup)
  await assert.rejects(other.witness.addCheckpoint(await log.fork(3).request(0, 20)))
})

test('while the outcome of commits is unknown, nothing is signed', async (t) => {
  const log = new TestLog()
  const { operator, settings, open } = await openNodes(t, log)
  const { db } = operator
  let isDoubtful = false
  // As a cancelled wait for a synchronous standby: committed on the primary, and perhaps nowhere else.
  const doubtful: Pick<Database, 'read' | 'write'> = {
    read: db.read,
    async write(work) {
      const result = await db.write(work)
      if (isDoubtful) throw new UnknownOutcome('Committed with a warning.')
      return result
    },
  }
  const { witness, dataDir } = open(settings.dataDir, doubtful)
  await witness.run()
  const head = new WitnessHead(dataDir)
  isDoubtful = true
  await assert.rejects(witness.addCheckpoint(await log.request(0, 10)), UnknownOutcome)
  assert.deepEqual(head.read()?.trees, [])
  // The control: the database has it.
  assert.equal((await save(db)).logs[0]?.size, 10)
  isDoubtful = false
  const size = await witness.addCheckpoint(await log.request(0, 10))
  assert.deepEqual(size, { kind: 'other_size', size: 10 })
  assert.equal((await witness.addCheckpoint(await log.request(10, 10))).kind, 'cosigned')
  assert.equal(head.read()?.trees[0]?.size, 10)
})
