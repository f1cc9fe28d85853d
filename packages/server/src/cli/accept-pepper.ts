import type { Command } from 'commander'
import type { Env } from '../config/config.ts'
import { acceptPepper } from '../identity/pepper-check.ts'
import { withData } from './context.ts'
import { print } from './output.ts'

export function acceptPepperCommand(program: Command, env: Env): void {
  program
    .command('accept-pepper')
    .description(
      'take identity-pepper in DATA_DIR for the one of the data, where the other is lost for good',
    )
    .action(async (_options: unknown, command: Command) => {
      await withData(env, acceptPepper)
      const text =
        'Accepted. Owners who were verified under the other one are not known again: the same human could verify a second account.'
      print(command, { accepted: true }, text)
    })
}
