import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  didOf,
  encodeBase64,
  formatCheckpoint,
  formatEntryBundle,
  formatLogEntry,
  formatNote,
  hashLeaf,
  keyThumbprint,
  type LogEntry,
  type NoteKey,
  noteKeyId,
  type Tail,
  utf8,
} from '@countersign/protocol'
import { newKey } from '../../../../test/support/key.ts'
import { signOperation } from '../../../../test/support/key-operations.ts'
import { openOperator, testEnv } from '../../../../test/support/service.ts'
import { issueToken } from '../../src/agents/claims/issue-token.ts'
import { mintBatch } from '../../src/agents/claims/mint.ts'
import { readSettings } from '../../src/base/config.ts'
import { hashToken } from '../../src/base/hash-token.ts'
import type { Database } from '../../src/database/database.ts'
import { ANCHOR_FILE, LogAnchor } from '../../src/log/anchor.ts'
import { currentEpoch } from '../../src/log/log-table.ts'
import { type Mirror, recoverLog } from '../../src/log/recover-log.ts'
import { TreeEdge } from '../../src/log/tree-edge.ts'
import { openServiceKey } from '../../src/secrets/service-keys.ts'
import { openNode } from './support.ts'

/** An agent in a log that a thief of the log's key can continue. */
async function open(t: TestContext) {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const { db } = operator
  const { naming, dataDir } = settings
  const key = newKey()
  const owner = await operator.addVerifiedOwner()
  const { claimToken } = await issueToken({ db, naming, now: Date.now, randomBytes }, owner)
  const publicKey = Buffer.from(key.publicKey, 'base64')
  const deps = { naming, keyReuse: 'owner', log: null, now: Date.now, randomBytes } as const
  const claim = { tokenHash: hashToken(claimToken), publicKey, agentId: 'main' }
  await db.writeBatched(mintBatch, { deps, claim: { ...claim, signature: randomBytes(64) } })
  await (await openNode(settings, db)).run()
  rmSync(join(dataDir, ANCHOR_FILE))
  const logKey = await openServiceKey({ db, folders: settings }, 'log')
  const [row] = await db.read.selectFrom('log_entries').select(['entry', 'tail']).execute()
  const did = didOf(naming, row?.tail as Tail)

  /** A mirror of the log with further entries, under a signature of the log's own key. */
  const mirrorWith = async (...entries: readonly object[]): Promise<Mirror> => {
    const { origin = '' } = (await currentEpoch(db.read)) ?? {}
    const all: Uint8Array[] = [utf8(row?.entry ?? '')]
    for (const each of entries) {
      const prev = encodeBase64(hashLeaf(all.at(-1) as Uint8Array))
      all.push(formatLogEntry({ prev, ...each } as LogEntry))
    }
    const edge = new TreeEdge(0, [])
    for (const bytes of all) edge.append(hashLeaf(bytes))
    const text = formatCheckpoint({ origin, size: all.length, root: edge.root() })
    const name: NoteKey = { name: origin, type: 'ed25519', publicKey: logKey.publicKey }
    const signature = { name: origin, keyId: noteKeyId(name), signature: logKey.sign(utf8(text)) }
    const [tile] = edge.takeTiles()
    return {
      checkpoint: async () => formatNote({ text, signatures: [signature] }),
      tile: async ({ level, width }) =>
        level === 'entries'
          ? formatEntryBundle(all.slice(0, width))
          : (tile?.hashes.subarray(0, width * 32) ?? new Uint8Array()),
    }
  }
  const commitment = encodeBase64(randomBytes(32))
  const common = { v: 1, did, by: 'agent', at: Date.now(), commitment }
  type Key = ReturnType<typeof newKey>
  const rotation = (old: Key, next: Key, sequence = 2) => {
    const issuedAt = Math.floor(Date.now() / 1000)
    const service = settings.baseUrl.origin
    const operation = { first: 0xff, operation: 'rotate', version: 'v1', token: null } as const
    const signed = { ...operation, service, did, sequence, old, next, issuedAt }
    return {
      ...common,
      type: 'key_rotated',
      key: keyThumbprint(Buffer.from(next.publicKey, 'base64')),
      keySequence: sequence,
      service,
      issuedAt,
      prevKey: old.publicKey,
      newKey: next.publicKey,
      oldSignature: signOperation(old, signed),
      newSignature: signOperation(next, signed),
    }
  }
  const recover = (mirror: Mirror, from: Database = db) =>
    recoverLog({ db: from, dataDir, now: Date.now }, mirror)
  const agent = () => db.read.selectFrom('agents').selectAll().executeTakeFirstOrThrow()
  return { db, dataDir, did, key, common, mirrorWith, rotation, recover, agent }
}

test('a rotation in the mirror that the keys did not sign is refused, and nothing is changed', async (t) => {
  const { db, dataDir, key, mirrorWith, rotation, recover, agent } = await open(t)
  const next = newKey()
  const valid = rotation(key, next)
  const before = [await agent(), await currentEpoch(db.read)]
  const forged = [
    { ...valid, oldSignature: rotation(newKey(), next).oldSignature },
    { ...valid, newSignature: valid.oldSignature },
    { ...valid, keySequence: 3 },
    { ...valid, service: 'https://other.example' },
    { ...valid, newKey: newKey().publicKey },
    { ...valid, prev: encodeBase64(randomBytes(32)) },
  ]
  for (const entry of forged) {
    await assert.rejects(
      recover(await mirrorWith(entry)),
      /^CodedError: Entry 1 of the mirror, about svc:agent:\w+, (rotates|replaces|does not refer)/,
    )
    assert.deepEqual([await agent(), await currentEpoch(db.read)], before)
    assert.equal(new LogAnchor(dataDir).read(), null)
  }
  // The control.
  const { rotated } = await recover(await mirrorWith(valid))
  assert.equal(rotated.length, 1)
  assert.deepEqual(Buffer.from((await agent()).public_key), Buffer.from(next.publicKey, 'base64'))
})

test('who has stolen the key of the log cannot give an agent another key by a recovery and a rotation of their own', async (t) => {
  const { common, did, mirrorWith, rotation, recover, agent } = await open(t)
  const thief = newKey()
  const recovered = {
    ...common,
    type: 'key_recovered',
    by: 'owner',
    key: keyThumbprint(Buffer.from(thief.publicKey, 'base64')),
    keySequence: 2,
  }
  const { lost, rotated } = await recover(await mirrorWith(recovered, rotation(thief, newKey(), 3)))
  assert.deepEqual([lost, rotated], [[did], []])
  const { status, status_reason } = await agent()
  assert.deepEqual([status, status_reason], ['suspended', 'key_unknown_after_restore'])
})

test('a recovery that ends between the transaction and log-head is repeated, and completes', async (t) => {
  const { db, dataDir, key, mirrorWith, rotation, recover } = await open(t)
  const mirror = await mirrorWith(rotation(key, newKey()))
  const killed: Database = Object.create(db, {
    write: {
      value: async (work: Parameters<Database['write']>[0]) => {
        await db.write(work)
        throw new Error('killed')
      },
    },
    read: { value: db.read },
  })
  await assert.rejects(recover(mirror, killed), /killed/)
  assert.equal((await currentEpoch(db.read))?.size, 2)
  assert.equal(new LogAnchor(dataDir).read(), null, 'the log is still halted')
  const again = await recover(mirror)
  assert.deepEqual([again.entries, again.rotated], [0, []])
  assert.equal(new LogAnchor(dataDir).read()?.size, 2)
})
