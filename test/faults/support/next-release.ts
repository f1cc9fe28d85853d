import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cleanup, ROOT, tempDir } from '../../support/service.ts'

const SERVER = 'packages/server'
const NAME = '9999-next-release'

/** An additive migration, as in a rolling upgrade: tables that the old release also uses get another column. */
const MIGRATION = `import { executeScript } from './migration.ts'

const changed = ['agents', 'owners', 'claim_tokens', 'events', 'identity_verifications']

export const nextRelease = {
  name: '${NAME}',
  up: (db, { text }) =>
    executeScript(
      db,
      [
        ...changed.map((table) => 'alter table ' + table + ' add column next_release ' + text),
        'create table next_release (id ' + text + ' primary key)',
        'create index next_release_agents on agents (next_release)',
      ].join(';\\n'),
    ),
}
`

/**
 * The same program with one more migration, like a next release.
 * @returns its countersignd
 */
export function nextRelease(t: Cleanup): string {
  const root = tempDir(t)
  const server = join(root, SERVER)
  for (const part of ['bin', 'src', 'package.json']) {
    cpSync(join(ROOT, SERVER, part), join(server, part), { recursive: true })
  }
  for (const dir of [`${SERVER}/dist`, 'packages/dashboard']) mkdirSync(join(root, dir))
  for (const part of [
    'node_modules',
    `${SERVER}/node_modules`,
    // Not dist/program: the copy runs its own sources.
    ...['docs', 'packages', 'pages'].map((each) => `${SERVER}/dist/${each}`),
    'packages/dashboard/dist',
  ]) {
    symlinkSync(join(ROOT, part), join(root, part))
  }
  const migrations = join(server, 'src/database/schema/migrations')
  writeFileSync(join(migrations, 'next-release.ts'), MIGRATION)
  const index = join(migrations, 'index.ts')
  const list = readFileSync(index, 'utf8')
  const longer = list.replace(/\[([^\]]+)\]\n$/, '[$1, nextRelease]\n')
  if (longer === list) throw new Error('the list of migrations has another form')
  writeFileSync(index, `import { nextRelease } from './next-release.ts'\n${longer}`)
  return join(server, 'bin/countersignd.mjs')
}
