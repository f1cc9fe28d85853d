import { encodeBase64 } from '@countersign/protocol'
import {
  certificateRows,
  fields,
  formatMinute,
  ownCertificate,
  ownerDetails,
  recoveryRows,
} from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesKey, takesService } from '../invocation.ts'

const HELP = `
If the key has several certificates, the command shows one: active before suspended before revoked, then the oldest.
Exit code 3: the key has no certificate. If the owner has started a recovery that would replace the key, it is shown.`

/** `countersign whoami`: the certificate of the agent's own key. */
export function whoamiCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('whoami')))
    .description('show the certificate of your own key')
    .addHelpText('after', HELP)
    .action(() => whoami(cli))
}

async function whoami(cli: Invocation): Promise<void> {
  const publicKey = encodeBase64((await cli.ownKey()).publicKey)
  const registry = cli.registry()
  const lookup = await ownCertificate(registry, publicKey, cli.command)
  const { id, status } = lookup.certificate
  const { keySequence, keyChangedAt, recovery } = await registry.keys(id)
  const details = await ownerDetails(registry, id)
  const rows = [
    ...certificateRows(cli.service, lookup, details),
    ['Public key', publicKey] as const,
    ['Key', `number ${keySequence}, since ${formatMinute(keyChangedAt)}`] as const,
    ...recoveryRows(recovery, `${cli.command} veto ${id}`),
  ]
  const text = `${cli.heading(`You are ${id} (${status})`)}\n\n${fields(rows)}`
  const key = { publicKey, keySequence, keyChangedAt, recovery }
  cli.print({ ...key, ...details, ...(registry.rawOf(lookup) as object) }, text)
}
