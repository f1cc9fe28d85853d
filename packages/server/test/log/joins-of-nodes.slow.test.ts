import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { LogReport } from '@countersign/protocol'
import { leaveUncompared } from '../../../../test/support/changes-complete.ts'
import { newKey } from '../../../../test/support/key.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { ANCHOR_FILE } from '../../src/log/anchor.ts'
import { openMirror } from '../../src/log/mirror.ts'
import { recoverLog } from '../../src/log/recover-log.ts'
import { mirrorOf } from './mirror-of.ts'
import { backUp, putBack } from './restored.ts'

const logOf = async ({ url }: TestService): Promise<LogReport> =>
  ((await (await fetch(`${url}/readyz`)).json()) as { log: LogReport }).log

/** The second node, where both tick. */
function both(first: TestService, second: TestService) {
  const tick = () => {
    first.tick()
    second.tick()
  }
  return { url: second.url, tick }
}

test(
  'of two nodes on PostgreSQL the second joins; after a rollback with one pod still anchored, none goes on until the log is recovered',
  POSTGRES_ONLY,
  async (t) => {
    const first = await startTestService(t)
    const owner = await first.operator.addVerifiedOwner()
    await claimAgent(first, owner)
    await untilLogged(first, 1)
    /** A pod: the keys, and nothing that it has seen itself. */
    const pod = async () => {
      const DATA_DIR = tempDir(t)
      cpSync(first.settings.dataDir, DATA_DIR, { recursive: true })
      rmSync(join(DATA_DIR, ANCHOR_FILE))
      const { DATABASE_URL = '' } = first.env
      const BASE_URL = first.settings.baseUrl.origin
      const started = await startTestService(t, { DATA_DIR, DATABASE_URL, BASE_URL })
      leaveUncompared(started)
      return started
    }
    const second = await pod()
    await untilLogged(both(first, second), 1)
    const { db } = first.operator
    const backup = await backUp(db)
    await claimAgent(first, owner, newKey(), 'lost')
    await untilLogged(first, 2)
    const mirror = await mirrorOf(first, tempDir(t))
    await second.stop()
    leaveUncompared(first)

    await putBack(db, backup)
    await untilTicked(first, async () => (await logOf(first)).code === 'behind')
    const third = await pod()
    await untilTicked(third, async () => (await logOf(third)).code === 'no-anchor')
    first.tick()
    third.tick()
    assert.deepEqual(
      [(await logOf(first)).code, (await logOf(third)).code],
      ['behind', 'no-anchor'],
    )
    assert.equal((await fetch(`${third.url}/log/checkpoint`)).status, 503)

    const { naming, dataDir } = first.settings
    const deps = { db, dataDir, naming, now: Date.now }
    const { entries, unknown } = await recoverLog(deps, openMirror(mirror))
    assert.deepEqual([entries, unknown.length], [1, 1])
    await untilLogged(first, 2)
    await untilLogged(both(first, third), 2)
  },
)
