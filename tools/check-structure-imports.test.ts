import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkStructure } from './structure/check.ts'
import { type Files, withTree } from './structure/fake-tree.ts'

const SRC = 'packages/server/src'

function breaches(files: Files): string[] {
  return withTree(files, checkStructure).breaches.map(
    ({ path, line, wrong }) => `${path}:${line} ${wrong}`,
  )
}

/** Each import is checked alone. The imported file need not exist. */
const ALLOWED: readonly [from: string, specifier: string][] = [
  ['packages/protocol/src/did.ts', './base58.ts'],
  ['packages/protocol/src/did.ts', 'typebox'],
  ['packages/protocol/src/did.ts', 'typebox/format'],
  ['packages/protocol/src/did.ts', '@noble/hashes/sha2.js'],
  [`${SRC}/storage/agents.ts`, '@countersign/protocol'],
  [`${SRC}/storage/agents.ts`, './database.ts'],
  [`${SRC}/storage/agents.ts`, 'kysely'],
  [`${SRC}/storage/agents.ts`, 'node:sqlite'],
  [`${SRC}/adapters/dns.ts`, '@countersign/protocol'],
  [`${SRC}/adapters/dns.ts`, 'node:https'],
  [`${SRC}/domain/claim.ts`, '../storage/agents.ts'],
  [`${SRC}/domain/claim.ts`, '../adapters/ed25519.ts'],
  [`${SRC}/domain/read-model/load.ts`, '../../storage/agents.ts'],
  [`${SRC}/http/app.ts`, '../domain/claim.ts'],
  [`${SRC}/http/app.ts`, 'fastify'],
  [`${SRC}/http/routes/claim.ts`, '../app.ts'],
  [`${SRC}/operator/serve.ts`, '../main.ts'],
  [`${SRC}/operator/serve.ts`, '../service.ts'],
  [`${SRC}/operator/serve.ts`, '../storage/owners.ts'],
  [`${SRC}/config.ts`, '@countersign/protocol'],
  [`${SRC}/service.ts`, './http/app.ts'],
  [`${SRC}/service.ts`, './main.ts'],
  [`${SRC}/service.ts`, '../package.json'],
  ['packages/server/bin/countersignd.mjs', '../src/operator/program.ts'],
  ['packages/server/bin/countersignd.mjs', '../src/main.ts'],
  ['packages/server/test/claim.test.ts', '../src/storage/agents.ts'],
  ['packages/server/test/claim.test.ts', '../../../vectors/claim.json'],
  ['packages/cli/src/verify.ts', '@countersign/protocol'],
  ['packages/cli/test/verify.test.ts', '@countersign/server'],
  ['packages/sdk/src/client.ts', '@countersign/protocol'],
  ['packages/gateway/src/fastify.ts', '@countersign/sdk'],
  ['packages/gateway/src/fastify.ts', 'fastify'],
  ['packages/dashboard/src/app.tsx', 'react'],
  ['bench/main.ts', '../packages/server/src/domain/claim.ts'],
]

const REFUSED: readonly [from: string, specifier: string, wrong: RegExp][] = [
  ['packages/protocol/src/did.ts', 'node:crypto', /^protocol imports the package 'node:crypto'/],
  ['packages/protocol/src/did.ts', 'crypto', /the package 'node:crypto'/],
  ['packages/protocol/src/did.ts', 'typeboxer', /the package 'typeboxer'/],
  [
    'packages/protocol/src/did.ts',
    '@countersign/server',
    /^protocol imports '@countersign\/server'/,
  ],
  ['packages/protocol/src/did.ts', '@countersign/cli', /^protocol imports '@countersign\/cli'/],
  [`${SRC}/storage/agents.ts`, '../domain/claim.ts', /^storage imports domain/],
  [`${SRC}/storage/agents.ts`, '../adapters/dns.ts', /^storage imports adapters/],
  [`${SRC}/storage/agents.ts`, '../config.ts', /^storage imports config/],
  [`${SRC}/adapters/dns.ts`, '../storage/agents.ts', /^adapters imports storage/],
  [`${SRC}/domain/claim.ts`, '../http/app.ts', /^domain imports http/],
  [`${SRC}/domain/claim.ts`, '../service.ts', /^domain imports top/],
  [`${SRC}/domain/claim.ts`, 'fastify', /^domain imports the package 'fastify'/],
  [`${SRC}/domain/claim.ts`, '@fastify/cookie', /the package '@fastify\/cookie'/],
  [`${SRC}/domain/claim.ts`, 'node:http', /the package 'node:http'/],
  [`${SRC}/domain/read-model/load.ts`, '../../http/app.ts', /^domain imports http/],
  [`${SRC}/http/app.ts`, '../storage/agents.ts', /^http imports storage/],
  [`${SRC}/http/app.ts`, '../adapters/ed25519.ts', /^http imports adapters/],
  [`${SRC}/http/app.ts`, '../main.ts', /^http imports main/],
  [`${SRC}/operator/serve.ts`, '../http/app.ts', /^operator imports http/],
  [`${SRC}/config.ts`, './domain/claim.ts', /^config imports domain/],
  [`${SRC}/service.ts`, '../test/helper.ts', /^top imports test code/],
  [`${SRC}/service.ts`, '../../../vectors/claim.json', /^a path out of the package/],
  ['packages/server/bin/countersignd.mjs', '../src/storage/agents.ts', /imports storage/],
  ['packages/server/test/claim.test.ts', '../../protocol/src/did.ts', /^a relative path into/],
  ['packages/cli/src/verify.ts', '@countersign/server', /^cli imports '@countersign\/server'/],
  ['packages/cli/src/verify.ts', '../../protocol/src/did.ts', /^a relative path into another/],
  ['packages/sdk/src/client.ts', '@countersign/gateway', /^sdk imports '@countersign\/gateway'/],
  ['packages/gateway/src/fastify.ts', '@countersign/server', /^gateway imports/],
  ['packages/dashboard/src/app.tsx', '@countersign/sdk', /^dashboard imports/],
]

for (const [from, specifier] of ALLOWED) {
  test(`${from} may import ${specifier}`, () => {
    assert.deepEqual(breaches({ [from]: `import '${specifier}'\n` }), [])
  })
}

for (const [from, specifier, wrong] of REFUSED) {
  test(`${from} may not import ${specifier}`, () => {
    const [found = '', ...more] = breaches({ [from]: `\nimport '${specifier}'\n` })
    assert.ok(found.startsWith(`${from}:2 `), found)
    assert.match(found.slice(`${from}:2 `.length), wrong)
    assert.deepEqual(more, [])
  })
}

test('every form of import is found, with its line', () => {
  const forms = [
    "import type { A } from 'fastify'",
    "import {\n  b,\n} from 'fastify'",
    "export * from 'fastify'",
    "export type { C } from 'fastify'",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source code to be parsed
    "const d = `${await import('fastify')}`",
    'const e = import(`fastify`)',
    "let f: import('fastify').F",
  ]
  const found = breaches({ [`${SRC}/domain/claim.ts`]: forms.join('\n') })
  const lines = found.map((each) => Number(/:(\d+) domain imports/.exec(each)?.[1]))
  assert.deepEqual(lines, [1, 4, 5, 6, 7, 8, 9])
})

test('text that looks like an import in comments, strings, patterns or JSX is ignored', () => {
  const code = [
    "// import 'fastify'",
    "/* import x from 'fastify' */",
    'export const a = "import b from \'fastify\'"',
    "export const c = `import('fastify')`",
    "export const d = /import 'fastify'/",
    "export const e = <p>import x from 'fastify'</p>",
  ]
  assert.deepEqual(breaches({ [`${SRC}/domain/page.tsx`]: code.join('\n') }), [])
})

test('a cycle is reported once, with its path, and type imports count', () => {
  const found = breaches({
    [`${SRC}/domain/a.ts`]: "import './b.ts'\n",
    [`${SRC}/domain/b.ts`]: "import './d.ts'\nimport type { C } from './c.ts'\n",
    [`${SRC}/domain/c.ts`]: "export * from './a.ts'\n",
    [`${SRC}/domain/d.ts`]: 'export const d = 1\n',
  })
  const way = ['a', 'b', 'c', 'a'].map((name) => `${SRC}/domain/${name}.ts`).join(' -> ')
  assert.deepEqual(found, [`${SRC}/domain/a.ts:1 an import cycle: ${way}`])
})

test('a file that imports the barrel of its own package is a cycle', () => {
  const found = breaches({
    'packages/protocol/src/index.ts': "export * from './did.ts'\n",
    'packages/protocol/src/did.ts': "import '@countersign/protocol'\n",
  })
  assert.equal(found.length, 1)
  assert.match(found[0] ?? '', /an import cycle/)
})

test('two import paths to the same file are not a cycle', () => {
  const found = breaches({
    [`${SRC}/domain/a.ts`]: "import './b.ts'\nimport './c.ts'\n",
    [`${SRC}/domain/b.ts`]: "import './c.ts'\n",
    [`${SRC}/domain/c.ts`]: 'export const c = 1\n',
  })
  assert.deepEqual(found, [])
})
