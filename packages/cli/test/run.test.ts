import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { run, tempDir } from '../../../test/support/service.ts'
import { COUNTERSIGN, cliFor, errorIn } from './support/cli.ts'

suite('countersign', () => {
  test('the help lists every command and exit code', async (t) => {
    const cli = cliFor(t)
    const { code, stdout } = await cli.run('--help')
    assert.equal(code, 0)
    const agents = 'keygen claim whoami card sign sign-card delegate end-delegations runtime mcp'
    for (const name of `${agents} lookup verify resolve`.split(' ')) {
      assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
    }
    assert.match(stdout, /Exit codes: 0 done, 1 failure, 2 .*, 3 .*, 4 .*,\n\s+5 /)
    assert.match(
      (await cli.run('sign', '--help')).stdout,
      /so use printf, not echo: a newline is refused/,
    )
    assert.match((await cli.run('--version')).stdout, /^\d+\.\d+\.\d+\n$/)
  })

  test('wrong usage has exit code 2, as text and as JSON', async (t) => {
    const cli = cliFor(t)
    const people = await cli.run('loookup')
    assert.deepEqual([people.code, people.stdout], [2, ''])
    assert.match(people.stderr, /^countersign: unknown command 'loookup'\n.*lookup.*\n.*--help/)
    for (const args of [
      [],
      ['loookup'],
      ['lookup'],
      ['whoami', '--nonsense'],
      ['sign', 'a', 'b'],
    ]) {
      const result = await cli.run(...args, '--json')
      assert.deepEqual([result.code, result.stdout], [2, ''], args.join(' '))
      assert.equal(errorIn(result).code, 'USAGE')
    }
    assert.doesNotMatch((await cli.run('\u001b[2J')).stderr, /\p{Cc}(?<!\n)/u)
  })

  test('only an origin is the address of a service, and plain http is warned about', async (t) => {
    const cli = cliFor(t)
    const did = `svc:agent:${'7'.repeat(24)}`
    for (const url of ['nonsense', 'https://u:secret@id.example', 'https://id.example/x']) {
      const refused = await cli.run('lookup', did, '--url', url)
      assert.equal(refused.code, 2, url)
      assert.doesNotMatch(refused.stderr, /secret/)
    }
    const warned = await cli.run('verify', did, '--url', 'http://id.example')
    assert.equal(warned.code, 0)
    assert.match(warned.stderr, /^countersign: warning: http:\/\/id\.example is not https/)
    for (const url of ['https://id.example', 'http://[::1]:1', '']) {
      assert.equal((await cli.run('verify', did, '--url', url)).stderr, '', url)
    }
  })

  test('an older Node is refused with the version that is needed', async () => {
    const older =
      'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"22.9.0"}})'
    const { code, stderr } = await run(process.execPath, ['--import', older, COUNTERSIGN, '--help'])
    assert.equal(code, 2)
    assert.match(stderr, /^countersign needs Node\.js 24\.19 or later/)
  })

  test('the executable runs through npx from the root of a checkout, and makes and uses a key', async (t) => {
    const home = tempDir(t)
    const env = { HOME: home, npm_config_cache: home }
    const { code, stdout } = await run('npx', ['countersign', '--version'], env)
    assert.equal(code, 0)
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
    const execute = (args: readonly string[], input?: string) =>
      run(process.execPath, [COUNTERSIGN, ...args], { HOME: home }, input)
    const made = await execute(['keygen', '--json'])
    assert.deepEqual([made.code, made.stderr], [0, ''])
    const signed = await execute(['sign', '--unbound', '-', '--json'], 'hello')
    const { publicKey, challenge } = JSON.parse(signed.stdout)
    assert.deepEqual([publicKey, challenge], [JSON.parse(made.stdout).publicKey, 'hello'])
    const refused = await execute(['keygen'])
    assert.deepEqual([refused.code, refused.stdout], [4, ''])
    assert.match(refused.stderr, /^countersign: .*agent\.pem already exists/)
  })
})
