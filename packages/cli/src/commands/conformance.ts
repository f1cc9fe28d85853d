import { EXIT } from '@countersign/protocol'
import type { Command } from 'commander'
import { parseToken } from '../claim-token.ts'
import { assertDid } from '../did.ts'
import type { Invocation } from '../invocation.ts'

const HELP = `
The checks read, and send requests that must be refused. Without --claim-token they change nothing. With it they claim an
agent with a new key, verify challenges, and renounce the agent at the end; what cannot be renounced is listed.
A claim token is single-use. For all checks, pass three tokens of one batch, and one that has expired:
  $ countersign conformance https://id.example --claim-token svc-verify-… --claim-token svc-verify-… \\
      --claim-token svc-verify-… --expired-claim-token svc-verify-…

The vectors also cover choices that the contract leaves open. --no-vectors leaves them out.

Exit codes: 0 no check failed, 1 a check failed, 2 wrong usage, 5 deployment unreachable`

interface ConformanceFlags {
  readonly agent: readonly string[]
  readonly claimToken: readonly string[]
  readonly expiredClaimToken?: string
  readonly vectors: boolean
}

/** `countersign conformance <url>`: checks a deployment against the contract. */
export function conformanceCommand(program: Command, cli: Invocation): void {
  program
    .command('conformance')
    .description('check that a deployment keeps the contract of the service')
    .argument('<url>', 'the public address of the deployment, such as https://id.example')
    .option('--agent <did>', 'an agent to look up; may be repeated', append, [])
    .option('--claim-token <token>', 'a token to claim an agent with; may be repeated', append, [])
    .option('--expired-claim-token <token>', 'a token that was not used within its 10 minutes')
    .option('--no-vectors', 'check only what the contract says')
    .addHelpText('after', HELP)
    .action((url: string, flags: ConformanceFlags) => conformance(url, flags, cli))
}

async function conformance(url: string, flags: ConformanceFlags, cli: Invocation): Promise<void> {
  const service = cli.addressOf(url, 'The address of the deployment')
  for (const did of flags.agent) assertDid(did)
  const expired = flags.expiredClaimToken
  const tokens = expired === undefined ? flags.claimToken : [...flags.claimToken, expired]
  for (const token of tokens) parseToken(token)
  // Loaded on demand, so that the other commands start faster.
  const { checkConformance } = await import('../conformance/conformance.ts')
  const { reportText } = await import('../conformance/report.ts')
  const report = await checkConformance({
    service,
    agents: flags.agent,
    claimTokens: flags.claimToken,
    expiredToken: expired ?? null,
    vectors: flags.vectors,
    fetch: cli.fetch,
    onClaimed: (did) => cli.log(`claimed ${did} for the checks`),
  })
  cli.print(report, reportText(report, cli))
  if (!report.conforms) cli.exitCode = EXIT.failure
}

function append(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value]
}
