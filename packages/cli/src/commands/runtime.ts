import {
  encodeBase64,
  type Naming,
  namingOfDid,
  parseChallenge,
  referenceKind,
} from '@countersign/protocol'
import type { Registry } from '@countersign/sdk'
import {
  assertReference,
  challengeBytes,
  Failure,
  fields,
  formatMinute,
  ownCertificate,
  unexpectedAnswer,
} from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesKey, takesService } from '../invocation.ts'

const HELP = `
Prerequisite: the owner has added a runtime channel on the dashboard. Run this command where the agent runs. It signs a
challenge of the service, and the channel is then verified for 30 days. To renew it weekly, use cron (crontab -e):
  17 4 * * 1  countersign runtime
or a systemd timer with OnCalendar=weekly and Persistent=true for a service with ExecStart=countersign runtime.

It signs only a challenge of the service at --url. A challenge that names another service may be relayed by an attacker,
and is refused (exit code 4).`

/** `countersign runtime [did]`: proves that the agent is running and holds its key (docs/channels.md). */
export function runtimeCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('runtime')))
    .description('prove to the service that the agent is running')
    .argument('[agent]', 'the DID, or its last 24 characters, if your key has several agents')
    .addHelpText('after', HELP)
    .action((agent?: string) => proveRuntime(agent, cli))
}

async function proveRuntime(agent: string | undefined, cli: Invocation): Promise<void> {
  const key = await cli.ownKey()
  const registry = cli.registry()
  const did = await didToProve(registry, agent, encodeBase64(key.publicKey), cli.command)
  const { challenge } = await registry.runtimeChallenge(did)
  assertChallengeOf(cli.service, namingOfDid(did) as Naming, challenge)
  const signature = encodeBase64(await key.sign(challengeBytes(challenge)))
  const proof = await registry.proveRuntime(did, { challenge, signature })
  const { handleOrDomain, checkedAt, freshUntil, grade } = proof
  const rows = [
    ['DID', did],
    ['Runtime', handleOrDomain],
    ['Answered', formatMinute(checkedAt)],
    ['Valid until', formatMinute(freshUntil)],
    ['Grade', `${grade} (A is best, E is lowest)`],
  ] as const
  const title = cli.heading(`${handleOrDomain} is verified until ${formatMinute(freshUntil)}`)
  cli.print(registry.rawOf(proof), `${title}\n\n${fields(rows)}`)
}

async function didToProve(
  registry: Registry,
  agent: string | undefined,
  publicKey: string,
  command: string,
): Promise<string> {
  if (agent === undefined)
    return (await ownCertificate(registry, publicKey, command)).certificate.id
  assertReference(agent)
  return referenceKind(agent) === 'did' ? agent : (await registry.lookup(agent)).certificate.id
}

/** @throws Failure UNEXPECTED_ANSWER, ANOTHER_SERVICE if it is not a challenge of this service */
function assertChallengeOf(service: URL, naming: Naming, challenge: string): void {
  const parsed = parseChallenge(naming, challenge)
  if (parsed === null) {
    const what = `sent a text to sign that is not a ${naming.challengePrefix}… challenge`
    throw unexpectedAnswer(service, what)
  }
  if (parsed.audience === service.origin) return
  throw new Failure(
    'ANOTHER_SERVICE',
    `Nothing was signed: ${service.origin} sent a challenge of ${parsed.audience}. If that is the address of the service, use: --url ${parsed.audience}`,
  )
}
