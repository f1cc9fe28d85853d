import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SQLITE_ONLY } from '../../../../../../test/support/postgres.ts'
import {
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
  tempDir,
} from '../../../../../../test/support/service.ts'
import { needTool } from '../../../../../../test/support/tools.ts'
import { readSettings } from '../../../../src/config/config.ts'

test('a claim is synced to disk before its response is sent', SQLITE_ONLY, async (t) => {
  needTool('strace')
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
  await new Promise((resolve) => strace.stderr.once('data', resolve))
  await sleep(100)
  const response = await postJson(`${service.url}/api/v1/claim`, claimBody(token))
  assert.equal(response.status, 200)
  await sleep(200)
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
})
