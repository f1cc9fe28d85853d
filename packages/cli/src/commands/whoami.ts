import type { Command } from 'commander'
import { describeCertificate } from '../certificate.ts'
import { lookUp } from '../endpoints.ts'
import { ServiceRefusal } from '../failure.ts'
import { fields, heading, print } from '../output.ts'
import { ownKey } from '../own-key.ts'
import { parseReference } from '../reference.ts'
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
  const lookup = await lookUp(service, parseReference(publicKey)).catch((error: unknown) => {
    throw explain(error, publicKey, service)
  })
  const { id, status } = lookup.certificate
  const rows = [...describeCertificate(service, lookup), ['Public key', publicKey] as const]
  const text = `${heading(`You are ${id} (${status})`)}\n\n${fields(rows)}`
  print(command, { publicKey, ...lookup }, text)
}

function explain(error: unknown, publicKey: string, service: URL): unknown {
  if (!(error instanceof ServiceRefusal) || error.code !== 'NOT_FOUND') return error
  const { code, requestId } = error
  const message = `Your key ${publicKey} has no certificate at ${service.origin}. Have the agent's owner issue a claim token, then: countersign claim <token>`
  return new ServiceRefusal({ code, message, requestId })
}
