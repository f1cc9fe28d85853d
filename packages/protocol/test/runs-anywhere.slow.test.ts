import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { vectorsDirectory } from './support/vectors.ts'

const run = promisify(execFile)
const fromRoot = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

let directory: string
let compiled: string

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-protocol-'))
  compiled = join(directory, 'out')
  await symlink(fromRoot('node_modules'), join(directory, 'node_modules'))
  await writeFile(join(directory, 'package.json'), '{"type":"module"}')
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(tsconfig()))
  await run(process.execPath, [fromRoot('node_modules/typescript/bin/tsc'), '-p', directory])
})

after(() => rm(directory, { recursive: true, force: true }))

/** No types of Node are in scope, so that a global which only Node has does not compile. */
function tsconfig() {
  return {
    extends: fromRoot('packages/protocol/tsconfig.json'),
    compilerOptions: {
      target: 'es2023',
      noEmit: false,
      removeComments: true,
      rewriteRelativeImportExtensions: true,
      rootDir: fromRoot('packages/protocol/src'),
      outDir: compiled,
    },
    include: [fromRoot('packages/protocol/src')],
  }
}

async function emittedFiles(): Promise<{ file: string; text: string }[]> {
  const names = await readdir(compiled, { recursive: true })
  const files = names.filter((name) => name.endsWith('.js'))
  assert.ok(files.includes('index.js') && files.length > 15)
  return Promise.all(
    files.map(async (file) => ({ file, text: await readFile(join(compiled, file), 'utf8') })),
  )
}

test('the compiled package imports its own files, typebox and noble, and nothing else', async () => {
  for (const { file, text } of await emittedFiles()) {
    for (const [, specifier = ''] of text.matchAll(/\b(?:from|import)\s*\(?\s*['"](.*?)['"]/g)) {
      assert.match(specifier, /^(\.\.?\/.*\.js|typebox|@noble\/(curves|hashes)\/.*)$/, file)
    }
  }
})

test('the compiled package mentions no process, no Buffer, no node: module and calls no require', async () => {
  for (const { file, text } of await emittedFiles()) {
    assert.doesNotMatch(text, /\bprocess\b|\bBuffer\b|\bnode:|\brequire(?:\s*\(|\.\w)/, file)
  }
})

/** Runs under the older Node: what it prints is compared here with the vectors. */
const SMOKE = `
import { readFileSync } from 'node:fs'
const [compiled, vectors] = process.argv.slice(-2)
const p = await import(compiled)
const read = (file) => JSON.parse(readFileSync(new URL(file, vectors), 'utf8'))
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
const refused = (call) => { try { return call() && false } catch (error) { return error.code } }
const naming = p.namingFor()
const keys = read('public-keys.json')
const { formats } = read('key-formats.json')
const claim = read('signed-bytes.json').claims[0]
console.log(JSON.stringify({
  faults: [...keys.good, ...keys.faulty].map((each) => p.keyFault(bytes(each.hex))),
  thumbprints: formats.map((each) => p.keyThumbprint(bytes(each.hex))),
  multikeys: formats.map((each) => p.multikeyOf(bytes(each.hex))),
  tails: read('identification-header.json').valid.map((each) => p.parseIdentificationHeader(naming, each.value)),
  claim: Array.from(p.claimMessage(claim.claimToken, claim.agentId)),
  refused: read('challenge.json').invalid.filter((each) => !each.shortName)
    .map((each) => refused(() => p.challengeMessage(each.text.repeat(each.times ?? 1)))),
  audiences: read('named-challenge.json').valid.map((each) => p.parseChallenge(naming, each.text)?.audience ?? null),
  required: p.cardSchema(naming).required.length,
}))`

test('the compiled package gives the answers of the vectors on an older Node', async (t) => {
  const older = await olderNode()
  if (older === null) return t.skip('no Node from 20 to 23 is on the PATH of this machine')
  const entry = pathToFileURL(join(compiled, 'index.js')).href
  const args = ['--input-type=module', '-e', SMOKE, '--', entry, vectorsDirectory.href]
  const { stdout } = await run(older, args)
  assert.deepEqual(JSON.parse(stdout), await expectedAnswers())
})

async function expectedAnswers() {
  const read = async (file: string) =>
    JSON.parse(await readFile(new URL(file, vectorsDirectory), 'utf8'))
  const keys = await read('public-keys.json')
  const { formats } = await read('key-formats.json')
  const invalid = (await read('challenge.json')).invalid as { shortName?: string }[]
  return {
    faults: [...keys.good, ...keys.faulty].map((each) => each.fault ?? null),
    thumbprints: formats.map((each: { thumbprint: string }) => each.thumbprint),
    multikeys: formats.map((each: { multikey: string }) => each.multikey),
    tails: (await read('identification-header.json')).valid.map(
      (each: { tail: string }) => each.tail,
    ),
    claim: [...Buffer.from((await read('signed-bytes.json')).claims[0].messageHex, 'hex')],
    refused: invalid.filter((each) => !each.shortName).map(() => 'VALIDATION_ERROR'),
    audiences: (await read('named-challenge.json')).valid.map(
      (each: { shortName?: string; audience: string }) => (each.shortName ? null : each.audience),
    ),
    required: 14,
  }
}

/** The first `node` on the PATH whose version is 20 to 23: npm puts our own first. */
async function olderNode(): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const candidate = join(folder, 'node')
    const version = await run(candidate, ['--version']).then(
      ({ stdout }) => stdout,
      () => '',
    )
    if (/^v2[0-3]\./.test(version)) return candidate
  }
  return null
}
