import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { cliPackage, libraryPackage } from '../packages/server/src/base/packages.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { freePort } from './support/ports.ts'
import { nodeOf } from './support/programs.ts'
import { BASE_ENV, type CommandResult, run } from './support/run.ts'
import { claimAgent, ROOT, startTestService, type TestService, tempDir } from './support/service.ts'
import { until } from './support/until.ts'

const cleanup = fileCleanup()

/** A machine with a Node and an empty cache of npm, whose registry cannot be reached. */
interface Machine {
  readonly dir: string
  readonly node: string
  readonly env: Readonly<Record<string, string>>
  npm(...args: string[]): Promise<CommandResult>
  npx(...args: string[]): Promise<CommandResult>
}

function newMachine(t: Parameters<typeof tempDir>[0], major: number): Machine {
  const home = tempDir(t)
  const dir = join(home, 'project')
  mkdirSync(dir)
  const node = nodeOf(major)
  const env = {
    PATH: `${dirname(node)}:${BASE_ENV.PATH}`,
    HOME: home,
    npm_config_registry: 'http://127.0.0.1:1/',
    npm_config_fetch_retries: '0',
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  }
  const npmDir = join(execFileSync('npm', ['root', '-g'], { encoding: 'utf8' }).trim(), 'npm/bin')
  const tool =
    (name: string) =>
    (...args: string[]) =>
      run(node, [join(npmDir, `${name}-cli.js`), ...args], env, '', {}, dir)
  return { dir, node, env, npm: tool('npm'), npx: tool('npx') }
}

for (const major of [20, 24]) {
  test(`in an empty folder on Node ${major}, npx runs the command from the service: keygen, claim, card, mcp`, async (t) => {
    const service = await startTestService(t)
    const token = await service.operator.issueToken(await service.operator.addVerifiedOwner('ada'))
    const machine = newMachine(t, major)
    const npx = cliPackage(service.url)
    const countersign = async (...args: string[]) => {
      const { code, stdout, stderr } = await machine.npx('-y', npx, ...args)
      assert.equal(code, 0, stderr)
      return stdout
    }

    const made = await countersign('keygen')
    assert.match(made, /Key generated/)
    const [, next = ''] = /(npx -y \S+ claim) <token>/.exec(made) ?? assert.fail(made)
    assert.equal(next, `npx -y ${npx} claim`)
    // Neither --url nor COUNTERSIGN_URL: the service that the command came from is meant.
    const claimed = await countersign('claim', token, '--agent-id', 'main')
    const [did = ''] = /svc:agent:\w{24}/.exec(claimed) ?? assert.fail(claimed)
    assert.match(await countersign('card'), new RegExp(did))
    assert.deepEqual(await toolsOf(machine, npx), [
      'claim',
      'explain_grade',
      'fetch',
      'lookup_agent',
      'rotate_key',
      'show_card',
      'sign_challenge',
      'sign_in',
      'verify_agent',
      'whoami',
    ])
    const { verified } = await json(`${service.url}/api/v1/agent/${did}`)
    assert.equal(verified, true)
  })

  test(`on Node ${major}, an Express site installs the gateway from the service, and an agent the SDK`, async (t) => {
    const service = await startTestService(t)
    const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada'))
    const machine = newMachine(t, major)
    await install(machine, service, 'gateway', await packedDependencies())
    await install(machine, service, 'sdk')
    const site = await startExpressSite(t, machine, service)
    const statuses = await Promise.all(
      [{}, { serviceid: did }].map(async (headers) => (await fetch(site, { headers })).status),
    )
    assert.deepEqual(statuses, [401, 200])
    const script = `import { Registry } from '@countersign/sdk'
const { verified } = await new Registry('${service.url}').lookup('${did}')
console.log(verified)`
    const asked = await run(
      machine.node,
      ['--input-type=module', '-e', script],
      machine.env,
      '',
      {},
      machine.dir,
    )
    assert.equal(asked.stdout, 'true\n', asked.stderr)
  })
}

test('a source folder refuses npm pack', async (t) => {
  const env = { ...BASE_ENV, HOME: tempDir(t) }
  for (const manifest of globSync('packages/*/package.json', { cwd: ROOT })) {
    const dir = join(ROOT, dirname(manifest))
    const args = ['pack', '--dry-run', '--pack-destination', tempDir(t)]
    const { code, stderr } = await run('npm', args, env, '', {}, dir)
    assert.notEqual(code, 0, manifest)
    assert.match(stderr, /npm run pack/, manifest)
  }
})

/** Installs a library of the service, with tarballs of what it needs from npm's registry. */
async function install(
  machine: Machine,
  service: TestService,
  name: 'sdk' | 'gateway',
  tarballs: readonly string[] = [],
): Promise<void> {
  const { code, stderr } = await machine.npm(
    'install',
    libraryPackage(name, service.url),
    ...tarballs,
  )
  assert.equal(code, 0, stderr)
}

let packed: Promise<string[]> | undefined

/** Tarballs of Express and of what the libraries need, made of this checkout's copies. @returns the paths */
const packedDependencies = () => (packed ??= packDependencies())

async function packDependencies(): Promise<string[]> {
  const tarballs = tempDir(cleanup)
  const local = ['@noble/curves', '@noble/hashes', ...closureOf('express')]
  const { code, stderr } = await newMachine(cleanup, 24).npm(
    'pack',
    ...local.map((each) => join(ROOT, 'node_modules', each)),
    ...['--ignore-scripts', '--pack-destination', tarballs],
  )
  assert.equal(code, 0, stderr)
  return globSync('*.tgz', { cwd: tarballs }).map((file) => join(tarballs, file))
}

/** A package of this checkout and all that it needs. */
function closureOf(name: string, found = new Set<string>()): string[] {
  if (found.has(name)) return [...found]
  found.add(name)
  const file = join(ROOT, 'node_modules', name, 'package.json')
  const { dependencies = {} } = JSON.parse(readFileSync(file, 'utf8'))
  for (const each of Object.keys(dependencies)) closureOf(each, found)
  return [...found]
}

async function startExpressSite(
  t: Parameters<typeof tempDir>[0],
  machine: Machine,
  service: TestService,
): Promise<string> {
  const port = await freePort()
  const file = join(machine.dir, 'site.mjs')
  writeFileSync(
    file,
    `import express from 'express'
import { gateway } from '@countersign/gateway/express'
const app = express()
app.use(gateway({ service: '${service.url}' }))
app.get('/', (_request, response) => response.send('Welcome'))
app.listen(${port}, 'localhost')`,
  )
  const site = spawn(machine.node, [file], { env: machine.env, stdio: 'inherit' })
  t.after(() => site.kill('SIGKILL'))
  const url = `http://localhost:${port}/`
  await until(async () => {
    assert.equal(site.exitCode, null, 'the site runs')
    return fetch(url).then(
      () => true,
      () => false,
    )
  }, 30_000)
  return url
}

/** Asks `mcp` over standard input and output which tools it has. */
async function toolsOf(machine: Machine, npx: string): Promise<string[]> {
  const clientInfo = { name: 'test', version: '1' }
  const lines = [
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
    },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ].map((each) => JSON.stringify({ jsonrpc: '2.0', ...each }))
  const npxCli = join(
    execFileSync('npm', ['root', '-g'], { encoding: 'utf8' }).trim(),
    'npm/bin/npx-cli.js',
  )
  const child = spawn(machine.node, [npxCli, '-y', npx, 'mcp'], {
    cwd: machine.dir,
    env: machine.env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.stdin.write(`${lines.join('\n')}\n`)
  const answer = () =>
    output
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line))
      .find(({ id }) => id === 2)
  await until(async () => answer() !== undefined, 30_000)
  child.stdin.end()
  await exited
  return answer()
    .result.tools.map(({ name }: { name: string }) => name)
    .toSorted()
}

async function json(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(url)).json()) as Record<string, unknown>
}
