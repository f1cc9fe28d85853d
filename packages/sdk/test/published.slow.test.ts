import assert from 'node:assert/strict'
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { build } from 'vite'
import { nodeOf, programOf } from '../../../test/support/programs.ts'
import { installPacked, type Packed, succeed } from '../../../test/support/published.ts'
import { ROOT, startTestService, tempDir } from '../../../test/support/service.ts'
import { snippetsOf } from '../../../test/support/snippets.ts'

let packed: Packed

const ends: (() => unknown)[] = []

before(async () => {
  packed = await installPacked({ after: (end) => ends.push(end) }, 'sdk')
})

after(() => ends.map((end) => end()))

const RUNTIMES: Readonly<Record<string, () => readonly [string, ...string[]]>> = {
  'Node 20': () => [nodeOf(20)],
  'Node 24': () => [nodeOf(24)],
  Bun: () => [programOf('bun')],
  Deno: () => [programOf('deno'), 'run', '--allow-all', '--no-lock'],
}

for (const [name, command] of Object.entries(RUNTIMES)) {
  test(`the published form runs unchanged in ${name}`, async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const script = join(packed.dir, 'everywhere.mjs')
    copyFileSync(join(import.meta.dirname, 'support/everywhere.mjs'), script)
    const token = await service.operator.issueToken(owner)
    const [program, ...args] = command()
    const keyFile = join(tempDir(t), 'agent.pem')
    const printed = await succeed(program, ...args, script, service.url, token, keyFile)
    const { claimed, ...rest } = JSON.parse(printed)
    assert.match(claimed, /^svc:agent:/)
    assert.equal(statSync(keyFile).mode & 0o777, 0o600)
    assert.deepEqual(rest, {
      lookedUp: claimed,
      again: true,
      self: claimed,
      header: claimed,
      signed: true,
      verified: true,
      twice: 'CHALLENGE_SPENT',
      session: claimed,
      proof: ['verified', 'checked', 'checked', 'replay'],
      fetched: 200,
      certified: [claimed, claimed],
      grade: true,
      sameKey: true,
      revoked: false,
      errors: ['NOT_FOUND', 'TIMEOUT', 'NETWORK', 'ABORTED', 'WRONG_AUDIENCE'],
    })
  })
}

test('publint and arethetypeswrong find nothing', async () => {
  await succeed(programOf('publint'), 'run', packed.tarball, '--strict')
  // An ESM package: Node 20.19 and later also `require` it.
  await succeed(programOf('attw'), packed.tarball, '--profile', 'esm-only')
})

const OWN = /^(\.|@noble\/)/
/** What entry points import besides, by their name. */
const PEERS = new Map([
  ['node', /^(\.|node:)/],
  ['ai-sdk', /^(\.|ai$)/],
  ['openai-agents', /^(\.|zod$|@openai\/agents$)/],
  ['tools', /^(\.|zod$)/],
  ['langchain', /^(\.|@langchain\/core\/)/],
])

test('the package is its files and two dependencies; only ./node needs Node', () => {
  const manifest = JSON.parse(readFileSync(join(packed.installed, 'package.json'), 'utf8'))
  assert.deepEqual(Object.keys(manifest.dependencies), ['@noble/curves', '@noble/hashes'])
  assert.equal(manifest.sideEffects, false)
  assert.equal(manifest.private, undefined)
  assert.deepEqual(readdirSync(packed.installed).sort(), [
    'LICENSE',
    'README.md',
    'lib',
    'package.json',
  ])
  for (const path of readdirSync(join(packed.installed, 'lib'), { recursive: true }) as string[]) {
    if (!/\.(js|ts)$/.test(path)) continue
    const text = readFileSync(join(packed.installed, 'lib', path), 'utf8')
    const allowed = PEERS.get(/^[a-z-]+/.exec(path)?.[0] ?? '') ?? OWN
    for (const [, specifier = ''] of text.matchAll(/\b(?:from|import\(?)\s*['"](.*?)['"]/g)) {
      assert.match(specifier, allowed, path)
    }
    assert.doesNotMatch(text, /typebox|sourceMappingURL/, path)
    if (!/^node[/.]/.test(path)) assert.doesNotMatch(text, /\bBuffer\.|\bprocess\.\w/, path)
  }
})

interface Chunk {
  readonly fileName: string
  readonly isEntry: boolean
  readonly imports: readonly string[]
  readonly code: string
}

test('a bundle holds what it uses: who reads a header loads no client and no curve', async (t) => {
  const dir = tempDir(t)
  symlinkSync(join(packed.dir, 'node_modules'), join(dir, 'node_modules'))
  const sizeOf = async (code: string) => {
    const entry = join(dir, 'entry.js')
    writeFileSync(entry, code)
    const result = await build({
      root: dir,
      configFile: false,
      logLevel: 'error',
      build: { write: false, lib: { entry, formats: ['es'], fileName: 'out' } },
    })
    const [{ output }] = result as unknown as [{ output: Chunk[] }]
    // What it loads later, if it is needed, is in files of its own.
    const names = new Set(output.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName))
    for (const { fileName, imports } of output) {
      if (names.has(fileName)) for (const name of imports) names.add(name)
    }
    const loaded = output.filter(({ fileName }) => names.has(fileName))
    return loaded.map(({ code }) => code).join('').length
  }
  const all = await sizeOf("export * from '@countersign/sdk'")
  const header = await sizeOf("export { identifiedDid } from '@countersign/sdk'")
  const registry = await sizeOf("export { Registry } from '@countersign/sdk'")
  assert.ok(header < 4_000, `${header} bytes`)
  assert.ok(registry < 52_000, `${registry} bytes`)
  assert.ok(all > registry && registry > header)
})

const STRICT = {
  strict: true,
  skipLibCheck: false,
  noEmit: true,
  target: 'es2022',
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
}

test('the types hold by themselves, in Node and in a browser; every snippet of the README fits them', async (t) => {
  const dir = tempDir(t)
  const modules = join(dir, 'node_modules')
  cpSync(join(packed.dir, 'node_modules'), modules, { recursive: true, verbatimSymlinks: true })
  // The sites of the README use these.
  mkdirSync(join(modules, '@hono'))
  for (const name of ['fastify', 'hono', '@hono/node-server'])
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  const tsc = async (name: string, compilerOptions: object, files: readonly string[]) => {
    const config = join(dir, `${name}.json`)
    writeFileSync(
      config,
      JSON.stringify({ compilerOptions: { ...STRICT, ...compilerOptions }, files }),
    )
    await succeed(process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', config)
  }
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  const snippets = snippetsOf(join(ROOT, 'packages/sdk/README.md'))
  for (const [name, code] of snippets) writeFileSync(join(dir, name), code)
  const types = { types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] }
  const nodenext = { module: 'nodenext', lib: ['es2023'], ...types }
  const names = [...snippets.keys()]
  const withFramework = names.filter((name) =>
    /from '(fastify|hono)'/.test(snippets.get(name) ?? ''),
  )
  const alone = names.filter((name) => !withFramework.includes(name))
  await tsc('node', nodenext, alone)
  // The types of these frameworks need the library `dom`.
  await tsc('frameworks', { ...nodenext, skipLibCheck: true }, withFramework)
  const browser = {
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'dom'],
    types: [],
  }
  writeFileSync(join(dir, 'browser.ts'), "export * from '@countersign/sdk'\n")
  await tsc('browser', browser, ['browser.ts'])
  await tsc('worker', { ...browser, lib: ['es2023', 'webworker'] }, ['browser.ts'])
})
