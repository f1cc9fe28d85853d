import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type AgentEntry,
  commitmentTo,
  encodeBase64,
  hashLeaf,
  isAgentEntry,
  keyThumbprint,
  parseLogProof,
  proveConsistency,
  readHashesFromTiles,
  rotationSignatures,
  utf8,
  verifyConsistency,
  verifyLogProof,
} from '@countersign/protocol'
import { post } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { rotationBody } from '../../../../test/support/key-operations.ts'
import {
  fetchTile,
  logInfo,
  logKey,
  readCheckpoint,
  readLog,
  untilLogged,
  verifyEd25519,
} from '../../../../test/support/log-client.ts'
import {
  type Cleanup,
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'

const ends: (() => unknown)[] = []
const cleanup: Cleanup = { after: (end) => ends.push(end) }
let service: TestService
let owner: number

before(async () => {
  service = await startTestService(cleanup)
  owner = await service.operator.addVerifiedOwner('somebody-known', 'substantial')
})

after(async () => {
  for (const end of ends.toReversed()) await end()
})

const prefix = () => `${service.url}/log`

async function entriesOf(did: string): Promise<AgentEntry[]> {
  const { entries } = await readLog(prefix(), await logKey(service.url))
  return entries.filter(isAgentEntry).filter((entry) => entry.did === did)
}

async function sizeNow(): Promise<number> {
  return (await logInfo(service.url)).size
}

test('a claim gets its place under a checkpoint, and a proof shows it', async () => {
  const key = newKey()
  const did = await claimAgent(service, owner, key)
  await untilLogged(service, 1)
  const logName = await logKey(service.url)
  assert.equal(logName.name, `${new URL(service.url).host}/log/1`)
  const { entries } = await readLog(prefix(), logName)
  const [claimed] = entries.filter(isAgentEntry).filter((entry) => entry.did === did)
  assert.ok(claimed)
  const { type, prev, by, keySequence } = claimed
  assert.deepEqual(
    { type, prev, by, keySequence },
    { type: 'claimed', prev: null, by: 'agent', keySequence: 1 },
  )
  assert.equal(claimed.key, keyThumbprint(Buffer.from(key.publicKey, 'base64')))

  const response = await fetch(`${prefix()}/proof/${did}`)
  assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  const proof = parseLogProof(await response.text())
  assert.ok(proof?.extra)
  assert.deepEqual(JSON.parse(Buffer.from(proof.extra).toString()), claimed)
  assert.ok(await verifyLogProof(proof, hashLeaf(proof.extra), logName, verifyEd25519))
  const forged = utf8(JSON.stringify({ ...claimed, keySequence: 2 }))
  assert.equal(await verifyLogProof(proof, hashLeaf(forged), logName, verifyEd25519), null)
})

test('a rotation has everything that both keys signed, and refers to the entry before it', async () => {
  const [old, next] = [newKey(), newKey()]
  const before = await sizeNow()
  const did = await claimAgent(service, owner, old)
  const body = rotationBody(service, did, { old, next, sequence: 2 })
  const rotated = await post(service, `/api/v1/agent/${did}/keys`, body)
  assert.equal(rotated.status, 200)
  await untilLogged(service, before + 2)
  const [claimed, rotation] = await entriesOf(did)
  assert.ok(claimed && rotation?.type === 'key_rotated')
  const { naming } = service.settings
  const signatures = rotationSignatures(naming, rotation) ?? []
  assert.equal(signatures.length, 2)
  for (const { publicKey, message, signature } of signatures)
    assert.ok(verifyEd25519(publicKey, message, signature))
  const log = (await (await fetch(`${prefix()}/agent/${did}`)).json()) as {
    entries: { index: number; leaf: string; entry: string }[]
  }
  assert.equal(rotation.prev, log.entries[0]?.leaf)
  assert.deepEqual(
    log.entries.map(({ entry }) => JSON.parse(entry)),
    [claimed, rotation],
  )
  for (const { leaf, entry } of log.entries) assert.equal(leaf, encodeBase64(hashLeaf(utf8(entry))))
  const proof = parseLogProof(await (await fetch(`${prefix()}/proof/${did}`)).text())
  assert.equal(proof?.index, log.entries[1]?.index)
})

test('checkpoints are consistent, and a suspension is logged at once', async () => {
  const name = await logKey(service.url)
  const { checkpoint: old } = await readCheckpoint(prefix(), name)
  const did = await claimAgent(service, owner)
  await untilLogged(service, old.size + 1)
  const { checkpoint } = await readCheckpoint(prefix(), name)
  const read = readHashesFromTiles(checkpoint.size, (tile) => fetchTile(prefix(), tile))
  const proof = await proveConsistency(old.size, checkpoint.size, read)
  assert.ok(verifyConsistency(old, checkpoint, proof))
  assert.ok(did)
})

test('nothing beyond the checkpoint is served, and tiles are immutable', async () => {
  const size = await sizeNow()
  const path = `tile/0/000.p/${size}`
  const tile = await fetch(`${prefix()}/${path}`)
  assert.equal(tile.status, 200)
  assert.equal(tile.headers.get('content-type'), 'application/octet-stream')
  assert.match(tile.headers.get('cache-control') ?? '', /immutable/)
  assert.equal((await tile.arrayBuffer()).byteLength, size * 32)
  const first = await fetch(`${prefix()}/1/${path}`)
  assert.equal(first.status, 200)
  for (const wrong of [
    `tile/0/000.p/${size + 1}`,
    'tile/0/000',
    'tile/0/001.p/1',
    'tile/1/000.p/1',
    'tile/entries/000',
    `tile/entries/000.p/${size + 1}`,
    'tile/0/00',
    'tile/x/000',
    '2/checkpoint',
    '0/checkpoint',
    'proof/111111111111111111111111',
    'agent/111111111111111111111111',
  ]) {
    const response = await fetch(`${prefix()}/${wrong}`)
    assert.equal(response.status, 404, wrong)
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'NOT_FOUND')
  }
  assert.equal((await fetch(`${prefix()}/proof/nobody`)).status, 400)
})

test('no entry names the owner', async () => {
  const { raw } = await readLog(prefix(), await logKey(service.url))
  const text = raw.map((bytes) => Buffer.from(bytes).toString()).join('\n')
  for (const word of ['somebody-known', 'Owner', 'ownerId', 'in-person', 'owner_id', 'main']) {
    assert.ok(!text.includes(word), word)
  }
})

test('a commitment opens with the salt and the evidence in the database, and with nothing else', async () => {
  const did = await claimAgent(service, owner)
  await untilLogged(service, (await sizeNow()) + 1)
  const row = await service.operator.db.read
    .selectFrom('log_entries')
    .selectAll()
    .where('tail', '=', did.slice(-24))
    .executeTakeFirstOrThrow()
  const { naming } = service.settings
  const { commitment } = JSON.parse(row.entry) as AgentEntry
  const evidence = JSON.parse(row.evidence ?? 'null')
  const salt = Uint8Array.from(row.salt ?? [])
  assert.equal(evidence.agentId, 'main')
  assert.equal(commitmentTo(naming, salt, evidence), commitment)
  assert.notEqual(commitmentTo(naming, salt, { ...evidence, agentId: 'other' }), commitment)
})
