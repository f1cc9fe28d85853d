import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CodedError } from '@countersign/protocol'
import type { Command } from 'commander'
import { type Env, readSettings } from '../../base/config.ts'
import { inspectDatabase } from '../../database/maintenance/inspect.ts'
import { missingMigrations } from '../../database/migrate.ts'
import {
  type ImportedSecrets,
  importSecrets,
  OtherSecretsError,
} from '../../secrets/import-secrets.ts'
import { KeyArchiveError, openKeyArchive, sealKeyArchive } from '../../secrets/key-archive.ts'
import {
  createSharedSecrets,
  readSharedSecrets,
  sharedSecretsIn,
} from '../../secrets/secret-files.ts'
import { assertSecretsFit } from './compare-secrets.ts'
import { print } from './output.ts'
import { PASSPHRASE_VARIABLE, readPassphrase } from './passphrase.ts'

const PASSPHRASE_FILE = [
  '--passphrase-file <file>',
  `a file whose first line is the passphrase; else ${PASSPHRASE_VARIABLE}, else you are asked`,
] as const

interface Options {
  readonly passphraseFile?: string
  readonly replace?: true
}

/** `export-keys` and `import-keys` bring the secrets that nodes share to another node. `new-keys` makes those of a new service. */
export function keyArchiveCommands(program: Command, env: Env): void {
  program
    .command('export-keys')
    .description('write the keys that all nodes share to a file, encrypted with a passphrase (age)')
    .argument('<file>', 'a file that does not exist yet')
    .option(...PASSPHRASE_FILE)
    .action(async (file: string, { passphraseFile }: Options, command: Command) => {
      const names = await exportKeys(env, resolve(file), passphraseFile)
      print(
        command,
        { file: resolve(file), keys: names },
        `Saved ${resolve(file)}: ${names.join(', ')}.
On the other node, run: countersignd import-keys <file>. Send the passphrase another way than the file.`,
      )
    })

  program
    .command('import-keys')
    .description('put the keys of a file made by export-keys into DATA_DIR')
    .argument('<file>')
    .option(...PASSPHRASE_FILE)
    .option('--replace', 'replace keys that differ; the former files are kept beside them')
    .action(async (file: string, options: Options, command: Command) => {
      const imported = await importKeys(env, resolve(file), options)
      print(command, imported, describe(imported))
    })

  program
    .command('new-keys')
    .description('make the keys that all nodes share, for the first start of several nodes')
    .argument('<folder>', 'a folder without such files; created if it does not exist')
    .action((folder: string, _options: unknown, command: Command) => {
      const dir = resolve(folder)
      const existing = sharedSecretsIn(dir)
      if (existing.length > 0) {
        throw new CodedError(
          'CONFLICT',
          `${dir} has ${existing.toSorted().join(', ')}. Nothing was changed. Name a folder without keys.`,
        )
      }
      const keys = createSharedSecrets(dir).toSorted()
      print(
        command,
        { folder: dir, keys },
        `Made in ${dir}: ${keys.join(', ')}.
Give each node these files in KEYS_DIR or DATA_DIR before it starts first, and back them up.`,
      )
    })
}

async function exportKeys(env: Env, file: string, from: string | undefined): Promise<string[]> {
  const settings = readSettings(env)
  const { dataDir } = settings
  await inspectDatabase(settings.database, async ({ db }) => {
    // The table of settings may not exist yet.
    if ((await missingMigrations(db)).length === 0) await assertSecretsFit(db, settings)
  })
  const secrets = readSharedSecrets(settings)
  if (secrets.size === 0) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `There are no keys in ${dataDir}. Run this on a node that has been started.`,
    )
  }
  // The file first: nobody types a passphrase for nothing.
  writeFileSync(file, '', { mode: 0o600, flag: 'wx' })
  try {
    const archive = await sealKeyArchive(secrets, await readPassphrase(env, from, true))
    writeFileSync(file, archive, { flush: true })
  } catch (error) {
    rmSync(file)
    throw error
  }
  return [...secrets.keys()]
}

async function importKeys(
  env: Env,
  file: string,
  { passphraseFile, replace }: Options,
): Promise<ImportedSecrets> {
  const settings = readSettings(env)
  const archive = readFileSync(file)
  const passphrase = await readPassphrase(env, passphraseFile, false)
  try {
    const secrets = await openKeyArchive(archive, passphrase)
    return importSecrets(settings, secrets, { replaces: replace === true, at: Date.now() })
  } catch (error) {
    if (error instanceof KeyArchiveError) throw new CodedError('VALIDATION_ERROR', error.message)
    if (!(error instanceof OtherSecretsError)) throw error
    if (error.isFixed) {
      throw new CodedError(
        'CONFLICT',
        `Nothing was imported. KEYS_DIR has another ${error.files.join(', another ')}, and this command does not write there. Replace these files there.`,
      )
    }
    throw new CodedError(
      'CONFLICT',
      `Nothing was imported. DATA_DIR has another ${error.files.join(', another ')}. Check that DATA_DIR and the archive are of the same service. To replace these files, add --replace.`,
    )
  }
}

function describe({ added, same, replaced }: ImportedSecrets): string {
  const lines = [
    ['Added', added],
    ['Already there', same],
    ['Replaced, the former ones are kept as <name>.replaced-<time>', replaced],
  ] as const
  return [
    ...lines.flatMap(([what, names]) =>
      names.length > 0 ? [`${what}: ${names.join(', ')}.`] : [],
    ),
    'Delete the archive, and compare this node with the database: countersignd doctor',
  ].join('\n')
}
