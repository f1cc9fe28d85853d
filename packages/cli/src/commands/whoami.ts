import { encodeBase64 } from '@countersign/protocol'
import type { Command } from 'commander'
import { certificateRows, ownCertificate } from '../certificate.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { fields } from '../output.ts'

const HELP = `
If the key has several certificates, the command shows one: active before suspended before revoked, then the oldest.
Exit code 3: the key has no certificate.`

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
  const rows = [...certificateRows(cli.service, lookup), ['Public key', publicKey] as const]
  const text = `${cli.heading(`You are ${id} (${status})`)}\n\n${fields(rows)}`
  cli.print({ publicKey, ...(registry.rawOf(lookup) as object) }, text)
}
