import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { checkStructure } from './structure/check.ts'
import { type Files, page, withTree } from './structure/fake-tree.ts'
import { BARS, ROOMS } from './structure/rules.ts'

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

test('a file has at most 400 lines, unless it is a test', () => {
  const files = {
    [`${SRC}/config.ts`]: lines(400),
    [`${SRC}/agents/claims/claim-routes.ts`]: `${lines(400)}export {}`,
    'tools/one.ts': lines(401),
    'packages/server/test/claim.test.ts': lines(401),
    'bench/node_modules/other/index.ts': lines(401),
  }
  assert.deepEqual(breaches(files), [
    `${SRC}/agents/claims/claim-routes.ts:401 401 lines, more than 400`,
    'tools/one.ts:401 401 lines, more than 400',
  ])
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

test('ARCHITECTURE.md lists the rooms in the order of imports, in at most 8,000 bytes', () => {
  assert.deepEqual(breaches({ 'ARCHITECTURE.md': page() }), [])
  const long = page() + 'x'.repeat(8000)
  const [first, second, ...others] = ROOMS
  for (const [text, wrong] of [
    [page(ROOMS.slice(1)), /^ARCHITECTURE\.md:1 its table has the rooms database, /],
    [
      page([second, first, ...others]),
      /^ARCHITECTURE\.md:1 its table has the rooms database, base/,
    ],
    [long, /^ARCHITECTURE\.md:1 \d+ bytes, more than 8000$/],
  ] as const) {
    const [found, ...rest] = breaches({ 'ARCHITECTURE.md': text })
    assert.match(String(found), wrong)
    assert.deepEqual(rest, [])
  }
  assert.equal(checkStructure('/nowhere/at/all').breaches[0]?.wrong, 'there is no such page')
})

test('the server, its wiring and all sources stay below their bars', () => {
  const files = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${SRC}/log/file-${i}.ts`, '']))
  const most = BARS[0]?.mostFiles ?? 0
  assert.deepEqual(breaches(files(most)), [])
  assert.match(
    breaches(files(most + 1)).join(),
    new RegExp(`${most + 1} files with ${most + 1} lines, more than ${most} or \\d+`),
  )
  const ofWiring = (BARS[1]?.mostLines ?? 0) + 1
  const wiring = {
    [`${SRC}/service/a.ts`]: lines(400),
    [`${SRC}/service/b.ts`]: lines(ofWiring - 400),
  }
  assert.match(breaches(wiring).join(), new RegExp(`2 files with ${ofWiring} lines`))
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

test('the command prints where a rule is broken and how to fix it, and exits 1', () => {
  const { status, stdout } = withTree({ 'tools/Check.ts': '' }, run)
  assert.equal(status, 1)
  assert.match(stdout, /^tools\/Check\.ts:1 {2}the file name is not in kebab-case {2}name it .+\n$/)
})

test('at most 60 pairs of rooms of the server import each other', () => {
  const importsAllBefore = (rooms: readonly string[]) =>
    Object.fromEntries(
      rooms.map((room, index) => [
        `${SRC}/${room}/${room}-one.ts`,
        rooms
          .slice(0, index)
          .map((other) => `import '../${other}/${other}-one.ts'\n`)
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

test('no two files of the server have the same name, except parts, indexes and adapters', () => {
  const wrong = 'another file of the server has the same name'
  assert.deepEqual(breaches({ [`${SRC}/log/load.ts`]: '', [`${SRC}/pages/load.ts`]: '' }), [
    `${SRC}/log/load.ts:1 ${wrong}`,
    `${SRC}/pages/load.ts:1 ${wrong}`,
  ])
  const shared = [
    `${SRC}/log/part.ts`,
    `${SRC}/pages/part.ts`,
    `${SRC}/accounts/providers/github.ts`,
    `${SRC}/channels/kinds/github.ts`,
    `${PROTOCOL}/load.ts`,
    `${SRC}/pages/load.ts`,
  ]
  assert.deepEqual(breaches(Object.fromEntries(shared.map((path) => [path, '']))), [])
})
