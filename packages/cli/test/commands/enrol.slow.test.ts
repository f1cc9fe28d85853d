import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newTestRule } from '../../../../test/support/enrolment-rule.ts'
import { BASE_ENV } from '../../../../test/support/run.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { COUNTERSIGN, cliFor } from '../support/cli.ts'

for (const [signal, flags, status] of [
  ['SIGTERM', ['--end-on-exit'], 'revoked'],
  ['SIGINT', [], 'active'],
] as const) {
  test(`enrol --hold ${flags.join(' ')} runs until ${signal}, and leaves the agent ${status}`, async (t) => {
    const service = await startTestService(t)
    const { rule, tokenFor } = await newTestRule(service)
    const cli = cliFor(t)
    const token = await tokenFor(rule.audience)
    writeFileSync(join(cli.home, 'token'), token)
    const command = [COUNTERSIGN, 'enrol', '--service', service.url, '--rule', rule.id]
    const options = ['--token-file', 'token', '--key', 'k.pem', '--create-key', '--hold', '--json']
    const child = spawn(process.execPath, [...command, ...options, ...flags], {
      env: { ...BASE_ENV, ...cli.env },
      cwd: cli.home,
    })
    t.after(() => child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk) => (stdout += chunk))
    child.stderr.on('data', (chunk) => (stderr += chunk))
    await until(async () => stdout.endsWith('}\n') || child.exitCode !== null)
    assert.equal(child.exitCode, null, stderr)
    const { did, renewed } = JSON.parse(stdout)
    assert.equal(renewed, false)

    child.kill(signal)
    const [code] = await exited
    assert.equal(code, 0, stderr)
    const ended = `${JSON.stringify({ note: { message: `${did} has ended` } })}\n`
    assert.equal(stderr, status === 'revoked' ? ended : '')
    const answer = await fetch(`${service.url}/api/agents/${did}`)
    assert.equal(((await answer.json()) as { status: string }).status, status)
    assert.ok(!(stdout + stderr).includes(token))
  })
}
