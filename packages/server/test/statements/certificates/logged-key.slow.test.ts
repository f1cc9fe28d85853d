import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentEntry, parseLogProof } from '@countersign/protocol'
import { type IssuerKeys, verifyCertificate } from '@countersign/sdk'
import {
  certificateOf,
  decodeJws,
  keySetOf,
} from '../../../../../test/support/agent-certificates.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { leaveUncompared } from '../../../../../test/support/changes-complete.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { rotationBody } from '../../../../../test/support/key-operations.ts'
import { untilLogged } from '../../../../../test/support/log-client.ts'
import { rotateKey } from '../../../../../test/support/rotate-key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { currentEpoch, updateEpoch } from '../../../src/log/log-table.ts'

/** The entry that the proof of an agent shows, with its index. */
async function provenEntry(service: TestService, did: string) {
  const proof = parseLogProof((await ask(service, `/log/proof/${did}`)).text)
  assert.ok(proof?.extra)
  const {
    key,
    keySequence,
    did: subject,
  } = JSON.parse(Buffer.from(proof.extra).toString()) as AgentEntry
  return { index: proof.index, key, keySequence, did: subject }
}

test('a certificate names the entry of its key, which the proof shows, in both formats and for both algorithms', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  await claimAgent(service, owner)
  const key = newKey()
  const did = await claimAgent(service, owner, key, 'second')
  await untilLogged(service, 2)
  const jwks = (await keySetOf(service)) as IssuerKeys
  const options = { issuers: [{ issuer: service.url, jwks }], statusLists: null }
  const origin = `${new URL(service.url).host}/log/1`

  const accept = { headers: { accept: 'application/dc+sd-jwt' } }
  const tokens = await Promise.all([
    certificateOf(service, did),
    certificateOf(service, did, accept),
    certificateOf(service, did, {}, '?alg=ES256'),
  ])
  for (const token of tokens) {
    const { log, keyThumbprint, keySequence } = await verifyCertificate(token, options)
    assert.ok(log)
    assert.equal(log.origin, origin)
    const expected = { index: log.index, key: keyThumbprint, keySequence, did }
    assert.deepEqual(await provenEntry(service, did), expected)
  }

  const next = newKey()
  const body = rotationBody(service, did, { old: key, next, sequence: 2 })
  assert.equal((await post(service, `/api/v1/agent/${did}/keys`, body)).status, 200)
  // Whether it is logged already is a matter of time, but it never has the entry of the former key.
  const { log: early } = decodeJws(await certificateOf(service, did)).claims
  assert.ok(early === undefined || early.index === 2)
  await untilLogged(service, 3)
  const rotated = await verifyCertificate(await certificateOf(service, did), options)
  assert.deepEqual(rotated.log, { origin, index: 2 })
  assert.equal((await provenEntry(service, did)).key, rotated.keyThumbprint)
})

test('a certificate names no entry of another key with its number, and none of a log that is halted', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner)
  const other = await claimAgent(service, owner, newKey(), 'other')
  await untilLogged(service, 2)
  const { db } = service.operator
  const logOf = async (agent: string) => decodeJws(await certificateOf(service, agent)).claims.log
  assert.ok(await logOf(did))
  assert.ok(await logOf(other))

  leaveUncompared(service)
  // As after a restore: the log has another key under the next number.
  const entry = JSON.stringify({ type: 'key_rotated', keySequence: 2, key: 'another' })
  await db.write(async (tx) => {
    const changed = tx.db.updateTable('log_entries').set({ entry })
    await changed.where('tail', '=', did.slice(-24)).execute()
  })
  await rotateKey(service, did, Buffer.from(newKey().publicKey, 'base64'))
  assert.equal(await logOf(did), undefined)

  const epoch = await currentEpoch(db.read)
  assert.ok(epoch)
  await db.write((tx) => updateEpoch(tx, epoch.epoch, { size: 1 }))
  await untilTicked(service, async () => (await ask(service, '/log/checkpoint')).status === 503)
  assert.equal(await logOf(other), undefined)
})
