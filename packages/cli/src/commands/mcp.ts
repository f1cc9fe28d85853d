import type { Command } from 'commander'
import { Failure } from '../errors.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import type { HttpFlags } from '../mcp/http-settings.ts'
import type { McpContext } from '../mcp/tool.ts'
import { fields } from '../output.ts'

const HELP = `
Tools: claim, whoami, show_card, sign_challenge, fetch, sign_in, rotate_key, lookup_agent, verify_agent, explain_grade.
None returns the private key.
Over standard input and output, for a host that starts the server itself; the README shows how to add it. Or with --http,
for hosts that connect to it: at /mcp, on this machine alone, for whoever has the bearer token. It is made for each run
and printed once, or taken from COUNTERSIGN_MCP_TOKEN.

A model can be talked into signing anything. So sign_challenge signs nothing but challenges that name who asks, and only
for whom the model says it talks to; --audience keeps it to the sites that you name. --allow-plain-challenges lifts the
first: a signature on a challenge that names nobody can be passed on to anyone. fetch and sign_in call no other sites than
those of --audience, so without it none.`

interface McpOptions {
  readonly audience: readonly string[]
  readonly allowPlainChallenges?: true
  readonly http?: string | true
  readonly host?: string
  readonly allowHost: readonly string[]
}

/** `countersign mcp`: an agent's identity as tools for a model (Model Context Protocol). */
export function mcpCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('mcp')))
    .description('serve all of this as tools to a model (Model Context Protocol)')
    .option(
      '--audience <origin>',
      'a site that fetch and sign_in may call; sign_challenge then signs for these alone; may be repeated',
      append,
      [],
    )
    .option('--allow-plain-challenges', 'sign challenges that do not name who asks as well')
    .option('--http [port]', 'over streamable HTTP instead (default port: 8808; 0: a free one)')
    .option('--host <address>', 'where to listen with --http (default: 127.0.0.1)')
    .option('--allow-host <name>', 'a further name that clients use; may be repeated', append, [])
    .addHelpText('after', HELP)
    .action((options: McpOptions) => mcp(options, cli))
}

async function mcp(options: McpOptions, cli: Invocation): Promise<void> {
  const { http, host = '127.0.0.1', allowHost } = options
  // Loaded on demand, so that the other commands start faster.
  const { createContext } = await import('../mcp/tool.ts')
  const context = createContext(cli, options)
  if (http !== undefined) return serveOverHttp({ http, host, allowHost }, context)
  if (options.host !== undefined || allowHost.length > 0) {
    throw new Failure('USAGE', '--host and --allow-host go with --http.')
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
    cli.warn('others can connect, and without https in front of it they can read the token.')
  }
  const { serveHttp } = await import('../mcp/serve-http.ts')
  const onListening = (url: string) => {
    const rows = fields([
      ['Endpoint', url],
      ['Token', tokenIsNew ? token : 'the one in COUNTERSIGN_MCP_TOKEN'],
    ])
    const result = tokenIsNew ? { url, token } : { url }
    cli.print(result, `${cli.heading('The tools are served over HTTP')}\n\n${rows}`)
  }
  await serveHttp(context, { ...settings, onListening })
}

function append(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value]
}
