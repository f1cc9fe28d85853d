import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { run, startTestService } from '../../../../test/support/service.ts'
import { COUNTERSIGN, certifiedCli, cliFor } from '../support/cli.ts'
import { INITIALIZE, jsonRpc, toolCall } from '../support/mcp.ts'

const TOKEN = `svc-verify-${'0f'.repeat(16)}`

suite('countersign mcp over standard input and output', () => {
  test('writes nothing but protocol, answers all that was asked, and ends with its input', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const cli = await certifiedCli(t, service, owner)
    const nonsense = ['', '{', TOKEN, '[1]', `{"jsonrpc":"2.0","id":9,"result":"${TOKEN}"}`]
    const calls = [1, 2, 3, 4].map((id) => toolCall(id, 'whoami', {}))
    const input = [INITIALIZE, ...nonsense.map((line) => `${line}\n`), ...calls].join('')
    const { code, stdout, stderr } = await cli.runWithInput(input, 'mcp', '--json')
    assert.equal(code, 0)
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    for (const { jsonrpc } of answers) assert.equal(jsonrpc, '2.0')
    assert.deepEqual(answers.map(({ id }) => id).sort(), [0, 1, 2, 3, 4])
    for (const { result } of answers.slice(1)) assert.equal(result.structuredContent.did, cli.did)
    const log = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).note.message)
    assert.deepEqual([...new Set(log)], ['ignored a message that is not valid'])
    assert.ok(!stderr.includes('0f0f'))
  })

  test('warns on standard error alone', async (t) => {
    const cli = cliFor(t, { COUNTERSIGN_URL: 'http://id.example' })
    const { code, stdout, stderr } = await cli.runWithInput(INITIALIZE, 'mcp')
    assert.equal(code, 0)
    assert.equal(JSON.parse(stdout).result.serverInfo.name, 'countersign')
    assert.match(stderr, /^countersign: warning: http:\/\/id\.example is not https/)
  })

  test('ends at SIGTERM, and where nobody reads any more, without a trace', async (t) => {
    const cli = cliFor(t)
    const start = () => {
      const child = spawn(process.execPath, [COUNTERSIGN, 'mcp'], { env: { ...cli.env } })
      t.after(() => child.kill('SIGKILL'))
      let stderr = ''
      child.stderr.on('data', (chunk) => (stderr += chunk))
      return { child, exit: once(child, 'close'), stderr: () => stderr }
    }
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { child, exit, stderr } = start()
      child.stdin.write(INITIALIZE)
      await once(child.stdout, 'data')
      child.kill(signal)
      assert.deepEqual(await exit, [0, null])
      assert.equal(stderr(), '')
    }
    const { child, exit, stderr } = start()
    child.stdin.write(INITIALIZE)
    await once(child.stdout, 'data')
    child.stdout.destroy()
    // A pipe breaks at the write after the reader has gone.
    for (let i = 1; i < 50; i++) child.stdin.write(jsonRpc(i, 'tools/list'))
    child.stdin.on('error', () => undefined).end()
    assert.deepEqual(await exit, [0, null])
    assert.equal(stderr(), '')
  })

  test('is loaded by no other command', async () => {
    const refuse = `import { registerHooks } from 'node:module'
      registerHooks({ resolve(name, context, next) {
        if (/^(@modelcontextprotocol|zod|express|hono)/.test(name)) throw new Error('loaded ' + name)
        return next(name, context)
      } })`
    const hooks = `data:text/javascript,${encodeURIComponent(refuse)}`
    const start = (...args: string[]) =>
      run(process.execPath, ['--import', hooks, COUNTERSIGN, ...args])
    for (const args of [['--version'], ['--help'], ['mcp', '--help']]) {
      assert.deepEqual([(await start(...args)).code, args], [0, args])
    }
    const { code, stderr } = await start('mcp')
    assert.equal(code, 1)
    assert.match(stderr, /loaded (@modelcontextprotocol|zod)/)
  })
})
