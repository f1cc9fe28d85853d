import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { nodeOf, programOf } from '../../../test/support/programs.ts'
import { installPacked, type Packed, succeed } from '../../../test/support/published.ts'
import { claimAgent, ROOT, run, startTestService } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import { snippetsOf } from '../../../test/support/snippets.ts'
import { README } from './support/readme-reference.ts'

let packed: Packed
const ends: (() => unknown)[] = []
const MISSING = 'countersign-gateway: `nonces` needs the package ioredis: npm install ioredis@6'

before(async () => {
  packed = await installPacked({ after: (end) => ends.push(end) }, 'gateway', ['sdk'])
  for (const name of ['express', 'fastify', 'hono', '@hono', '@types']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(packed.dir, 'node_modules', name))
  }
})
after(() => ends.map((end) => end()))

const RUNTIMES: Readonly<Record<string, () => readonly [string, ...string[]]>> = {
  'Node 20': () => [nodeOf(20)],
  'Node 24': () => [nodeOf(24)],
  Bun: () => [programOf('bun')],
  Deno: () => [programOf('deno'), 'run', '--allow-all', '--no-lock'],
}

for (const [name, command] of Object.entries(RUNTIMES)) {
  test(`the published package runs unchanged in ${name}, on the runtime's own server`, async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const [did, revoked] = [await claimAgent(service, owner), await claimAgent(service, owner)]
    await setStatus(service, revoked, 'revoked')
    const script = join(packed.dir, 'everywhere.mjs')
    copyFileSync(join(import.meta.dirname, 'support/everywhere.mjs'), script)
    const [program, ...args] = command()
    const printed = await succeed(program, ...args, script, service.url, did, revoked)
    const told = [
      ['x-serviceid-decision', 'allow'],
      ['x-serviceid-did', did],
      ['x-serviceid-identity-level', 'in-person'],
      ['x-serviceid-issuer', service.url],
      ['x-serviceid-proof', 'none'],
      ['x-serviceid-status', 'active'],
      ['x-serviceid-verified', 'true'],
    ]
    const each = { admitted: [200, [did, told, 'a body'], 'ServiceID'], refused: 403, nobody: 401 }
    assert.deepEqual(JSON.parse(printed), { fetch: each, hono: each })
  })
}

test('the command of the published package runs in Node 20', async (t) => {
  const file = join(packed.dir, 'gateway.json')
  writeFileSync(file, JSON.stringify({ service: 'http://127.0.0.1:1', port: 0, drainSeconds: 0 }))
  const command = join(packed.installed, 'bin/countersign-gateway.mjs')
  assert.match(await succeed(nodeOf(20), command, '--check', '--config', file), /is valid/)
  const child = spawn(nodeOf(20), [command, '--config', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await new Promise<string[]>((resolve) =>
    child.stdout.once('data', (chunk) => resolve(String(chunk).split('\n'))),
  )
  const { event, port } = JSON.parse(line ?? '')
  assert.equal(event, 'listening')
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  assert.equal(await exited, 0)
})

test('the command says what to install if the file names a Redis', async () => {
  const file = join(packed.dir, 'with-redis.json')
  const settings = { service: 'http://127.0.0.1:1', port: 0, nonces: 'redis://127.0.0.1:1' }
  writeFileSync(file, JSON.stringify(settings))
  const command = join(packed.installed, 'bin/countersign-gateway.mjs')
  const { code, stderr } = await run(process.execPath, [command, '--config', file])
  assert.deepEqual([code, stderr.trim()], [1, MISSING])
})

test('publint and arethetypeswrong find nothing', async () => {
  await succeed(programOf('publint'), 'run', packed.tarball, '--strict')
  // The package is ESM only. Node 20.19 and later can also `require` it.
  await succeed(programOf('attw'), packed.tarball, '--profile', 'esm-only')
})

test('the package contains the SDK, loads no framework, and needs Node only for the command', () => {
  const manifest = JSON.parse(readFileSync(join(packed.installed, 'package.json'), 'utf8'))
  assert.deepEqual(Object.keys(manifest.dependencies), ['@noble/curves', '@noble/hashes'])
  assert.deepEqual(readdirSync(packed.installed).sort(), [
    'LICENSE',
    'README.md',
    'bin',
    'lib',
    'package.json',
  ])
  for (const path of readdirSync(join(packed.installed, 'lib'), { recursive: true }) as string[]) {
    if (!path.endsWith('.js')) continue
    const text = readFileSync(join(packed.installed, 'lib', path), 'utf8')
    const isOfCommand = /^(forward-auth|sdk\/src\/node)\//.test(path)
    if (!isOfCommand) assert.doesNotMatch(text, /from "[./]*sdk\/src\/node\//, path)
    const allowed = isOfCommand ? /^(\.|node:|ioredis$)/ : /^(\.|@noble\/)/
    for (const [, specifier = ''] of text.matchAll(/\b(?:from|import\(?)\s*['"](.*?)['"]/g)) {
      assert.match(specifier, allowed, path)
    }
    assert.doesNotMatch(text, /typebox|sourceMappingURL/, path)
    if (!isOfCommand) assert.doesNotMatch(text, /\bBuffer\.|\bprocess\.\w/, path)
  }
})

test('the types compile alone, and every README snippet compiles with them and the types of the frameworks', async () => {
  const strict = {
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    target: 'es2022',
    module: 'nodenext',
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  }
  const tsc = async (name: string, compilerOptions: object, files: readonly string[]) => {
    const config = join(packed.dir, `${name}.json`)
    writeFileSync(
      config,
      JSON.stringify({ compilerOptions: { ...strict, ...compilerOptions }, files }),
    )
    await succeed(process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', config)
  }
  const snippets = snippetsOf(README)
  for (const [name, code] of snippets) writeFileSync(join(packed.dir, name), code)
  const node = { lib: ['es2023'], types: ['node'], skipLibCheck: true }
  await tsc('node', node, [...snippets.keys()])
  // Workers have neither Node's types nor a framework.
  const worker = {
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'webworker'],
    types: [],
  }
  await tsc('worker', { ...worker, skipLibCheck: false }, ['worker.ts'])
})
