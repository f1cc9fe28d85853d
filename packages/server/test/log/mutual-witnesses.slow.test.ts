import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  formatVerifierKey,
  type LogReport,
  openByPolicy,
  parsePolicy,
  parseVerifierKey,
} from '@countersign/protocol'
import { logKey, readLog, untilLogged, verifyEd25519 } from '../../../../test/support/log-client.ts'
import {
  claimAgent,
  openOperator,
  startTestService,
  type TestService,
  tempDir,
  testEnv,
} from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { ANCHOR_FILE } from '../../src/log/anchor.ts'
import { currentEpoch } from '../../src/log/log-table.ts'
import { restoreLog, saveLog } from './support.ts'

/** Longer than between two checkpoints, and than a witness that fails is left alone. */
const STEP_MS = 61_000

const clock = { at: Date.UTC(2026, 0, 5) }
const now = () => clock.at

async function report({ url }: TestService): Promise<LogReport> {
  return ((await (await fetch(`${url}/readyz`)).json()) as { log: LogReport }).log
}

async function witnessKeyOf({ url }: TestService): Promise<string> {
  return ((await (await fetch(`${url}/witness`)).json()) as { verifierKey: string }).verifierKey
}

/** Claims an agent, and waits for a checkpoint that has it. */
async function grow(service: TestService, size: number): Promise<void> {
  await claimAgent(service, await service.operator.addVerifiedOwner())
  await untilTicked(
    service,
    async () => (await currentEpoch(service.operator.db.read))?.size === size,
  )
  clock.at += STEP_MS
  await untilLogged(service, size)
}

test('two deployments witness each other, and one notices that the other was rolled back', async (t) => {
  const file = (name: string) => join(dir, name)
  const dir = tempDir(t)
  const stranger = { name: 'x/log/1', type: 'ed25519', publicKey: randomBytes(32) } as const
  const begin = async (name: string) => {
    const WITNESS_LOGS = file(`${name}-logs`)
    writeFileSync(WITNESS_LOGS, `log ${formatVerifierKey(stranger)}\n`)
    const env = await testEnv(t, { WITNESS_LOGS })
    const service = await startTestService(t, env, now)
    await untilLogged(service, 0)
    const line = `witness ${name} ${await witnessKeyOf(service)} ${service.url}/witness\n`
    const known = { env, line, log: formatVerifierKey(await logKey(service.url)) }
    await service.stop()
    return known
  }
  const [one, two] = [await begin('one'), await begin('two')]
  const start = async (own: typeof one, name: string, other: typeof one, otherName: string) => {
    writeFileSync(file(`${name}-logs`), `log ${other.log}\n`)
    const WITNESSES = file(`${name}-witnesses`)
    writeFileSync(WITNESSES, `${other.line}quorum ${otherName}\n`)
    return startTestService(t, { ...own.env, WITNESSES, LOG_REQUIRE_WITNESS: '1' }, now)
  }
  const a = await start(one, 'one', two, 'two')
  const b = await start(two, 'two', one, 'one')
  await grow(a, 1)
  await grow(b, 1)
  const image = await saveLog(b.operator.db)
  await grow(b, 2)
  for (const [{ url }, own, other, name] of [
    [a, one, two, 'two'],
    [b, two, one, 'one'],
  ] as const) {
    const { signed } = await readLog(`${url}/log`, parseVerifierKey(own.log) ?? assert.fail())
    const policy = parsePolicy(`log ${own.log}\n${other.line}quorum ${name}\n`)
    const opened = await openByPolicy(signed, policy, verifyEd25519)
    assert.equal(opened?.cosignatures.length, 1)
    const swapped = parsePolicy(
      `log ${own.log}\n${own.line}quorum ${name === 'one' ? 'two' : 'one'}\n`,
    )
    assert.equal(await openByPolicy(signed, swapped, verifyEd25519), null, 'not by itself')
  }

  await b.stop()
  const operator = await openOperator(b.settings, now)
  await restoreLog(operator.db, image)
  await operator.close()
  rmSync(join(b.settings.dataDir, ANCHOR_FILE), { force: true })
  clock.at += STEP_MS
  const restored = await start(two, 'two', one, 'one')
  await untilTicked(restored, async () => (await report(restored)).state === 'halted')
  assert.match((await report(restored)).problem ?? '', /has cosigned 2 entries/)
  assert.equal((await fetch(`${restored.url}/log/checkpoint`)).status, 503)
  // As a witness, it goes on.
  await grow(a, 2)
})
