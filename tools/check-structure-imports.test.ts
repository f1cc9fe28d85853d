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
  [`${SRC}/database/database.ts`, 'kysely'],
  [`${SRC}/database/database.ts`, 'node:sqlite'],
  [`${SRC}/http/server.ts`, 'fastify'],
  [`${SRC}/http/server.ts`, './errors.ts'],
  [`${SRC}/http/server.ts`, '../base/version.ts'],
  [`${SRC}/agents/claims/claim.ts`, '../find-agent.ts'],
  [`${SRC}/agents/claims/claim.ts`, './claim-table.ts'],
  [`${SRC}/agents/claims/claim.ts`, '@countersign/protocol'],
  [`${SRC}/agents/claims/claim-routes.ts`, './claim.ts'],
  [`${SRC}/agents/claims/claim-routes.ts`, 'fastify'],
  [`${SRC}/agents/claims/claim-table.ts`, 'kysely'],
  [`${SRC}/webhooks/part.ts`, './webhook-routes.ts'],
  [`${SRC}/webhooks/part.ts`, './due-deliveries.ts'],
  [`${SRC}/accounts/providers/development/server.ts`, 'node:http'],
  [`${SRC}/pages/views/page.tsx`, '@countersign/ui'],
  [`${SRC}/service/app.ts`, '../agents/claims/claim-routes.ts'],
  [`${SRC}/service/service.ts`, '../../package.json'],
  [`${SRC}/service/cli/serve.ts`, '../cluster/primary.ts'],
  [`${SRC}/main.ts`, './service/cli/program.ts'],
  ['packages/server/bin/countersignd.mjs', '../src/service/cli/program.ts'],
  ['packages/server/bin/countersignd.mjs', '../src/main.ts'],
  ['packages/server/test/claim.test.ts', '../src/agents/agent-table.ts'],
  ['packages/server/test/claim.test.ts', '../../../vectors/claim.json'],
  ['packages/cli/src/verify.ts', '@countersign/protocol'],
  ['packages/cli/test/verify.test.ts', '@countersign/server'],
  ['packages/sdk/src/client.ts', '@countersign/protocol'],
  ['packages/gateway/src/fastify.ts', '@countersign/sdk'],
  [`${SRC}/pages/console/simulate.ts`, '@countersign/gateway/internal'],
  ['packages/gateway/src/fastify.ts', 'fastify'],
  ['packages/dashboard/src/app.tsx', 'react'],
  ['bench/main.ts', '../packages/server/src/agents/claims/claim.ts'],
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
  [`${SRC}/base/config.ts`, '../http/server.ts', /^server\/base imports server\/http/],
  [`${SRC}/http/server.ts`, '../agents/agent-record.ts', /^server\/http imports server\/agents/],
  [`${SRC}/agents/card.ts`, '../channels/deps.ts', /^server\/agents imports server\/channels/],
  [
    `${SRC}/agents/claims/claim.ts`,
    '../../channels/deps.ts',
    /^server\/agents imports server\/channels/,
  ],
  [`${SRC}/channels/deps.ts`, '../service/app.ts', /^server\/channels imports server\/service/],
  [`${SRC}/pages/page-routes.ts`, '../service/app.ts', /^server\/pages imports server\/service/],
  [`${SRC}/agents/claims/claim.ts`, 'fastify', /^a rule may not import 'fastify'/],
  [`${SRC}/agents/claims/claim.ts`, '@fastify/cookie', /^a rule may not import '@fastify\/cookie'/],
  [`${SRC}/agents/claims/claim.ts`, './claim-routes.ts', /^a rule may not import/],
  [`${SRC}/agents/claims/claim-routes.ts`, 'kysely', /^routes may not import 'kysely'/],
  [`${SRC}/agents/claims/claim-routes.ts`, './claim-table.ts', /^routes may not import/],
  [`${SRC}/agents/claims/claim-table.ts`, './claim-routes.ts', /^a table may not import/],
  [`${SRC}/webhooks/part.ts`, 'kysely', /^a part may not import 'kysely'/],
  [`${SRC}/webhooks/part.ts`, './endpoint-table.ts', /^a part may not import/],
  [
    'packages/server/bin/countersignd.mjs',
    '../src/agents/agent-table.ts',
    /imports server\/agents/,
  ],
  [`${SRC}/service/service.ts`, '../../test/helper.ts', /^server\/service imports test code/],
  [`${SRC}/service/service.ts`, '../../../../vectors/claim.json', /^a path out of the package/],
  ['packages/server/test/claim.test.ts', '../../protocol/src/did.ts', /^a relative path into/],
  ['packages/cli/src/verify.ts', '@countersign/server', /^cli imports '@countersign\/server'/],
  ['packages/cli/src/verify.ts', '../../protocol/src/did.ts', /^a relative path into another/],
  [`${SRC}/agents/claims/claim.ts`, '@countersign/gateway', /^server\/agents imports/],
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
  const found = breaches({ 'packages/protocol/src/did.ts': forms.join('\n') })
  const lines = found.map((each) => Number(/:(\d+) protocol imports/.exec(each)?.[1]))
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
  assert.deepEqual(breaches({ [`${SRC}/agents/claims/page.tsx`]: code.join('\n') }), [])
})

test('a cycle is reported once, with its path, and type imports count', () => {
  const found = breaches({
    [`${SRC}/agents/claims/a.ts`]: "import './b.ts'\n",
    [`${SRC}/agents/claims/b.ts`]: "import './d.ts'\nimport type { C } from './c.ts'\n",
    [`${SRC}/agents/claims/c.ts`]: "export * from './a.ts'\n",
    [`${SRC}/agents/claims/d.ts`]: 'export const d = 1\n',
  })
  const way = ['a', 'b', 'c', 'a'].map((name) => `${SRC}/agents/claims/${name}.ts`).join(' -> ')
  assert.deepEqual(found, [`${SRC}/agents/claims/a.ts:1 an import cycle: ${way}`])
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
    [`${SRC}/agents/claims/a.ts`]: "import './b.ts'\nimport './c.ts'\n",
    [`${SRC}/agents/claims/b.ts`]: "import './c.ts'\n",
    [`${SRC}/agents/claims/c.ts`]: 'export const c = 1\n',
  })
  assert.deepEqual(found, [])
})
