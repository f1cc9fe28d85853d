import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { fields, heading, note, print, warn } from '../output.ts'
import { ownKey, ownOrNewKey } from '../own-key.ts'
import { serviceOf, takesKey, takesService } from '../settings.ts'

const HELP = `
Tools: claim, whoami, show_card, sign_challenge, lookup_agent, verify_agent, explain_grade. None returns the private key.
Over standard input and output, for a host that starts the server itself; the README shows how to add it. Or with --http,
for hosts that connect to it: at /mcp, on this machine alone, for whoever has the bearer token. It is made for each run
and printed once, or taken from COUNTERSIGN_MCP_TOKEN.

A model can be talked into signing anything. So sign_challenge signs nothing but challenges that name who asks, and only
for whom the model says it talks to; --audience keeps it to the sites that you name. --allow-plain-challenges lifts the
first: a signature on a challenge that names nobody can be passed on to anyone.`

interface McpOptions {
  readonly audience: readonly string[]
  readonly allowPlainChallenges?: true
  readonly http?: string | true
  readonly host?: string
  readonly allowHost: readonly string[]
}

/** `countersign mcp`: an agent's identity as tools for a model (Model Context Protocol). */
export function mcpCommand(program: Command): void {
  takesKey(takesService(program.command('mcp')))
    .description('serve all of this as tools to a model (Model Context Protocol)')
    .option('--audience <origin>', 'sign challenges of this site alone; may be repeated', more, [])
    .option('--allow-plain-challenges', 'sign challenges that do not name who asks as well')
    .option('--http [port]', 'over streamable HTTP instead (default port: 8808; 0: a free one)')
    .option('--host <address>', 'where to listen with --http (default: 127.0.0.1)')
    .option('--allow-host <name>', 'a further name that clients use; may be repeated', more, [])
    .addHelpText('after', HELP)
    .action(mcp)
}

async function mcp(options: McpOptions, command: Command): Promise<void> {
  const { http } = options
  const context = await contextOf(options, command)
  if (http !== undefined) return overHttp({ ...options, http }, command, context)
  if (options.host !== undefined || options.allowHost.length > 0) {
    throw new Failure('USAGE', '--host and --allow-host go with --http.')
  }
  // Loaded here, so that no other command waits for it.
  const { serveStdio } = await import('../mcp/serve-stdio.ts')
  await serveStdio(context)
}

async function contextOf({ audience, allowPlainChallenges }: McpOptions, command: Command) {
  const { parseOrigin } = await import('../mcp/origin.ts')
  const { IssuedChallenges } = await import('../mcp/issued-challenges.ts')
  if (allowPlainChallenges && audience.length > 0) {
    throw new Failure(
      'USAGE',
      '--audience and --allow-plain-challenges exclude each other: a plain challenge names no audience.',
    )
  }
  return {
    service: serviceOf(command),
    ownKey: () => ownKey(command),
    ownOrNewKey: () => ownOrNewKey(command),
    audiences: audience.map((each) => parseOrigin(each, '--audience')),
    allowPlainChallenges: allowPlainChallenges ?? false,
    issued: new IssuedChallenges(),
    log: (message: string) => note(command, message),
  }
}

async function overHttp(
  { http, host = '127.0.0.1', allowHost }: McpOptions & { http: string | true },
  command: Command,
  context: Awaited<ReturnType<typeof contextOf>>,
): Promise<void> {
  const { readHttpSettings } = await import('../mcp/http-settings.ts')
  const settings = readHttpSettings({ http, host, allowHost })
  const { token, tokenIsNew, isLocal } = settings
  if (!isLocal) {
    warn(command, 'others can connect, and without https in front of it they can read the token.')
  }
  const { serveHttp } = await import('../mcp/serve-http.ts')
  const onListening = (url: string) => {
    const secret = tokenIsNew ? token : 'the one in COUNTERSIGN_MCP_TOKEN'
    const rows = fields([
      ['Endpoint', url],
      ['Token', secret],
    ])
    const result = tokenIsNew ? { url, token } : { url }
    print(command, result, `${heading('The tools are served over HTTP')}\n\n${rows}`)
  }
  await serveHttp(context, { ...settings, onListening })
}

function more(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}
