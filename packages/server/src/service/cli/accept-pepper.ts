import type { Command } from 'commander'
import { acceptPepper } from '../../accounts/identity/pepper-check.ts'
import type { Env } from '../../base/config.ts'
import { withData } from './context.ts'
import { print } from './output.ts'

export function acceptPepperCommand(program: Command, env: Env): void {
  program
    .command('accept-pepper')
    .description('accept the identity-pepper in DATA_DIR if the original is lost')
    .action(async (_options: unknown, command: Command) => {
      await withData(env, acceptPepper)
      const text =
        'Accepted. Earlier verifications are no longer recognized, so the same person can verify a second account.'
      print(command, { accepted: true }, text)
    })
}
