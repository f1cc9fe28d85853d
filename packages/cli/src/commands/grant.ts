import { printable } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { ownAgent } from '../own-agent.ts'

const HELP = `
Take both addresses from the metadata of the authorization server: issuer and token_endpoint. The service compares them. The
owner must have assigned a grant issuer to you, and the authorization server must trust that issuer.

Prints only the grant, a JWT that is valid for at most 300 seconds. Redeem it at the token endpoint and nowhere else: anyone
who has it can redeem it. With --json, the output has assertion, grantType, issuer and expiresAt.
  $ ASSERTION=$(countersign grant --audience https://as.example --token-endpoint https://as.example/token)
  $ curl https://as.example/token --data-urlencode "assertion=$ASSERTION" \\
      --data-urlencode grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer`

interface GrantOptions {
  readonly audience: string
  readonly tokenEndpoint: string
  readonly resource?: string
}

/** `countersign grant`: a grant for an OAuth authorization server (RFC 7523). */
export function grantCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('grant')))
    .description('print a grant that an OAuth authorization server exchanges for an access token')
    .requiredOption('--audience <issuer>', 'issuer in the metadata of the authorization server')
    .requiredOption('--token-endpoint <url>', 'token_endpoint in its metadata')
    .option('--resource <url>', 'the resource to access (RFC 8707)')
    .addHelpText('after', HELP)
    .action((options: GrantOptions) => grant(options, cli))
}

async function grant(
  { audience, tokenEndpoint, resource }: GrantOptions,
  cli: Invocation,
): Promise<void> {
  const { agent } = await ownAgent(cli, [])
  const issued = await agent.grant({ audience, tokenEndpoint, resource })
  const { assertion, grantType, issuer, expiresAt } = issued
  cli.print({ assertion, grantType, issuer, expiresAt }, printable(assertion))
}
