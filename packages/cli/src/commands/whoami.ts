import type { Command } from 'commander'
import { describeCertificate } from '../certificate.ts'
import { fields, heading, print } from '../output.ts'
import { ownCertificate } from '../own-certificate.ts'
import { ownKey } from '../own-key.ts'
import { serviceOf, takesKey, takesService } from '../settings.ts'

const HELP = `
Where the key has several certificates, the one that speaks for it is shown: active before suspended before revoked,
then the oldest. Exit code 3: the key has none.`

/** `countersign whoami`: what the service says of one's own key. */
export function whoamiCommand(program: Command): void {
  takesKey(takesService(program.command('whoami')))
    .description('show the certificate of your own key')
    .addHelpText('after', HELP)
    .action(whoami)
}

async function whoami(_options: unknown, command: Command): Promise<void> {
  const { publicKey } = ownKey(command)
  const service = serviceOf(command)
  const lookup = await ownCertificate(service, publicKey)
  const { id, status } = lookup.certificate
  const rows = [...describeCertificate(service, lookup), ['Public key', publicKey] as const]
  const text = `${heading(`You are ${id} (${status})`)}\n\n${fields(rows)}`
  print(command, { publicKey, ...lookup }, text)
}
