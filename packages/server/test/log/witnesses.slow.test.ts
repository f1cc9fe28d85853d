import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  formatVerifierKey,
  hashLeaf,
  type LogReport,
  openByPolicy,
  parseLogProof,
  parsePolicy,
  verifyLogProof,
} from '@countersign/protocol'
import { certificateOf, decodeJws } from '../../../../test/support/agent-certificates.ts'
import { ask } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { logKey, readLog, untilLogged, verifyEd25519 } from '../../../../test/support/log-client.ts'
import { SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
  tempDir,
  testEnv,
} from '../../../../test/support/service.ts'
import {
  policyFile,
  startTestWitness,
  type TestWitness,
} from '../../../../test/support/test-witness.ts'
import { until, untilTicked } from '../../../../test/support/until.ts'
import { readSettings, SettingsError } from '../../src/base/config.ts'
import { ANCHOR_FILE } from '../../src/log/anchor.ts'
import { currentEpoch } from '../../src/log/log-table.ts'
import { readWitnesses } from '../../src/log/witnesses/witness-policy.ts'
import { startWithWorkers } from '../service/cluster/worker-service.ts'
import { mirrorOf } from './mirror-of.ts'

/** Longer than between two checkpoints, than a witness that fails is left alone, and than this test takes: commands have the real clock. */
const STEP_MS = 600_000

async function readiness({ url }: Pick<TestService, 'url'>): Promise<LogReport> {
  return ((await (await fetch(`${url}/readyz`)).json()) as { log: LogReport }).log
}

/** A clock that stands still unless the test moves it. */
function stoppedClock() {
  const clock = { at: Math.floor(Date.now() / 1000) * 1000, now: () => clock.at }
  return clock
}

async function startWitnessed(
  t: TestContext,
  names: readonly string[],
  quorum: string,
  env: Readonly<Record<string, string>> = {},
) {
  const clock = stoppedClock()
  const witnesses: TestWitness[] = []
  for (const name of names) witnesses.push(await startTestWitness(t, name, clock.now))
  const WITNESSES = policyFile(t, witnesses.map(({ line }) => line).join('') + quorum)
  const service = await startTestService(t, { WITNESSES, ...env }, clock.now)
  const owner = await service.operator.addVerifiedOwner()
  const grow = async (size: number) => {
    await untilTicked(service, async () => (await sequenced(service)) === size)
    clock.at += STEP_MS
    await untilLogged(service, size)
  }
  return { clock, witnesses, service, owner, grow }
}

const sequenced = async ({ operator }: TestService) =>
  (await currentEpoch(operator.db.read))?.size ?? 0

test('nothing is served before the quorum has cosigned it, and nothing beyond it', async (t) => {
  const quorum = 'group both all a b\nquorum both\n'
  const { clock, witnesses, service, owner, grow } = await startWitnessed(t, ['a', 'b'], quorum)
  const [, b] = witnesses as [TestWitness, TestWitness]
  b.instead = () => ({ status: 503 })
  const key = newKey()
  const did = await claimAgent(service, owner, key)
  await untilTicked(service, async () => (await sequenced(service)) === 1)
  await untilTicked(
    service,
    async () => (await readiness(service)).witnesses[1]?.state === 'failing',
  )
  const { state, size, witnesses: reported } = await readiness(service)
  assert.deepEqual([state, size, reported[0]?.state], ['starting', 0, 'ok'])
  for (const path of ['checkpoint', `proof/${did}`, `agent/${did}`, 'tile/0/000.p/1'])
    assert.equal((await ask(service, `/log/${path}`)).status, 503, path)
  assert.equal(decodeJws(await certificateOf(service, did)).claims.log, undefined)
  assert.equal((await ask(service, `/api/v1/agent/${did}`)).status, 200, 'the service goes on')

  b.instead = null
  await grow(1)
  const log = await logKey(service.url)
  const line = `log ${formatVerifierKey(log)}\n`
  const policy = parsePolicy(line + witnesses.map((each) => each.line).join('') + quorum)
  const { text: signed } = await ask(service, '/log/checkpoint')
  const opened = await openByPolicy(signed, policy, verifyEd25519)
  const named = opened?.cosignatures.map(({ witness, time }) => [witness.name, time * 1000])
  assert.deepEqual(named, [
    ['a', clock.at],
    ['b', clock.at],
  ])
  const proof = parseLogProof((await ask(service, `/log/proof/${did}`)).text)
  assert.ok(proof?.extra)
  assert.ok(await verifyLogProof(proof, hashLeaf(proof.extra), log, verifyEd25519))
  assert.ok(await openByPolicy(proof.checkpoint, policy, verifyEd25519))
  const { claims } = decodeJws(await certificateOf(service, did))
  assert.deepEqual(claims.log, { origin: log.name, index: 0 })

  const next = await claimAgent(service, owner, newKey(), 'next')
  await untilTicked(service, async () => (await sequenced(service)) === 2)
  assert.equal((await ask(service, '/log/tile/0/000.p/2')).status, 404)
  assert.equal((await ask(service, '/log/tile/entries/000.p/2')).status, 404)
  assert.equal((await ask(service, `/log/proof/${next}`)).status, 503)
  assert.match((await ask(service, `/log/agent/${next}`)).text, /"entries":\[\]/)
  assert.equal(decodeJws(await certificateOf(service, next)).claims.log, undefined)
  assert.equal((await ask(service, '/log/checkpoint')).text, signed)
  // The control: the next checkpoint has it.
  await grow(2)
  assert.equal((await ask(service, '/log/tile/0/000.p/2')).status, 200)
  await readLog(`${service.url}/log`, log)
})

test(
  'a machine that was restored as a whole stays halted until the log is recovered, if a witness is required',
  SQLITE_ONLY,
  async (t) => {
    const dir = tempDir(t)
    const env = { LOG_REQUIRE_WITNESS: '1' }
    const { clock, service, owner, grow } = await startWitnessed(t, ['a'], 'quorum a\n', env)
    await claimAgent(service, owner)
    await grow(1)
    const backup = join(dir, 'backup.db')
    assert.equal((await countersignd(service.env, 'backup', backup)).code, 0)
    const lost = await claimAgent(service, owner, newKey(), 'lost')
    await grow(2)
    const mirror = await mirrorOf(service, join(dir, 'mirror'))
    const before = await readLog(`${service.url}/log`, await logKey(service.url))
    await service.stop()
    assert.equal((await countersignd(service.env, 'restore', backup)).code, 3)
    rmSync(join(service.settings.dataDir, ANCHOR_FILE))

    clock.at += STEP_MS
    const restored = await startTestService(t, service.env, clock.now)
    await claimAgent(restored, owner, newKey(), 'next')
    await untilTicked(restored, async () => (await readiness(restored)).code === 'witness')
    const { problem, witnesses } = await readiness(restored)
    assert.match(problem ?? '', /a\.example\/witness has cosigned 2 entries of the log/)
    assert.equal(witnesses[0]?.state, 'refusing')
    assert.equal((await ask(restored, '/log/checkpoint')).status, 503)
    assert.equal(await sequenced(restored), 1, 'entries stay queued')
    const doctor = await countersignd(restored.env, 'doctor')
    assert.match(
      doctor.stdout,
      /fail {2}witnesses of the log: .*a\.example\/witness has cosigned 2 entries/,
    )
    await restored.stop()

    const recovered = await countersignd(service.env, 'log', 'recover', '--from', mirror)
    assert.equal(recovered.code, 0, recovered.stderr)
    assert.ok(recovered.stdout.includes(lost))
    clock.at += STEP_MS
    const again = await startTestService(t, service.env, clock.now)
    await untilTicked(again, async () => (await sequenced(again)) === 3)
    clock.at += STEP_MS
    await untilLogged(again, 3)
    const after = await readLog(`${again.url}/log`, await logKey(again.url))
    assert.deepEqual(after.entries.slice(0, 2), before.entries)
    assert.match(
      (await countersignd(again.env, 'doctor')).stdout,
      /ok {4}witnesses of the log: all 1 have/,
    )
    await again.stop()

    // The control: without a witness, an operator who accepts what the machine has lets it sign another second entry.
    assert.equal((await countersignd(service.env, 'restore', backup)).code, 3)
    rmSync(join(service.settings.dataDir, ANCHOR_FILE))
    const { WITNESSES: _, LOG_REQUIRE_WITNESS: __, ...unwitnessed } = service.env
    const careless = await startTestService(t, unwitnessed, clock.now)
    await claimAgent(careless, owner, newKey(), 'another')
    await untilTicked(careless, async () => (await readiness(careless)).code === 'no-anchor')
    const accepted = await countersignd(unwitnessed, 'log', 'accept', '--accept-fork', after.origin)
    assert.equal(accepted.code, 0, accepted.stderr)
    await untilLogged(careless, 2)
    const fork = await readLog(`${careless.url}/log`, await logKey(careless.url))
    assert.notDeepEqual(fork.entries[1], before.entries[1])
  },
)

test('all workers serve the checkpoint that the quorum has cosigned, and stop together', async (t) => {
  const witness = await startTestWitness(t, 'a')
  const WITNESSES = policyFile(t, `${witness.line}quorum a\n`)
  const env = { WITNESSES, LOG_REQUIRE_WITNESS: '1' }
  const service = await startWithWorkers(t, 2, env)
  await until(async () => (await fetch(`${service.url}/log/checkpoint`)).status === 200)
  const checkpoints = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const response = await fetch(`${service.url}/log/checkpoint`, {
        headers: { connection: 'close' },
      })
      return response.status === 200 ? (await response.text()).split('\n— ').length : 503
    }),
  )
  assert.ok(checkpoints.includes(3), 'with the cosignature')
  await until(async () => {
    const text = await service.metrics()
    const reports = [...text.matchAll(/^countersign_log_witness_lag\{.*witness="a\.example/gm)]
    return reports.length === 2
  })
  const [known] = witness.cosigned.values()
  assert.ok(known)
  witness.cosigned.set(known.origin, { ...known, size: known.size + 100 })
  await service.operator.db.write(async (tx) => {
    // As if the next checkpoint were due.
    await tx.db.updateTable('log_witnesses').set({ answered_at: 0, cosignature: null }).execute()
  })
  await until(async () => {
    const text = await service.metrics()
    return [...text.matchAll(/^countersign_log_halted\{.*\} 1$/gm)].length === 2
  })
  assert.equal((await fetch(`${service.url}/log/checkpoint`)).status, 503)
})

test('settings of witnesses that cannot work are refused at start', async (t) => {
  const { vkey, line } = await startTestWitness(t, 'a')
  const env = await testEnv(t)
  const read = (lines: string, more: Readonly<Record<string, string>> = {}) =>
    readWitnesses(readSettings({ ...env, WITNESSES: policyFile(t, lines), ...more }))
  const BASE_URL = 'https://id.example'
  const named = (url: string) => `witness a ${vkey} ${url}\nquorum a\n`
  assert.equal(read(`${line}quorum a\n`)?.witnesses.length, 1, 'http on loopback, in development')
  assert.equal(read(named('https://w.example/x'), { BASE_URL })?.quorum, 'a')
  const refused = (lines: string, wrong: RegExp, more: Readonly<Record<string, string>> = {}) =>
    assert.throws(
      () => read(lines, more),
      (error) => error instanceof SettingsError && wrong.test(error.message),
    )
  refused(`${line}quorum a\n`, /must use https/, { BASE_URL })
  refused(named('http://w.example/'), /must use https/, { BASE_URL })
  refused(named('https://127.0.0.1/'), /not the name of a host/, { BASE_URL })
  refused(named('https://w.example:8443/'), /port 443/, { BASE_URL })
  refused(named('https://u:p@w.example/'), /password/, { BASE_URL })
  refused(named('https://w.example/?a=b'), /no query/, { BASE_URL })
  refused(named('x'), /is none/)
  refused(`witness a ${vkey}\nquorum a\n`, /is missing/)
  refused('quorum none\n', /from 1 to 16/)
  refused(`${line}quorum b\n`, /Line 2/)
  refused(`${line}quorum none\n`, /quorum other than none/, { LOG_REQUIRE_WITNESS: '1' })
  const required = { ...env, LOG_REQUIRE_WITNESS: '1' }
  assert.throws(() => readSettings(required), /LOG_REQUIRE_WITNESS must be 0 unless WITNESSES/)
  const missing = { ...env, WITNESSES: join(env.DATA_DIR as string, 'none.txt') }
  assert.throws(() => readWitnesses(readSettings(missing)), /cannot be read \(ENOENT\)/)
  await assert.rejects(startTestService(t, missing), /cannot be read/)
})
