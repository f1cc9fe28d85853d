import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLogProof } from '@countersign/protocol'
import { ask, post } from '../../../../test/support/ask.ts'
import { leaveUncompared } from '../../../../test/support/changes-complete.ts'
import { newKey } from '../../../../test/support/key.ts'
import { rotationBody } from '../../../../test/support/key-operations.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { rotateKey } from '../../../../test/support/rotate-key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { policyFile, startTestWitness } from '../../../../test/support/test-witness.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { currentEpoch, updateEpoch } from '../../src/log/log-table.ts'
import { textOf } from './support/html.ts'

const SECTION = 'id="log"'
const START = Date.UTC(2026, 0, 5, 10, 20)

test('the certificate page shows the entry of the current key in the transparency log', async (t) => {
  const service = await startTestService(t, {}, () => START)
  const owner = await service.operator.addVerifiedOwner()
  await claimAgent(service, owner)
  await untilLogged(service, 1)
  const key = newKey()
  const did = await claimAgent(service, owner, key, 'second')
  await untilLogged(service, 2)
  const page = (headers = {}) => ask(service, `/agent/${did}`, { headers })

  const first = await page()
  const origin = `${new URL(service.url).host}/log/1`
  assert.ok(
    textOf(first.text).includes(
      `Log ${origin} Index of the entry 1 Newest checkpoint Signed on 5 January 2026`,
    ),
    textOf(first.text),
  )
  for (const path of [
    `/log/proof/${did}`,
    `/log/agent/${did}`,
    '/log/checkpoint',
    '/docs/transparency',
  ]) {
    assert.ok(first.text.includes(`<a href="${path}"`), path)
    assert.equal((await ask(service, path)).status, 200, path)
  }
  assert.equal(parseLogProof((await ask(service, `/log/proof/${did}`)).text)?.index, 1)

  await claimAgent(service, owner, newKey(), 'third')
  await untilLogged(service, 3)
  const unchanged = await page({ 'if-none-match': first.headers.get('etag') as string })
  assert.equal(unchanged.status, 304, 'entries of others do not change the page')

  const next = newKey()
  const body = rotationBody(
    service,
    did,
    { old: key, next, sequence: 2 },
    { issuedAt: START / 1000 },
  )
  assert.equal((await post(service, `/api/v1/agent/${did}/keys`, body)).status, 200)
  await untilLogged(service, 4)
  assert.match(textOf((await page()).text), /Index of the entry 3 /)
  assert.equal(parseLogProof((await ask(service, `/log/proof/${did}`)).text)?.index, 3)
})

test('the page names the witnesses that have cosigned the checkpoint', async (t) => {
  const witness = await startTestWitness(t, 'a')
  const silent = await startTestWitness(t, 'b')
  silent.instead = () => ({ status: 503 })
  const WITNESSES = policyFile(t, `${witness.line}${silent.line}quorum a\n`)
  const clock = { now: Date.now() }
  const service = await startTestService(t, { WITNESSES }, () => clock.now)
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner)
  await untilLogged(service, 0)
  clock.now += 60_000
  await untilLogged(service, 1)
  const text = textOf((await ask(service, `/agent/${did}`)).text)
  assert.match(text, / Cosigned by a\.example\/witness The newest checkpoint has cosignatures of /)
  assert.ok(!text.includes('b.example'))
})

test('the page shows no entry for a key that is not in the log, and none of a log that is halted', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner)
  const other = await claimAgent(service, owner, newKey(), 'other')
  await untilLogged(service, 2)
  const page = async (agent: string) => (await ask(service, `/agent/${agent}`)).text
  assert.ok((await page(did)).includes(SECTION))

  leaveUncompared(service)
  // The database has another key than the one that was logged under this number.
  await service.operator.db.write(async ({ db }) => {
    await db
      .updateTable('log_entries')
      .set({ entry: '{"type":"key_rotated","keySequence":2,"key":"another"}' })
      .where('tail', '=', did.slice(-24))
      .execute()
  })
  await rotateKey(service, did, Buffer.from(newKey().publicKey, 'base64'))
  assert.ok(!(await page(did)).includes(SECTION))
  assert.equal((await ask(service, `/log/proof/${did}`)).status, 503)

  const { db } = service.operator
  assert.ok((await page(other)).includes(SECTION))
  const epoch = await currentEpoch(db.read)
  assert.ok(epoch)
  await db.write((tx) => updateEpoch(tx, epoch.epoch, { size: 1 }))
  await untilTicked(service, async () => (await ask(service, '/log/checkpoint')).status === 503)
  assert.ok(!(await page(other)).includes(SECTION))
})
