import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import {
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
  tempDir,
} from '../../../../../test/support/service.ts'
import { allOf, needs } from '../../../../../test/support/tools.ts'
import { until } from '../../../../../test/support/until.ts'
import { readSettings } from '../../../src/base/config.ts'

test(
  'a claim is synced to disk before its response is sent',
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
    // strace prints this once it has attached to all threads.
    await until(async () => / attached/.test(said))
    const response = await postJson(`${service.url}/api/v1/claim`, claimBody(token))
    assert.equal(response.status, 200)
    // strace writes the trace when it ends.
    strace.kill('SIGINT')
    await new Promise((resolve) => strace.once('exit', resolve))

    const lines = readFileSync(trace, 'utf8').split('\n')
    const synced = lines.findIndex((line) =>
      /f(data)?sync\(\d+<.*countersign\.db-wal>\) += 0/.test(line),
    )
    const answered = lines.findIndex((line) => line.includes('HTTP/1.1 200'))
    assert.ok(synced >= 0, 'the log was not synced')
    assert.ok(answered >= 0, 'the response was not traced')
    assert.ok(synced < answered, `response at line ${answered}, sync at line ${synced}`)
  },
)
