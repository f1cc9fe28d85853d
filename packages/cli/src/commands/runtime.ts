import { type Naming, parseChallenge, type RuntimeProof } from '@countersign/protocol'
import type { Command } from 'commander'
import { challengeBytes } from '../challenge.ts'
import { unexpected } from '../client.ts'
import { didIn, namingOfDid } from '../deployment.ts'
import { answerRuntimeChallenge, askForRuntimeChallenge, lookUp } from '../endpoints.ts'
import { Failure } from '../failure.ts'
import { fields, heading, print } from '../output.ts'
import { ownCertificate } from '../own-certificate.ts'
import { ownKey } from '../own-key.ts'
import { parseReference } from '../reference.ts'
import { serviceOf, takesKey, takesService } from '../settings.ts'

const HELP = `
The owner adds a runtime channel on the dashboard first. Run this where the agent runs: the service asks a question, the
key answers it, and the channel counts for 30 days. Keep it fresh by cron, once a week (crontab -e):
  17 4 * * 1  countersign runtime
or by a systemd timer with OnCalendar=weekly and Persistent=true for a service with ExecStart=countersign runtime.

Signs nothing but a challenge of the service that you name: one that names another is refused (exit code 4), since it
might be passed on to you by somebody in between.`

/** `countersign runtime [did]`: proves that the agent runs and holds its key (docs/channels.md). */
export function runtimeCommand(program: Command): void {
  takesKey(takesService(program.command('runtime')))
    .description('prove to the service that the agent is running')
    .argument('[agent]', 'which agent, where your key has several: its DID or the end of it')
    .addHelpText('after', HELP)
    .action(proveRuntime)
}

async function proveRuntime(
  agent: string | undefined,
  _options: unknown,
  command: Command,
): Promise<void> {
  const key = ownKey(command)
  const service = serviceOf(command)
  const did = await didOf(service, agent, key.publicKey)
  const naming = namingOfDid(did) as Naming
  const { challenge } = await askForRuntimeChallenge(service, naming, did)
  requireOwnChallenge(service, naming, challenge)
  const signature = key.sign(challengeBytes(challenge))
  const proof = await answerRuntimeChallenge(service, naming, did, { challenge, signature })
  print(command, proof, layOut(proof))
}

async function didOf(service: URL, agent: string | undefined, publicKey: string): Promise<string> {
  if (agent === undefined) return (await ownCertificate(service, publicKey)).certificate.id
  const reference = parseReference(agent)
  if (reference.kind === 'did') return reference.text
  return (await lookUp(service, reference)).certificate.id
}

/** @throws Failure UNEXPECTED_ANSWER, ANOTHER_SERVICE */
function requireOwnChallenge(service: URL, naming: Naming, challenge: string): void {
  const parsed = parseChallenge(naming, challenge)
  if (parsed === null) {
    throw unexpected(service, `wants a text signed that is no ${naming.challengePrefix}… challenge`)
  }
  if (parsed.audience === service.origin) return
  throw new Failure(
    'ANOTHER_SERVICE',
    `${service.origin} wants a challenge of ${parsed.audience} signed: nothing was. If that is the service's own address, use it: --url ${parsed.audience}`,
  )
}

function layOut(proof: RuntimeProof): string {
  const { handleOrDomain, checkedAt, freshUntil, grade } = proof
  const rows = [
    ['DID', didIn(proof)],
    ['Runtime', handleOrDomain],
    ['Answered', checkedAt],
    ['Counts until', freshUntil],
    ['Grade', `${grade} (A is best, E is least)`],
  ] as const
  return `${heading(`${handleOrDomain} counts until ${freshUntil}`)}\n\n${fields(rows)}`
}
