import { CodedError } from '@countersign/protocol'
import type { Command } from 'commander'
import { acceptPepper } from '../../accounts/identity/pepper-check.ts'
import type { Env } from '../../base/config.ts'
import {
  acceptServiceKey,
  SERVICE_KEY_PURPOSES,
  serviceKeyName,
} from '../../secrets/service-keys.ts'
import { withData } from './command-context.ts'
import { print } from './output.ts'

export function acceptPepperCommand(program: Command, env: Env): void {
  program
    .command('accept-pepper')
    .description('accept the identity-pepper of this node if the original is lost')
    .action(async (_options: unknown, command: Command) => {
      await withData(env, acceptPepper)
      const text =
        'Accepted. Earlier verifications are no longer recognized, so the same person can verify a second account.'
      print(command, { accepted: true }, text)
    })
}

export function acceptServiceKeyCommand(program: Command, env: Env): void {
  program
    .command('accept-service-key')
    .description('use the key of this node from now on, if the previous one is lost')
    .argument('<purpose>', SERVICE_KEY_PURPOSES.join(', '))
    .action(async (text: string, _options: unknown, command: Command) => {
      const purpose = SERVICE_KEY_PURPOSES.find((each) => each === text)
      if (purpose === undefined) {
        throw new CodedError(
          'VALIDATION_ERROR',
          `There is no key for ${text}. Purposes: ${SERVICE_KEY_PURPOSES.join(', ')}.`,
        )
      }
      const name = serviceKeyName(purpose)
      await withData(env, ({ db, settings }) =>
        acceptServiceKey({ db, folders: settings }, purpose),
      )
      print(
        command,
        { accepted: name },
        `Accepted. Copy ${name} to DATA_DIR or KEYS_DIR of every other node, and restart all nodes.`,
      )
    })
}
