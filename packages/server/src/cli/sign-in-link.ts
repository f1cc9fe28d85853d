import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { timestamp } from '../core/timestamp.ts'
import { issueSignInLink } from '../owners/sign-in-link.ts'
import { withData } from './context.ts'
import { print } from './output.ts'
import { requireOwner } from './owner.ts'

/** `countersignd owner sign-in-link`: the host's own way in at first start, and an owner's last resort. */
export function signInLinkCommand(program: Command): void {
  program.commands
    .find((each) => each.name() === 'owner')
    ?.command('sign-in-link')
    .description(
      'print a link that signs an owner in: good once, within 15 minutes; ends the one before',
    )
    .argument('<username>')
    .action(async (username: string, _options: unknown, command: Command) => {
      const link = await withData(async ({ db, settings, now }) => {
        const owner = await requireOwner(db.read, username)
        return issueSignInLink({ db, now, randomBytes }, settings.baseUrl.origin, owner.id)
      })
      print(command, { url: link.url, expiresAt: timestamp(link.expiresAt) }, link.url)
    })
}
