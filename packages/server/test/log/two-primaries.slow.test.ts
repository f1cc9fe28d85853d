import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { LogReport } from '@countersign/protocol'
import { newKey } from '../../../../test/support/key.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  claimBody,
  countersignd,
  openOperator,
  postJson,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { until, untilTicked } from '../../../../test/support/until.ts'
import { readSettings } from '../../src/base/config.ts'
import { ANCHOR_FILE, LogAnchor } from '../../src/log/anchor.ts'
import { databaseAt, on, startPair, stopReplication } from '../nodes/support.ts'

const WAIT_MS = 30_000

async function checkpointOf({ url }: TestService): Promise<string[]> {
  const response = await fetch(`${url}/log/checkpoint`)
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.text()).split('\n')
}

async function logOf({ url }: TestService) {
  const response = await fetch(`${url}/readyz`)
  return ((await response.json()) as { log: LogReport }).log
}

test(
  'of two primaries that both sequence, a node that has signed for one never signs or serves the other',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby } = await startPair(t)
    const node = await startTestService(t, { DATABASE_URL: databaseAt(primary, standby) })
    const owner = await node.operator.addVerifiedOwner()
    await claimAgent(node, owner)
    await untilLogged(node, 1)
    const published = 'select published_size from log_epochs'
    await until(
      async () => Number((await on(standby, published))[0]?.published_size) === 1,
      WAIT_MS,
    )

    await stopReplication({ primary, standby })
    await claimAgent(node, owner, newKey(), 'at the former primary')
    await untilLogged(node, 2)
    const signed = await checkpointOf(node)
    await on(standby, 'select pg_promote()')

    // The control: a machine with the same keys that has seen nothing of this, and whose operator accepts that, signs the other
    // second entry.
    const dataDir = tempDir(t)
    cpSync(node.env.DATA_DIR as string, dataDir, { recursive: true })
    rmSync(join(dataDir, ANCHOR_FILE))
    const url = databaseAt(standby)
    const other = await startTestService(t, {
      DATA_DIR: dataDir,
      DATABASE_URL: url,
      BASE_URL: node.settings.baseUrl.origin,
    })
    await untilTicked(other, async () => (await logOf(other)).code === 'no-anchor')
    const origin = signed[0] as string
    const careless = await countersignd(other.env, 'log', 'accept', '--accept-fork', origin)
    assert.equal(careless.code, 0, careless.stderr)
    await claimAgent(other, owner, newKey(), 'at the new primary')
    await untilLogged(other, 2)
    const forked = await checkpointOf(other)
    assert.deepEqual(forked.slice(0, 2), signed.slice(0, 2))
    assert.notEqual(forked[2], signed[2])

    await untilTicked(node, async () => (await logOf(node)).state === 'halted')
    assert.match((await logOf(node)).problem ?? '', /were signed or served/)
    assert.equal((await fetch(`${node.url}/log/checkpoint`)).status, 503)
    const anchor = new LogAnchor(node.settings.dataDir).read()
    assert.equal(Buffer.from(anchor?.root ?? []).toString('base64'), signed[2])
  },
)

test(
  'while the outcome of commits is unknown, because waits for the standby are cancelled, nothing is signed',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby } = await startPair(t)
    const node = await startTestService(t, { DATABASE_URL: databaseAt(primary) })
    const operator = await openOperator(readSettings(node.env))
    t.after(() => operator.close())
    const token = await operator.issueToken(await operator.addVerifiedOwner())
    await claimAgent(node, await operator.addVerifiedOwner())
    await untilLogged(node, 1)
    await on(primary, "alter system set synchronous_standby_names = 'standby'")
    await on(primary, 'select pg_reload_conf()')
    await until(async () => {
      const [row] = await on(primary, 'show synchronous_standby_names')
      return row?.synchronous_standby_names === 'standby'
    }, WAIT_MS)
    await standby.stop()

    const claimed = postJson(`${node.url}/api/v1/claim`, claimBody(token))
    const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
    const sizeAtPrimary = async () =>
      Number((await on(primary, 'select size from log_epochs'))[0]?.size)
    // The claim, the sequencer, and what then reads before it signs: all of their waits are cancelled.
    for (let further = 0; further < 5; ) {
      node.tick()
      const cancelled = await on(primary, cancel)
      if ((await sizeAtPrimary()) === 2) further += cancelled.length
    }
    assert.equal((await claimed).status, 503)
    // The control: the primary has the second entry, so a sequencer that only reads it would sign it.
    assert.equal(await sizeAtPrimary(), 2)
    assert.equal((await checkpointOf(node))[1], '1')
    assert.equal(new LogAnchor(node.settings.dataDir).read()?.size, 1)

    await on(primary, "alter system set synchronous_standby_names = ''")
    await on(primary, 'select pg_reload_conf()')
    await untilLogged(node, 2)
    assert.equal(new LogAnchor(node.settings.dataDir).read()?.size, 2)
  },
)
