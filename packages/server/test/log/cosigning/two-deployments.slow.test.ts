import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type LogPolicy, type LogReport, openByPolicy, parsePolicy } from '@countersign/protocol'
import { leaveUncompared } from '../../../../../test/support/changes-complete.ts'
import { logInfo, untilLogged, verifyEd25519 } from '../../../../../test/support/log-client.ts'
import {
  claimAgent,
  countersignd,
  openOperator,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { restoreLog, saveLog } from '../support.ts'

interface Party {
  readonly url: string
  readonly env: Record<string, string>
  readonly logKey: string
  readonly witnessKey: string
}

/** Starts once without settings, which makes the keys. */
async function prepare(t: TestContext): Promise<Party> {
  const service = await startTestService(t)
  await untilLogged(service, 0)
  const { url, env } = service
  const { verifierKey: logKey } = await logInfo(url)
  const made = await countersignd(env, 'witness', 'new-key', '--json')
  assert.equal(made.code, 0, made.stderr)
  const { verifierKey: witnessKey } = JSON.parse(made.stdout) as { verifierKey: string }
  await service.stop()
  return { url, env, logKey, witnessKey }
}

/** Both settings are one line about the other. */
function settingsFor(t: TestContext, other: Party): Record<string, string> {
  const [logs, witnesses] = [join(tempDir(t), 'logs'), join(tempDir(t), 'witnesses')]
  writeFileSync(logs, `log ${other.logKey}\n`)
  writeFileSync(witnesses, `witness other ${other.witnessKey} ${other.url}/witness\nquorum other\n`)
  return { WITNESS_LOGS: logs, WITNESSES: witnesses }
}

test('two deployments witness each other, and the log of one that was rolled back with its machine is halted', async (t) => {
  let ahead = 0
  const now = () => Date.now() + ahead
  const [one, two] = [await prepare(t), await prepare(t)]
  const startOne = () => startTestService(t, { ...one.env, ...settingsFor(t, two) }, now)
  let first = await startOne()
  const second = await startTestService(t, { ...two.env, ...settingsFor(t, one) }, now)
  const policyOf = (log: Party, witness: Party): LogPolicy =>
    parsePolicy(`log ${log.logKey}\nwitness w ${witness.witnessKey}\nquorum w\n`)
  const wait = (condition: () => Promise<boolean>) =>
    until(() => {
      // A log with witnesses signs every 10 seconds.
      ahead += 500
      first.tick()
      second.tick()
      return condition()
    })
  const untilWitnessed = (service: TestService, size: number, policy: LogPolicy) =>
    wait(async () => {
      const response = await fetch(`${service.url}/log/checkpoint`)
      if (response.status !== 200) return false
      const opened = await openByPolicy(await response.text(), policy, verifyEd25519)
      return opened?.checkpoint.size === size
    })

  const owner = await first.operator.addVerifiedOwner()
  await claimAgent(first, owner)
  await untilWitnessed(first, 1, policyOf(one, two))
  const head = join(first.settings.dataDir, 'log-head')
  const signed = await (await fetch(`${first.url}/log/checkpoint`)).text()
  assert.equal(await openByPolicy(signed, policyOf(one, one), verifyEd25519), null, 'not by itself')
  const image = { log: await saveLog(first.operator.db), head: readFileSync(head) }
  await claimAgent(first, owner)
  await untilWitnessed(first, 2, policyOf(one, two))

  await first.stop()
  const { db, close } = await openOperator(first.settings)
  await restoreLog(db, image.log)
  await close()
  writeFileSync(head, image.head)
  first = await startOne()
  leaveUncompared(first)
  await claimAgent(first, owner)
  const report = async () =>
    ((await (await fetch(`${first.url}/readyz`)).json()) as { log: LogReport }).log
  await wait(async () => (await report()).state === 'halted')
  assert.match((await report()).problem ?? '', /has cosigned 2 entries/)
  assert.equal((await fetch(`${first.url}/log/checkpoint`)).status, 503)

  // As a witness it goes on.
  await claimAgent(second, await second.operator.addVerifiedOwner())
  await untilWitnessed(second, 1, policyOf(two, one))
})
