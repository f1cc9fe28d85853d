import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrateFile } from '../../packages/server/src/database/sqlite/sqlite-database.ts'

let template: Promise<string> | undefined

/** Makes a file a database without any data, unless it exists: a copy of one that is migrated costs less than migrating another. */
export async function copyTemplate(file: string): Promise<void> {
  template ??= makeTemplate()
  const made = await template
  if (!existsSync(file)) copyFileSync(made, file)
}

/** It goes with the process. */
async function makeTemplate(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-template-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'countersign.db')
  await migrateFile(file, Date.now)
  return file
}
