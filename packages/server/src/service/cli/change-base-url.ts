import { CodedError } from '@countersign/protocol'
import type { Command } from 'commander'
import type { Env } from '../../base/config.ts'
import { parseBaseUrl } from '../../base/parse-settings.ts'
import { changeBaseUrl, WHAT_BREAKS } from '../../database/same-base-url.ts'
import { withData } from './command-context.ts'
import { print } from './output.ts'

export function changeBaseUrlCommand(program: Command, env: Env): void {
  program
    .command('change-base-url')
    .description('move the service to another BASE_URL')
    .argument('<url>', 'the new address, as in BASE_URL')
    .action(async (text: string, _options: unknown, command: Command) => {
      const baseUrl = parseBaseUrl(text)
      if (baseUrl === null) {
        throw new CodedError(
          'VALIDATION_ERROR',
          'The address must be https (http only on loopback), without path, query or credentials.',
        )
      }
      await withData(env, ({ db }) => changeBaseUrl(db, baseUrl))
      print(
        command,
        { baseUrl: baseUrl.origin },
        `Changed to ${baseUrl.origin}. Set BASE_URL=${baseUrl.origin} on every node, and restart all of them.\n${WHAT_BREAKS}`,
      )
    })
}
