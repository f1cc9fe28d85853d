import { copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Gives another data directory the keys that sign certificates. */
export function copyIssuerKeys(from: string, to: string): void {
  for (const file of issuerKeyFilesIn(from)) copyFileSync(join(from, file), join(to, file))
}

/** The names of the files of these keys. */
export function issuerKeyFilesIn(dataDir: string): string[] {
  return readdirSync(dataDir).filter((each) => each.startsWith('issuer-key-'))
}
