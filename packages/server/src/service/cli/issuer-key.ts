import type { Command } from 'commander'
import type { Env } from '../../base/config.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Db, IssuerKeyRow } from '../../database/database.ts'
import { issuerKeyRows } from '../../secrets/issuer-keys/issuer-key-table.ts'
import { issuerKeyFile, readIssuerKey } from '../../secrets/issuer-keys/key-pair.ts'
import { jwksOf, readReadiness, rotateIssuerKey } from '../../secrets/issuer-keys/rotation.ts'
import type { SecretFolders } from '../../secrets/secrets.ts'
import { withData } from './command-context.ts'
import { print, table } from './output.ts'

export function issuerKeyCommands(program: Command, env: Env): void {
  const issuerKey = program
    .command('issuer-key')
    .description('the keys that sign certificates and status lists')

  issuerKey
    .command('rotate')
    .description('replace the key that signs certificates')
    .option(
      '--compromised',
      'at once: verifiers reject everything that the previous keys have signed',
    )
    .action(async (options: { compromised?: boolean }, command: Command) => {
      const kind = options.compromised ? 'compromised' : 'regular'
      const { id, state } = await withData(env, ({ db, settings, now }) =>
        rotateIssuerKey({ db, folders: settings, now }, kind),
      )
      const file = issuerKeyFile(id)
      const text =
        state === 'active'
          ? `The new key is active, and no other is in the key set.
Copy ${file} to DATA_DIR or KEYS_DIR of every other node now: until then, a node signs nothing and answers 503.
Agents fetch new certificates. Gateways drop the previous keys within 5 minutes.
Delete the previous files issuer-key-* from every DATA_DIR and KEYS_DIR, and back up the new one.`
          : `Copy ${file} to DATA_DIR or KEYS_DIR of every other node, and back it up.
It becomes active by itself 10 minutes after the last node has it. See: countersignd issuer-key list`
      print(command, { id, state, file }, text)
    })

  issuerKey
    .command('list')
    .description('list the keys and the state of a rotation')
    .action(async (_options: unknown, command: Command) => {
      const keys = await withData(env, async ({ db, settings, now }) => {
        const described = []
        for (const row of await issuerKeyRows(db.read))
          described.push(await describe(db.read, row, settings, now()))
        return described
      })
      const rows = keys.map(({ id, state, file, detail }) => [id, state, file, detail])
      print(command, keys, table(['KEY', 'STATE', 'FILE', 'DETAIL'], rows))
    })
}

async function describe(db: Db, row: IssuerKeyRow, folders: SecretFolders, now: number) {
  const found = readIssuerKey(folders, row.id)
  return {
    id: row.id,
    kids: jwksOf(row).map(({ kid }) => kid),
    state: row.state,
    file: typeof found === 'string' ? found : 'present',
    detail: await detailOf(db, row, now),
  }
}

async function detailOf(db: Db, row: IssuerKeyRow, now: number): Promise<string> {
  const { state, activated_at, ended_at, remove_at } = row
  if (state === 'active') return `since ${timestamp(activated_at as number)}`
  if (state === 'retired') return `in the key set until ${timestamp(remove_at as number)}`
  if (state !== 'published') return `since ${timestamp(ended_at as number)}`
  const { activeFrom, nodesWithFile, nodesWithoutFile } = await readReadiness(db, row, now)
  if (activeFrom !== null) return `becomes active at ${timestamp(activeFrom)}`
  if (nodesWithFile + nodesWithoutFile === 0) return 'waits for a node to report'
  return `waits for ${nodesWithoutFile} of ${nodesWithFile + nodesWithoutFile} processes to get the file`
}
