import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { suite, test } from 'node:test'
import { BASE_ENV, run } from '../../../../test/support/run.ts'
import { until } from '../../../../test/support/until.ts'
import { COUNTERSIGN, cliFor } from '../support/cli.ts'

/** A program that asks the mock for an agent, as a test of a site would. */
const ASKS = `
  const { readFileSync } = require('node:fs')
  const { url, agents } = JSON.parse(readFileSync(process.env.COUNTERSIGN_MOCK, 'utf8'))
  if (url !== process.env.COUNTERSIGN_URL) throw new Error(url)
  fetch(url + '/api/v1/agent/' + agents[0].did).then(async (answer) => {
    const { certificate } = await answer.json()
    console.log(JSON.stringify({ url, file: process.env.COUNTERSIGN_MOCK, ...certificate }))
    process.exitCode = 7
  })`

const isServed = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  )

suite('mock', { concurrency: true }, () => {
  test('runs a command with the mock, and ends with its exit code', async (t) => {
    const { env, home } = cliFor(t)
    const args = [COUNTERSIGN, 'mock', '--', process.execPath, '-e', ASKS]
    const { code, stdout, stderr } = await run(process.execPath, args, env, '', {}, home)
    assert.equal(code, 7, stderr)
    const { url, file, status } = JSON.parse(stdout)
    assert.equal(status, 'active')
    assert.equal(await isServed(url), false)
    assert.equal(existsSync(file), false)
  })

  test('says that a command cannot be started', async (t) => {
    const { env, home } = cliFor(t)
    const args = [COUNTERSIGN, 'mock', '--', 'no-such-program', '--port', '1']
    const { code, stderr } = await run(process.execPath, args, env, '', {}, home)
    assert.equal(code, 2)
    assert.match(stderr, /no-such-program cannot be started/)
  })

  test('ends with the process that has started it, also below npx', async (t) => {
    const { env, home } = cliFor(t)
    const mock = `"${process.execPath}" "${COUNTERSIGN}" mock`
    for (const [npm, script] of [
      [{}, `${mock} & wait`],
      // As npx runs it: the program, a shell, npm.
      [{ npm_command: 'exec' }, `sh -c 'sh -c "${mock.replaceAll('"', '\\"')}; :"; :' & wait`],
    ] as const) {
      const options = { env: { ...BASE_ENV, ...env, ...npm }, cwd: home }
      const starter = spawn('sh', ['-c', script], options)
      let output = ''
      starter.stdout.on('data', (chunk) => (output += chunk))
      await until(async () => output.endsWith('}\n'))
      const { url } = JSON.parse(output)
      assert.equal(await isServed(url), true)
      starter.kill('SIGKILL')
      await once(starter, 'exit')
      await until(async () => !(await isServed(url)))
    }
  })
})
