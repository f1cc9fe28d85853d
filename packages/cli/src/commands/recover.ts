import { recoverKeyFile } from '@countersign/sdk/node'
import { fields, formatMinute } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { assertDid } from '../did.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'

const HELP = `
The owner starts a recovery on the dashboard and gives you its token, within 10 minutes. The new key is written to
<key file>.next before anything is sent. It becomes the key of the DID at the time that is shown. After that, run the command
once more without the token: it moves the key into the key file.`

/** `countersign recover <did> [token]`: redeems a recovery token with a new key. */
export function recoverCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('recover')))
    .description('get a new key for your DID, with a recovery token of your owner')
    .argument('<did>', 'your whole DID')
    .argument(
      '[token]',
      'the recovery token: a short name, -recover- and 32 hexadecimal characters',
    )
    .addHelpText('after', HELP)
    .action((did: string, token: string | undefined) => recover(did, token, cli))
}

async function recover(did: string, token: string | undefined, cli: Invocation): Promise<void> {
  const registry = cli.registry(assertDid(did))
  const { keyFile: path, onExposed } = cli
  const recovering = await recoverKeyFile({ registry, path, did, token, onExposed })
  const isDone = recovering.keyFile === path
  const rows = [
    ['DID', recovering.did],
    ['Public key', recovering.publicKey],
    ['Key number', String(recovering.keySequence)],
    [isDone ? 'Since' : 'Takes effect', formatMinute(recovering.effectiveAt)],
    ['Key file', recovering.keyFile],
  ] as const
  const title = cli.heading(isDone ? 'Your key is replaced' : 'Your new key takes effect later')
  const next = isDone ? '' : `\n\nAfter that: ${cli.command} recover ${did}`
  cli.print(recovering, `${title}\n\n${fields(rows)}${next}`)
}
