import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { checkStructure } from './structure/check.ts'
import { type Files, page, withTree } from './structure/fake-tree.ts'
import { ROOMS } from './structure/rules.ts'

const SRC = 'packages/server/src'
const PROTOCOL = 'packages/protocol/src'

function breaches(files: Files): string[] {
  return withTree(files, checkStructure).breaches.map(
    ({ path, line, wrong }) => `${path}:${line} ${wrong}`,
  )
}

function lines(count: number): string {
  return 'export {}\n'.repeat(count)
}

test('an error envelope may be built only in the error handler', () => {
  const envelope =
    'export const body = (requestId: string) => ({\n  error: { code: 1, requestId } })\n'
  assert.deepEqual(breaches({ [`${SRC}/http/error-handler.ts`]: envelope }), [])
  assert.deepEqual(breaches({ [`${SRC}/http/caching.ts`]: envelope }), [
    `${SRC}/http/caching.ts:1 an error envelope is built here`,
  ])
})

test('a log line, a schema and an example do not count as error envelopes', () => {
  const code = [
    'log({ error, requestId })',
    'Type.Object({ error: Type.Object({ requestId: Type.String() }) })',
    "export const example = { error: { code: 'NOT_FOUND', requestId: 'req_1' } }",
  ]
  assert.deepEqual(breaches({ [`${SRC}/pages/openapi.ts`]: code.join('\n') }), [])
})

test('database code must not use CodedError', () => {
  const code = "// no CodedError\nimport { CodedError } from '@countersign/protocol'\nCodedError\n"
  assert.deepEqual(breaches({ [`${SRC}/database/agents.ts`]: code }), [
    `${SRC}/database/agents.ts:2 CodedError must not be used here`,
  ])
  const hidden = "import * as p from '@countersign/protocol'\nthrow new p.CodedError()\n"
  assert.equal(breaches({ [`${SRC}/agents/agent-table.ts`]: hidden }).length, 1)
  assert.deepEqual(breaches({ [`${SRC}/database/agents.ts`]: "// CodedError\n'CodedError'\n" }), [])
  assert.deepEqual(breaches({ [`${SRC}/agents/claims/claim.ts`]: code }), [])
})

test('a file of more than 400 lines is a warning, a long test is not', () => {
  const files = {
    [`${SRC}/config.ts`]: lines(400),
    [`${SRC}/agents/claims/claim-routes.ts`]: `${lines(400)}export {}`,
    'tools/one.ts': lines(401),
    'packages/server/test/claim.test.ts': lines(401),
    'bench/node_modules/other/index.ts': lines(401),
  }
  const found = withTree(files, checkStructure)
  assert.deepEqual(found.breaches, [])
  assert.deepEqual(
    found.warnings.map(({ path, line, wrong }) => `${path}:${line} ${wrong}`),
    [
      `${SRC}/agents/claims/claim-routes.ts:401 401 lines, more than 400`,
      'tools/one.ts:401 401 lines, more than 400',
    ],
  )
})

test('file names are kebab-case', () => {
  const sound = [
    `${SRC}/database/schema/migrations/0001-schema.ts`,
    'tools/check-structure.test.ts',
  ]
  assert.deepEqual(breaches(Object.fromEntries(sound.map((path) => [path, '']))), [])
  const bad = ['bench/Main.ts', `${SRC}/agent_row.ts`, `${SRC}/agentRow.ts`, `${SRC}/two--words.ts`]
  assert.deepEqual(
    breaches(Object.fromEntries(bad.map((path) => [path, '']))),
    bad.toSorted().map((path) => `${path}:1 the file name is not in kebab-case`),
  )
})

test('exported functions, classes and interfaces of protocol need a doc comment', () => {
  const sound = [
    '/** A. */\nexport function a(): void',
    'export function a(x?: number): void {}',
    '/** B. */\n// biome-ignore lint: why\nexport abstract class B {}',
    '/** C. */\nexport interface C {}',
    'export const d = () => 1\nexport type E = 1',
    'function inner() {}',
    '/** F. */\nfunction f() {}\nexport { f }',
  ]
  assert.deepEqual(breaches({ [`${PROTOCOL}/did.ts`]: sound.join('\n') }), [])
  const bare = [
    'export async function a() {}',
    'export default class {}',
    '// not a doc comment\nexport interface C {}',
    '/** Of something else. */\n\nexport function d() {}',
    'function f() {}\nexport { f as g }',
  ]
  const found = breaches({ [`${PROTOCOL}/did.ts`]: bare.join('\n') })
  assert.deepEqual(
    found.map((each) => / (\w+) is exported and has no doc/.exec(each)?.[1]),
    ['a', 'default', 'C', 'd', 'f'],
  )
  assert.match(found[3] ?? '', /did\.ts:7 /)
  assert.deepEqual(breaches({ [`${SRC}/service.ts`]: bare.join('\n') }), [])
})

const TREE = {
  [`${SRC}/config.ts`]: '',
  [`${SRC}/agents/claims/claim.ts`]: '',
  [`${SRC}/agents/read-model/load.ts`]: '',
  'packages/server/bin/countersignd.mjs': '',
  'packages/server/test/claim.test.ts': '',
  'tools/check.sh': '',
}
const HEAD = ['| path | what it holds |', '|---|---|']
const ROWS = [
  '| packages/server/ | the service |',
  `| \`${SRC}/agents/claims/claim.ts\` | redeems a token |`,
  `| \`${SRC}/agents/read-model/load.ts\` | fills the read model |`,
  '| `tools/` | house-keeping |',
]

test('a directory row covers its files, and a file without a row is refused', () => {
  assert.deepEqual(breaches({ ...TREE, 'ARCHITECTURE.md': page(...HEAD, ...ROWS) }), [])
  const rows = ROWS.slice(0, -1)
  assert.deepEqual(
    breaches({ ...TREE, 'tools/x.ts': '', 'ARCHITECTURE.md': page(...HEAD, ...rows) }),
    [
      'ARCHITECTURE.md:2 no row covers tools/check.sh',
      'ARCHITECTURE.md:2 no row covers tools/x.ts',
    ],
  )
})

test('a row is refused if it is a duplicate, empty, or names a missing path or the wrong kind of path', () => {
  const rows = [
    ...ROWS,
    '| `tools/` | again |',
    '| tools/gone.ts | gone |',
    '| packages | no slash |',
    '| tools/check.sh/ | a slash |',
    `| ${SRC}/config.ts | |`,
  ]
  assert.deepEqual(breaches({ ...TREE, 'ARCHITECTURE.md': page(...HEAD, ...rows) }), [
    'ARCHITECTURE.md:9 a second row for tools/',
    'ARCHITECTURE.md:10 tools/gone.ts does not exist',
    'ARCHITECTURE.md:11 packages is a directory',
    'ARCHITECTURE.md:12 tools/check.sh/ is a file',
    `ARCHITECTURE.md:13 the row of ${SRC}/config.ts is empty`,
  ])
})

test('a missing page and a page without a table are reported', () => {
  const [found] = breaches({ 'ARCHITECTURE.md': '# Files\n' })
  assert.equal(found, 'ARCHITECTURE.md:1 it has no table of files')
  const { breaches: none } = checkStructure('/nowhere/at/all')
  assert.deepEqual(
    none.map(({ wrong }) => wrong),
    ['there is no such page'],
  )
})

function run(root: string): { status: number | null; stdout: string } {
  const tool = `${import.meta.dirname}/check-structure.ts`
  return spawnSync(process.execPath, [tool, root], { encoding: 'utf8' })
}

test('the command prints one line and exits 0 if no rule is broken', () => {
  const { status, stdout } = withTree(TREE, run)
  assert.equal(status, 0)
  assert.match(stdout, /^structure: 6 files and 0 imports .+\n$/)
})

test('the command prints a warning and exits 0 if no rule is broken', () => {
  const { status, stdout } = withTree({ ...TREE, 'tools/long.ts': lines(401) }, run)
  assert.equal(status, 0)
  assert.match(stdout, /^tools\/long\.ts:401 {2}warning: 401 lines, .+\nstructure: 7 files .+\n$/)
})

test('the command prints where a rule is broken and how to fix it, and exits 1', () => {
  const { status, stdout } = withTree({ 'tools/Check.ts': '' }, run)
  assert.equal(status, 1)
  assert.match(stdout, /^tools\/Check\.ts:1 {2}the file name is not in kebab-case {2}name it .+\n$/)
})

test('at most 60 pairs of rooms of the server import each other', () => {
  const importsAllBefore = (rooms: readonly string[]) =>
    Object.fromEntries(
      rooms.map((room, index) => [
        `${SRC}/${room}/one.ts`,
        rooms
          .slice(0, index)
          .map((other) => `import '../${other}/one.ts'\n`)
          .join(''),
      ]),
    )
  assert.deepEqual(breaches(importsAllBefore(ROOMS.slice(0, 11))), [])
  const [all, ...others] = breaches(importsAllBefore(ROOMS))
  assert.match(String(all), /66 pairs of rooms of the server import each other, more than 60/)
  assert.deepEqual(others, [])
})

test('only the room of changes, and the rows of claims, change agents', () => {
  const code = "import { touchAgent } from '../agent-table.ts'\ntouchAgent()\n"
  assert.deepEqual(breaches({ [`${SRC}/agents/manage/avatar.ts`]: code }), [
    `${SRC}/agents/manage/avatar.ts:1 touchAgent must not be used here`,
  ])
  for (const allowed of ['changes/change-agent', 'claims/mint', 'agent-table']) {
    assert.deepEqual(breaches({ [`${SRC}/agents/${allowed}.ts`]: 'touchAgent()\n' }), [])
  }
  const event = 'appendAgentEvent()\nappendEvent()\n'
  assert.equal(breaches({ [`${SRC}/channels/check-channel.ts`]: event }).length, 1)
  const entry = 'setEntry()\n'
  assert.equal(breaches({ [`${SRC}/statements/status-lists/epoch.ts`]: entry }).length, 1)
  const allocates = `${SRC}/statements/status-lists/status-entries.ts`
  assert.deepEqual(breaches({ [allocates]: entry }), [])
})
