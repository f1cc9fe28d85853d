import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseCheckpoint, proveConsistency, verifyConsistency } from '@countersign/protocol'
import { openOperator, tempDir, testEnv } from '../../../../test/support/service.ts'
import { issueToken } from '../../src/agents/claims/issue-token.ts'
import { mintBatch } from '../../src/agents/claims/mint.ts'
import { readSettings } from '../../src/base/config.ts'
import { hashToken } from '../../src/base/hash-token.ts'
import { ANCHOR_FILE } from '../../src/log/anchor.ts'
import { readHashesFromDatabase } from '../../src/log/log-table.ts'
import { type LogNode, openNode, restoreLog, saveLog } from './support.ts'

test('a machine that was rolled back with its anchor signs a fork; another node and everyone with an older checkpoint notice', async (t) => {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const { db } = operator
  const owner = await operator.addVerifiedOwner()
  const { naming } = settings
  const claim = async () => {
    const { claimToken } = await issueToken({ db, naming, now: Date.now, randomBytes }, owner)
    const made = { publicKey: randomBytes(32), agentId: 'main', signature: randomBytes(64) }
    const deps = { naming, keyReuse: 'owner', log: null, now: Date.now, randomBytes } as const
    await db.writeBatched(mintBatch, {
      deps,
      claim: { tokenHash: hashToken(claimToken), ...made },
    })
  }
  const known = ({ log }: LogNode) => parseCheckpoint(`${log.served?.signed.split('\n\n')[0]}\n`)
  const isConsistent = async (old: ReturnType<typeof known>, now: ReturnType<typeof known>) => {
    assert.ok(old && now)
    const read = readHashesFromDatabase(db.read, 1, now.size)
    return verifyConsistency(old, now, await proveConsistency(old.size, now.size, read))
  }

  const node = await openNode(settings, db)
  const other = await openNode(settings, db, { dataDir: tempDir(t) })
  await claim()
  await node.run()
  const first = known(node)
  const anchor = join(settings.dataDir, ANCHOR_FILE)
  const image = { log: await saveLog(db), anchor: readFileSync(anchor) }
  await claim()
  await node.run()
  // The other node is new, and joins.
  for (const each of [other, node, other]) await each.run()
  const older = known(node)
  assert.equal(older?.size, 2)
  // The control: nothing was rolled back yet, and both agree.
  assert.ok(await isConsistent(first, older))
  assert.equal(other.log.problem, null)

  await restoreLog(db, image.log)
  writeFileSync(anchor, image.anchor)
  await claim()
  const restarted = await openNode(settings, db)
  await restarted.run()
  // The machine itself cannot know.
  assert.equal(restarted.log.problem, null)
  const fork = known(restarted)
  assert.ok(fork && fork.size > 2)
  assert.ok(await isConsistent(first, fork))
  assert.ok(!(await isConsistent(older, fork)))
  await other.run()
  assert.match(other.log.problem ?? '', /are not those that were signed or served/)
  assert.equal(other.log.served, null)
})
