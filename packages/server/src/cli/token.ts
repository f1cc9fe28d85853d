import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { issueToken } from '../claims/issue-token.ts'
import { timestamp } from '../core/timestamp.ts'
import { withData } from './context.ts'
import { print } from './output.ts'
import { requireOwner } from './owner.ts'

export function tokenCommands(program: Command): void {
  const token = program.command('token').description('claim tokens')

  token
    .command('issue')
    .description('issue a claim token: good for one agent, once, within 10 minutes')
    .argument('<username>', 'the owner who will stand behind the agent')
    .action(async (username: string, _options: unknown, command: Command) => {
      const issued = await withData(async ({ db, settings, now }) => {
        const owner = await requireOwner(db.read, username)
        return issueToken({ db, naming: settings.naming, now, randomBytes }, owner.id)
      })
      const { claimToken } = issued
      print(command, { claimToken, expiresAt: timestamp(issued.expiresAt) }, claimToken)
    })
}
