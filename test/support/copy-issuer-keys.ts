import assert from 'node:assert/strict'
import { copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Cleanup, countersignd, tempDir } from './service.ts'

/** Gives another data directory the keys that sign certificates. */
export function copyIssuerKeys(from: string, to: string): void {
  for (const file of issuerKeyFilesIn(from)) copyFileSync(join(from, file), join(to, file))
}

/** The names of the files of these keys. */
export function issuerKeyFilesIn(dataDir: string): string[] {
  return readdirSync(dataDir).filter((each) => each.startsWith('issuer-key-'))
}

/** Makes the keys that all nodes of a service share. @returns their folder */
export async function newKeys(t: Cleanup): Promise<string> {
  const made = join(tempDir(t), 'keys')
  const { code, stderr } = await countersignd({}, 'new-keys', made)
  assert.equal(code, 0, stderr)
  return made
}
