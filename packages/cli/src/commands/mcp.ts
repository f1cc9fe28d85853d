import { Failure, fields } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { takesChain } from '../chain-option.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import type { McpContext } from '../mcp/context.ts'
import type { HttpFlags } from '../mcp/http-settings.ts'

const HELP = `
Tools: claim, whoami, show_card, sign_challenge, fetch, sign_in, rotate_key, lookup_agent, verify_agent, explain_grade.
No tool returns the private key, and none delegates or approves.

Transport: standard input and output by default, for hosts that start the server themselves (the README shows the
configuration). With --http, hosts connect to /mcp, by default on loopback only, with a bearer token. The token comes from
COUNTERSIGN_MCP_TOKEN; if that is not set, a new one is generated for each run and printed once.

Prompt injection can make a model request a signature. sign_challenge therefore signs only challenges that name an
audience, and only if it is the audience that the model passes. --audience restricts it to the sites that you list.
--allow-plain-challenges also signs challenges without an audience: anyone who gets such a signature can use it. fetch and
sign_in call only the sites of --audience; without --audience, they call none.

With --chain, the server acts for a delegate: fetch, within the limits of the chain, and the tools that read. Without --audience, fetch
calls the sites of the chain. When the chain expires, start the server with a new one.

If a site requires an approval, fetch can ask the owner of the agent. It waits for the decision for 50 seconds, since many hosts end a
call after a minute, and the next call goes on. --approval-wait sets another time.`

interface McpOptions {
  readonly audience: readonly string[]
  readonly allowPlainChallenges?: true
  readonly chain?: string
  readonly approvalWait?: string
  readonly http?: string | true
  readonly host?: string
  readonly allowHost: readonly string[]
}

/** `countersign mcp`: an agent's identity as tools for a model (Model Context Protocol). */
export function mcpCommand(program: Command, cli: Invocation): void {
  takesChain(takesKey(takesService(program.command('mcp'))))
    .description('serve these commands as tools for a model (Model Context Protocol)')
    .option(
      '--audience <origin>',
      'a site that fetch and sign_in may call; restricts sign_challenge to these sites; may be repeated',
      append,
      [],
    )
    .option('--allow-plain-challenges', 'also sign challenges that name no audience')
    .option(
      '--approval-wait <seconds>',
      'how long fetch waits until the owner has decided about an approval (default: 50)',
    )
    .option('--http [port]', 'serve over streamable HTTP (default port: 8808; 0: any free port)')
    .option('--host <address>', 'the IP address to listen on with --http (default: 127.0.0.1)')
    .option(
      '--allow-host <name>',
      'another host name that clients use; may be repeated',
      append,
      [],
    )
    .addHelpText('after', HELP)
    .action((options: McpOptions) => mcp(options, cli))
}

async function mcp(options: McpOptions, cli: Invocation): Promise<void> {
  const { http, host = '127.0.0.1', allowHost } = options
  // Loaded on demand, so that the other commands start faster.
  const { createContext } = await import('../mcp/context.ts')
  const context = await createContext(cli, options)
  if (http !== undefined) return serveOverHttp({ http, host, allowHost }, context)
  if (options.host !== undefined || allowHost.length > 0) {
    throw new Failure('USAGE', '--host and --allow-host require --http.')
  }
  const { serveStdio } = await import('../mcp/server.ts')
  await serveStdio(context)
}

async function serveOverHttp(flags: HttpFlags, context: McpContext): Promise<void> {
  const { cli } = context
  const { readHttpSettings } = await import('../mcp/http-settings.ts')
  const settings = readHttpSettings(flags, cli.io.env.COUNTERSIGN_MCP_TOKEN)
  const { token, tokenIsNew, isLocal } = settings
  if (!isLocal) {
    cli.warn(
      'other machines can connect. Put https in front of the server, or they can read the token.',
    )
  }
  const { serveHttp } = await import('../mcp/serve-http.ts')
  const onListening = (url: string) => {
    const rows = fields([
      ['Endpoint', url],
      ['Token', tokenIsNew ? token : 'from COUNTERSIGN_MCP_TOKEN'],
    ])
    const result = tokenIsNew ? { url, token } : { url }
    cli.print(result, `${cli.heading('MCP server is listening')}\n\n${rows}`)
  }
  await serveHttp(context, { ...settings, onListening })
}

function append(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value]
}
