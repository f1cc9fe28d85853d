import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  encodeBase64,
  formatAddCheckpoint,
  openByPolicy,
  parsePolicy,
  parseVerifierKey,
} from '@countersign/protocol'
import { verifyEd25519 } from '../../../../../test/support/log-client.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { startTestService, type TestService, tempDir } from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { addCheckpoint, cosigned, TestLog, witnessLogsFile } from './support.ts'

const TEXT = 'text/plain; charset=utf-8'

async function start(t: TestContext, logs: readonly TestLog[], now?: () => number) {
  const service = await startTestService(t, { WITNESS_LOGS: witnessLogsFile(t, logs) }, now)
  const info = await witnessInfo(service)
  const key = parseVerifierKey(info.verifierKey)
  assert.ok(key)
  return { service, key, info, send: (body: string) => addCheckpoint(service.url, body) }
}

async function witnessInfo({ url }: TestService) {
  const response = await fetch(`${url}/witness`)
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as {
    readonly name: string
    readonly verifierKey: string
    readonly url: string
    readonly logs: readonly { readonly origin: string; readonly size: number }[]
  }
}

test('a log that grows is cosigned, each time from the size that was cosigned last', async (t) => {
  const log = new TestLog()
  let now = Date.parse('2026-11-23T12:00:00.900Z')
  const { service, key, info, send } = await start(t, [log], () => now)
  assert.equal(info.name, `${new URL(service.url).host}/witness/1`)
  assert.equal(info.url, `${service.url}/witness`)
  assert.equal(key.type, 'cosignature')
  let old = 0
  for (const size of [0, 1, 2, 7, 256, 300]) {
    now += 10_000
    const answer = await send(await log.request(old, size))
    assert.deepEqual([answer.status, answer.type], [200, TEXT], answer.text)
    const { time } = await cosigned(await log.checkpoint(size), answer.text, key)
    assert.equal(time, Math.floor(now / 1000))
    old = size
  }
  // The same checkpoint again, with the time of now.
  now += 60_000
  const again = await send(await log.request(300, 300))
  assert.equal(again.status, 200)
  const { time } = await cosigned(await log.checkpoint(300), again.text, key)
  assert.equal(time, Math.floor(now / 1000))

  await untilTicked(service, async () => (await witnessInfo(service)).logs[0]?.size === 300)
  const hash = createHash('sha256').update(log.key.name).digest('hex')
  const served = await fetch(`${service.url}/witness/${hash}/checkpoint`)
  assert.equal(served.headers.get('content-type'), TEXT)
  assert.equal(await served.text(), (await log.checkpoint(300)) + again.text)
  assert.equal((await fetch(`${service.url}/witness/${'0'.repeat(64)}/checkpoint`)).status, 404)
})

test('a policy that requires the witness accepts what it has cosigned, and no fork that another client is shown', async (t) => {
  const log = new TestLog()
  const { info, send } = await start(t, [log])
  const policy = parsePolicy(
    `log ${log.vkey}\nwitness W ${info.verifierKey} ${info.url}\nquorum W\n`,
  )
  const open = (note: string) => openByPolicy(note, policy, verifyEd25519)
  const first = await send(await log.request(0, 20))
  const shown = (await log.checkpoint(20)) + first.text
  assert.equal((await open(shown))?.checkpoint.size, 20)

  // The log shows another client another history, of the same size and of a larger one.
  const fork = log.fork(12)
  const sameSize = await send(await fork.request(20, 20))
  assert.deepEqual([sameSize.status, sameSize.type], [409, TEXT], sameSize.text)
  const larger = await send(await fork.request(20, 40))
  assert.equal(larger.status, 422)
  const restart = await send(await fork.request(0, 20))
  assert.deepEqual([restart.status, restart.text], [409, '20\n'])
  // A cosignature of the one history is none of the other.
  assert.equal(await open((await fork.checkpoint(20)) + first.text), null)
  assert.equal(await open(await fork.checkpoint(20)), null)
  // The control: the honest log goes on.
  const next = await send(await log.request(20, 40))
  assert.equal((await open((await log.checkpoint(40)) + next.text))?.checkpoint.size, 40)
})

test('each refusal has the status of C2SP tlog-witness', async (t) => {
  const [log, other] = [new TestLog(), new TestLog('other.example/log')]
  const { service, send, key } = await start(t, [log, other])
  assert.equal((await send(await log.request(0, 10))).status, 200)
  const refused = async (body: string, status: number, text: RegExp, type = TEXT) => {
    const answer = await send(body)
    assert.deepEqual([answer.status, answer.type], [status, type], answer.text)
    assert.match(answer.text, text)
  }
  const SIZE = 'text/x.tlog.size'

  // 409, with the size that was cosigned last.
  for (const old of [0, 9, 11]) await refused(await log.request(old, 20), 409, /^10\n$/, SIZE)
  await refused(await other.request(5, 20), 409, /^0\n$/, SIZE)
  // 404
  await refused(await new TestLog('unknown.example/log').request(0, 1), 404, /does not cosign/)
  // 403: another key under the same name; a signature of another text; none at all
  await refused(await new TestLog(log.key.name).request(10, 20), 403, /not signed/)
  const honest = await log.request(10, 20)
  await refused(honest.replace('\n20\n', '\n21\n'), 403, /not signed/)
  await refused(honest.replaceAll('— log.example', '— elsewhere.example'), 403, /not signed/)
  // ... and one that is valid beside one under the same key that is not
  const lines = (await log.checkpoint(19)).split('\n\n')[1]
  await refused(honest + lines, 403, /not signed/)
  // 422
  const checkpoint = await log.checkpoint(20)
  const proof = await log.proof(10, 20)
  const wrong = [[], proof.slice(1), [...proof, proof[0] as Uint8Array], proof.toReversed()]
  wrong.push(await log.proof(11, 20), await log.fork(5).proof(10, 20))
  for (const each of wrong) {
    const body = formatAddCheckpoint({ oldSize: 10, proof: each, checkpoint })
    await refused(body, 422, /proof/)
  }
  const same = await log.checkpoint(10)
  await refused(formatAddCheckpoint({ oldSize: 10, proof, checkpoint: same }), 422, /proof/)
  const early = formatAddCheckpoint({ oldSize: 0, proof, checkpoint: await other.checkpoint(20) })
  await refused(early, 422, /proof/)
  // 409: another root of the size that was cosigned; also of size 0
  await refused(await log.fork(3).request(10, 10), 409, /another root/)
  const notEmpty = other.sign(`${other.key.name}\n0\n${encodeBase64(new Uint8Array(32))}\n`)
  await refused(
    formatAddCheckpoint({ oldSize: 0, proof: [], checkpoint: notEmpty }),
    409,
    /another root/,
  )
  // 400
  for (const body of ['', 'old 10\n', honest.replace('old 10', 'old 010'), `\ufeff${honest}`]) {
    await refused(body, 400, /malformed/)
  }
  await refused(await log.checkpoint(20), 400, /malformed/)
  const beyond = formatAddCheckpoint({ oldSize: 21, proof: [], checkpoint })
  await refused(beyond, 400, /above that of the checkpoint/)
  const noNote = formatAddCheckpoint({ oldSize: 10, proof, checkpoint: 'x\n' })
  await refused(noNote, 400, /malformed/)
  const noCheckpoint = formatAddCheckpoint({ oldSize: 10, proof, checkpoint: log.sign('x\n') })
  await refused(noCheckpoint, 400, /malformed/)
  const latin1 = Buffer.from(honest, 'latin1')
  const notUtf8 = await fetch(`${service.url}/witness/add-checkpoint`, {
    method: 'POST',
    body: latin1,
  })
  assert.equal(notUtf8.status, 400)

  // The control: nothing of that has moved it, and signatures by unknown keys are ignored.
  const stranger = (await new TestLog('stranger.example').checkpoint(20)).split('\n\n')[1]
  const accepted = await send(honest + stranger)
  assert.equal(accepted.status, 200, accepted.text)
  await cosigned(checkpoint, accepted.text, key)
  // Extension lines are cosigned as they are.
  const extended = await other.checkpoint(3, 'an extension\n')
  const body = formatAddCheckpoint({ oldSize: 0, proof: [], checkpoint: extended })
  await cosigned(extended, (await send(body)).text, key)
})

test('a log may have several keys under its name', async (t) => {
  const [log, second] = [new TestLog(), new TestLog()]
  const { send, key } = await start(t, [log, second])
  const line = (await second.checkpoint(5)).split('\n\n')[1] as string
  for (const body of [await log.request(0, 5), await second.request(5, 5)]) {
    const answer = await send(body)
    assert.equal(answer.status, 200, answer.text)
    await cosigned(await log.checkpoint(5), answer.text, key)
  }
  assert.equal((await send((await log.request(5, 5)) + line)).status, 200)
  const wrong = (await second.checkpoint(6)).split('\n\n')[1] as string
  assert.equal((await send((await log.request(5, 5)) + wrong)).status, 403)
})

test('what C2SP does not define is answered as everywhere: methods, length, encodings, too many requests', async (t) => {
  const log = new TestLog()
  const WITNESS_LOGS = witnessLogsFile(t, [log])
  const service = await startTestService(t, { WITNESS_LOGS, RATE_LIMITS: 'witness=6/h' })
  const url = `${service.url}/witness/add-checkpoint`
  const code = async (response: Response) => {
    const { error } = (await response.json()) as { error: { code: string } }
    return [response.status, error.code]
  }
  const get = await fetch(url)
  assert.equal(get.headers.get('allow'), 'POST')
  assert.deepEqual(await code(get), [405, 'METHOD_NOT_ALLOWED'])
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body, headers })
  assert.deepEqual(await code(await post('x'.repeat(65_537))), [413, 'PAYLOAD_TOO_LARGE'])
  const gzip = await post('x', { 'content-encoding': 'gzip' })
  assert.deepEqual(await code(gzip), [415, 'UNSUPPORTED_MEDIA_TYPE'])
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal((await post(await log.request(0, 5), type)).status, 200)
  assert.equal((await post('x'.repeat(65_536))).status, 400)
  const statuses = []
  for (let i = 0; i < 6; i++) statuses.push((await post('x')).status)
  assert.deepEqual([statuses[0], statuses.at(-1)], [400, 429])
  const late = await post('x')
  assert.match(late.headers.get('retry-after') ?? '', /^\d+$/)
  assert.deepEqual(await code(late), [429, 'RATE_LIMITED'])
})

test('without WITNESS_LOGS there is no witness', async (t) => {
  const service = await startTestService(t)
  const answer = await addCheckpoint(service.url, await new TestLog().request(0, 1))
  assert.equal(answer.status, 404)
  assert.equal((await fetch(`${service.url}/witness`)).status, 404)
  const ready = (await (await fetch(`${service.url}/readyz`)).json()) as object
  assert.ok(!('witness' in ready))
})

test('a file of logs with a mistake is refused at the start', async (t) => {
  const file = join(tempDir(t), 'logs')
  const { vkey } = new TestLog()
  const refused = async (text: string, message: RegExp) => {
    writeFileSync(file, text)
    await assert.rejects(startTestService(t, { WITNESS_LOGS: file }), { message })
  }
  await refused('# none\n', /must have lines "log <vkey>", and no others/)
  await refused(`log ${vkey}\nlog ${vkey.slice(0, -1)}\n`, /WITNESS_LOGS: Line 2 of the policy/)
  await refused(`log ${vkey}\nquorum none\n`, /there is a quorum already/)
  await assert.rejects(startTestService(t, { WITNESS_LOGS: `${file}.none` }), {
    message: /WITNESS_LOGS: the file cannot be read \(ENOENT\)/,
  })
})

test('answers are counted', async (t) => {
  const log = new TestLog()
  const METRICS_PORT = String(await freePort())
  const WITNESS_LOGS = witnessLogsFile(t, [log])
  const service = await startTestService(t, { WITNESS_LOGS, METRICS_PORT })
  await addCheckpoint(service.url, await log.request(0, 5))
  await addCheckpoint(service.url, await log.request(5, 6))
  await addCheckpoint(service.url, await log.fork(2).request(6, 6))
  await addCheckpoint(service.url, 'x')
  const lines = (await (await fetch(`http://localhost:${METRICS_PORT}/metrics`)).text()).split('\n')
  const counted = { cosigned: 2, other_root: 1, malformed: 1, inconsistent: 0 }
  for (const [outcome, count] of Object.entries(counted))
    assert.ok(lines.includes(`countersign_witness_answers_total{outcome="${outcome}"} ${count}`))
  assert.ok(lines.includes('countersign_witness_halted 0'))
})
