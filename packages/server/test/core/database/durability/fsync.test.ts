import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SQLITE_ONLY } from '../../../../../../test/support/postgres.ts'
import {
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
  tempDir,
} from '../../../../../../test/support/service.ts'
import { allOf, needs } from '../../../../../../test/support/tools.ts'
import { until } from '../../../../../../test/support/until.ts'
import { readSettings } from '../../../../src/config/config.ts'

test(
  'the disk has a claim before its caller does: fsync comes before the response',
  allOf(SQLITE_ONLY, needs('strace')),
  async (t) => {
    const dir = tempDir(t)
    const service = await startServiceProcess(t, { DATA_DIR: dir })
    const operator = await openOperator(readSettings(service.env))
    const token = await operator.issueToken(await operator.addVerifiedOwner())
    await operator.close()

    const trace = join(dir, 'trace')
    const calls = 'trace=fsync,fdatasync,write,writev,sendto,sendmsg'
    const strace = spawn('strace', [
      ...['-f', '-y', '-s', '32', '-e', calls, '-o', trace, '-p', String(service.child.pid)],
    ])
    t.after(() => strace.kill())
    let said = ''
    strace.stderr.on('data', (chunk) => (said += chunk))
    // It says so once it has all threads.
    await until(async () => / attached/.test(said))
    const response = await postJson(`${service.url}/api/v1/claim`, claimBody(token))
    assert.equal(response.status, 200)
    // What it has seen it writes as it ends.
    strace.kill('SIGINT')
    await new Promise((resolve) => strace.once('exit', resolve))

    const lines = readFileSync(trace, 'utf8').split('\n')
    const synced = lines.findIndex((line) =>
      /f(data)?sync\(\d+<.*countersign\.db-wal>\) += 0/.test(line),
    )
    const answered = lines.findIndex((line) => line.includes('HTTP/1.1 200'))
    assert.ok(synced >= 0, 'the log was not synced')
    assert.ok(answered >= 0, 'the response was not seen')
    assert.ok(synced < answered, `answered at line ${answered}, synced at ${synced}`)
  },
)
