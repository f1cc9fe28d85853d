import type { Command } from 'commander'
import { openEpoch, replaceEpoch } from '../../agents/changes/feed-change-table.ts'
import type { Env } from '../../base/config.ts'
import { withData } from './command-context.ts'
import { print } from './output.ts'

export function beginEpochCommand(program: Command, env: Env): void {
  program
    .command('begin-epoch')
    .description('begin a new epoch of the status feed, after PostgreSQL was restored')
    .action(async (_options: unknown, command: Command) => {
      const epoch = await withData(env, async ({ db, now }) => {
        await openEpoch(db)
        return db.write((tx) => replaceEpoch(tx, now()))
      })
      print(
        command,
        { epoch },
        'A new epoch has begun. Gateways load the snapshot again, and certificates that are missing in the data are invalid.',
      )
    })
}
