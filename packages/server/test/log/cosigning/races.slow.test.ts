import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseVerifierKey } from '@countersign/protocol'
import type { KyselyPlugin, OperationNode, RootOperationNode, WhereNode } from 'kysely'
import { ON_POSTGRES } from '../../../../../test/support/postgres.ts'
import {
  openOperator,
  startServiceProcess,
  startTestService,
  tempDir,
  testEnv,
} from '../../../../../test/support/service.ts'
import { readSettings, type Settings } from '../../../src/base/config.ts'
import type { Database } from '../../../src/database/database.ts'
import { Witness } from '../../../src/log/cosigning/witness.ts'
import { addCheckpoint, cosigned, TestLog, witnessLogsFile } from './support.ts'

/** Sends both histories to all nodes at once, several times. @returns how often each was cosigned */
async function race(urls: readonly string[], bodies: readonly [string, string]) {
  const sent = [0, 1, 2].flatMap(() =>
    urls.flatMap((url) =>
      bodies.map(async (body, history) => ({ history, ...(await addCheckpoint(url, body)) })),
    ),
  )
  const answers = await Promise.all(sent)
  for (const { status, text } of answers) assert.ok(status === 200 || status === 409, text)
  const won = answers.filter(({ status }) => status === 200)
  return { won: won[0], count: won.length }
}

async function raceOften(t: TestContext, urls: readonly [string, ...string[]], log: TestLog) {
  const info = (await (await fetch(`${urls[0]}/witness`)).json()) as { verifierKey: string }
  const key = parseVerifierKey(info.verifierKey)
  assert.ok(key)
  let honest = log
  let old = 0
  for (const size of [5, 8, 20, 64, 200]) {
    const histories = [honest, honest.fork(old, `other ${size}`)] as const
    const bodies = await Promise.all(histories.map((each) => each.request(old, size)))
    const { won, count } = await race(urls, bodies as [string, string])
    assert.equal(count, 1, `of two histories with ${size} entries, one is cosigned, once`)
    honest = histories[won?.history ?? 0] as TestLog
    await cosigned(await honest.checkpoint(size), won?.text ?? '', key)
    t.diagnostic(`${size}: history ${won?.history}`)
    old = size
  }
}

test('of two contradicting checkpoints at once, exactly one is cosigned: two nodes', async (t) => {
  const log = new TestLog()
  const WITNESS_LOGS = witnessLogsFile(t, [log])
  const first = await startTestService(t, { WITNESS_LOGS })
  if (!ON_POSTGRES) return raceOften(t, [first.url], log)
  // A machine of its own: it has the keys and a copy of the head.
  const DATA_DIR = tempDir(t)
  cpSync(first.settings.dataDir, DATA_DIR, { recursive: true })
  const second = await startTestService(t, {
    WITNESS_LOGS,
    DATA_DIR,
    DATABASE_URL: first.env.DATABASE_URL as string,
    BASE_URL: first.settings.baseUrl.origin,
  })
  await raceOften(t, [first.url, second.url], log)
})

test('of two contradicting checkpoints at once, exactly one is cosigned: two workers', async (t) => {
  const log = new TestLog()
  const WITNESS_LOGS = witnessLogsFile(t, [log])
  const { url, stop } = await startServiceProcess(t, { WITNESS_LOGS, WORKERS: '2' })
  await raceOften(t, [url], log)
  assert.equal(await stop(), 0)
})

/** Removes all conditions of a change but the first: the origin. */
const WITHOUT_COMPARISON: KyselyPlugin = {
  transformQuery({ node }) {
    if (node.kind !== 'UpdateQueryNode' || node.where === undefined) return node
    let first: OperationNode = node.where.where
    while (first.kind === 'AndNode') first = (first as { left?: OperationNode }).left as never
    const where: WhereNode = { kind: 'WhereNode', where: first }
    return { ...node, where } as RootOperationNode
  },
  transformResult: async ({ result }) => result,
}

for (const isComparing of [true, false]) {
  const title = isComparing
    ? 'two that have read the same state: the second to write is told the size of the first'
    : 'control: without the comparison in the write, both histories would be cosigned'
  test(title, async (t) => {
    const settings = readSettings(await testEnv(t))
    const dbs = await openTwice(t, settings)
    const log = new TestLog()
    let waiting = 0
    const { promise: bothHaveRead, resolve } = Promise.withResolvers<void>()
    const open = (db: Database) => {
      const write: Database['write'] = async (work) => {
        waiting += 1
        if (waiting === 2) resolve()
        await bothHaveRead
        return db.write((tx) =>
          work(isComparing ? tx : { ...tx, db: tx.db.withPlugin(WITHOUT_COMPARISON) }),
        )
      }
      return witnessOf(log, settings.dataDir, { read: db.read, write })
    }
    const alone = witnessOf(log, settings.dataDir, dbs[0])
    await alone.run()
    assert.equal((await alone.addCheckpoint(await log.request(0, 10))).kind, 'cosigned')
    const bodies = [await log.request(10, 20), await log.fork(10).request(10, 20)]
    const answers = await Promise.all(
      dbs.map((db, i) => open(db).addCheckpoint(bodies[i] as string)),
    )
    const kinds = answers.map(({ kind }) => kind).toSorted()
    assert.deepEqual(kinds, ['cosigned', isComparing ? 'other_size' : 'cosigned'])
    const refused = answers.find(({ kind }) => kind === 'other_size')
    assert.deepEqual(refused, isComparing ? { kind: 'other_size', size: 20 } : undefined)
  })
}

/** Each node has connections of its own; a file of SQLite has one process, and its writes one connection. */
async function openTwice(t: TestContext, settings: Settings): Promise<[Database, Database]> {
  const first = await openOperator(settings)
  t.after(() => first.close())
  if (!ON_POSTGRES) return [first.db, first.db]
  const second = await openOperator(settings)
  t.after(() => second.close())
  return [first.db, second.db]
}

function witnessOf(log: TestLog, dataDir: string, db: Pick<Database, 'read' | 'write'>): Witness {
  const parts = { host: 'id.example', now: Date.now, onRefusal: () => undefined }
  return new Witness({ ...parts, db, dataDir, logs: [log.key] })
}

test('two nodes that start at once as a witness have one key; the other one does not sign', async (t) => {
  const settings = readSettings(await testEnv(t))
  const dbs = await openTwice(t, settings)
  const log = new TestLog()
  const dirs = [tempDir(t), join(tempDir(t), 'new')] as const
  const nodes = dirs.map((dir, i) => witnessOf(log, dir, dbs[i as 0 | 1]))
  await Promise.all(nodes.map((node) => node.run()))
  const [own, other] = nodes[0]?.problem === null ? [0, 1] : [1, 0]
  assert.equal(nodes[own]?.problem, null)
  assert.match(nodes[other]?.problem ?? '', /is not the one that the database knows\. Copy/)
  await assert.rejects(async () => nodes[other]?.addCheckpoint(await log.request(0, 5)), {
    code: 'UNAVAILABLE',
  })
  // As the message says: with both files of the other node it signs.
  for (const file of ['witness-key', 'witness-head'])
    cpSync(join(dirs[own] as string, file), join(dirs[other] as string, file))
  const answer = await nodes[other]?.addCheckpoint(await log.request(0, 5))
  assert.equal(answer?.kind, 'cosigned')
})
