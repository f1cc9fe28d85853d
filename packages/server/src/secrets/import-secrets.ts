import { existsSync, linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '../base/durable-file.ts'
import { readSharedSecrets, replacedSecret, sharedSecretsIn } from './secret-files.ts'
import type { SecretFolders } from './secrets.ts'

/** What became of each file, by name. */
export interface ImportedSecrets {
  readonly added: readonly string[]
  /** They had the same contents before. */
  readonly same: readonly string[]
  /** They had other contents, which are kept beside them. */
  readonly replaced: readonly string[]
}

/** Files have other contents, and nobody has said to replace them, or they are in `keysDir`. Nothing was changed. */
export class OtherSecretsError extends Error {
  override readonly name = 'OtherSecretsError'
  readonly files: readonly string[]
  /** Whether they are in `keysDir`, where nothing is written. */
  readonly isFixed: boolean

  constructor(files: readonly string[], isFixed: boolean) {
    super(`${files.join(', ')}: other contents`)
    this.files = files
    this.isFixed = isFixed
  }
}

/**
 * Writes secrets that this node does not have into its data directory, with file mode 0600. All are on disk before the first gets its name, and if one cannot get it,
 * all that have are taken back. If the machine stops in between, the same import completes it.
 * @param secrets 32 bytes each, by the name of the file
 * @param replaces whether to replace files with other contents; they are kept as `<name>.replaced-<time>`
 * @param at milliseconds since 1970
 * @throws OtherSecretsError
 */
export function importSecrets(
  folders: SecretFolders,
  secrets: ReadonlyMap<string, Buffer>,
  { replaces, at }: { readonly replaces: boolean; readonly at: number },
): ImportedSecrets {
  const { keysDir, dataDir } = folders
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const existing = readSharedSecrets(folders)
  const names = [...secrets.keys()]
  const same = names.filter((name) => existing.get(name)?.equals(secrets.get(name) as Buffer))
  const replaced = names.filter((name) => existing.has(name) && !same.includes(name))
  const fixed =
    keysDir === dataDir ? [] : sharedSecretsIn(keysDir).filter((name) => replaced.includes(name))
  if (fixed.length > 0) throw new OtherSecretsError(fixed, true)
  if (replaced.length > 0 && !replaces) throw new OtherSecretsError(replaced, false)
  const added = names.filter((name) => !existing.has(name))
  place(dataDir, secrets, [...added, ...replaced], at)
  return { added, same, replaced }
}

function place(
  dataDir: string,
  secrets: ReadonlyMap<string, Buffer>,
  names: readonly string[],
  at: number,
): void {
  const draftOf = (name: string) => join(dataDir, `${name}.import`)
  const undo: (() => void)[] = []
  try {
    for (const name of names) {
      const text = `${secrets.get(name)?.toString('hex')}\n`
      rmSync(draftOf(name), { force: true })
      writeFileSync(draftOf(name), text, { mode: 0o600, flag: 'wx', flush: true })
    }
    for (const name of names) {
      const file = join(dataDir, name)
      const former = replacedSecret(dataDir, name, at)
      if (existsSync(file)) linkSync(file, former)
      undo.push(() =>
        existsSync(former) ? renameSync(former, file) : rmSync(file, { force: true }),
      )
      renameSync(draftOf(name), file)
    }
    syncPath(dataDir)
  } catch (error) {
    for (const each of undo.reverse()) each()
    throw error
  } finally {
    for (const name of names) rmSync(draftOf(name), { force: true })
  }
}
