import { type DelegationHop, decodeKey, keyThumbprint, readChain } from '@countersign/protocol'
import type { DelegateRequest, SignedDelegation } from '@countersign/sdk'
import { codeOf, Failure, formatMinute } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { delegateOf, takesChain } from '../chain-option.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { ownAgent } from '../own-agent.ts'

const HELP = `
The worker generates a key and tells you the public key. You sign a chain for it, and the worker sends it with its requests:
  worker $ countersign keygen --key worker.pem
  agent  $ countersign delegate --to <public key> --origin https://shop.example --method GET --path '/orders/*' --ttl 10m > chain.txt
  worker $ countersign fetch --key worker.pem --chain @chain.txt https://shop.example/orders/7

Your owner must allow it. Sites see your DID and the key of the worker, and refuse delegates unless they accept them. Give each worker as
little as it needs, and sign one chain for each site: every site that gets it can read its limits.

Only the chain goes to standard output. It is no secret: it counts only with requests that the key of the worker signs. It ends when it
expires, with your certificate and its key, or by: countersign end-delegations`

interface DelegateOptions {
  readonly to: string
  readonly origin: readonly string[]
  readonly method?: readonly string[]
  readonly path?: readonly string[]
  readonly mcp?: readonly string[]
  readonly ttl: string
  readonly depth: string
  readonly chain?: string
}

/** `countersign delegate --to <key> --origin <origin>`: signs a delegation for the key of a worker. */
export function delegateCommand(program: Command, cli: Invocation): void {
  const command = takesKey(takesService(program.command('delegate')))
    .description('let the key of a worker act for you, within limits and for a short time')
    .requiredOption('--to <key>', 'the public key of the worker: 32 bytes in base64')
    .requiredOption(
      '--origin <origin>',
      'a site that it may call, such as https://shop.example; may be repeated',
      append,
    )
    .option('--method <method>', 'a method that it may use, such as GET; may be repeated', append)
    .option(
      '--path <path>',
      'a path that it may call: /exact, or /prefix/* for all below; may be repeated',
      append,
    )
    .option(
      '--mcp <call>',
      "an MCP call that it may make, such as 'tools/call search'; may be repeated",
      append,
    )
    .option('--ttl <time>', 'how long, such as 90s, 10m or 1h; at most 24h', '1h')
    .option('--depth <n>', 'how many times it may be delegated further: 0 to 2', '0')
  takesChain(command)
    .addHelpText('after', HELP)
    .action((options: DelegateOptions) => delegate(options, cli))
}

async function delegate(options: DelegateOptions, cli: Invocation): Promise<void> {
  const { to, origin, method, path, mcp, ttl, depth, chain } = options
  const key = decodeKey(to)
  if (key === null) {
    throw new Failure(
      'USAGE',
      '--to must be the public key of the worker, 32 bytes in padded base64, as keygen prints it.',
    )
  }
  const request = {
    publicKey: to,
    origins: origin,
    methods: method,
    paths: path,
    mcp,
    expiresInSeconds: secondsIn(ttl),
    maxDepth: depthIn(depth),
  }
  const { did, signed } =
    chain === undefined ? await asAgent(request, cli) : await asDelegate(request, chain, cli)
  const keyid = keyThumbprint(key)
  cli.print({ did, keyid, ...signed }, signed.chain)
  if (cli.json) return
  cli.log(`delegated for ${did} to the key ${keyid}`)
  cli.log(`it may send ${wordsOf(signed.chain)} until ${formatMinute(signed.expiresAt)}`)
  const wanted = cli.io.now() + request.expiresInSeconds * 1000
  // A chain has whole seconds.
  if (Date.parse(signed.expiresAt) < wanted - 5_000) {
    cli.warn(
      `it ends before the ${ttl} that you asked for, with ${chain === undefined ? 'your certificate' : 'your own chain'}`,
    )
  }
}

interface Delegated {
  readonly did: string
  readonly signed: SignedDelegation
}

async function asAgent(request: DelegateRequest, cli: Invocation): Promise<Delegated> {
  const { agent, did } = await ownAgent(cli, [])
  const page = new URL(`/dashboard/agents/${did}/delegation`, cli.service).href
  const hint = `Ask the owner to allow more at ${page}, and run this command again.`
  return { did, signed: await allowed(agent.delegate(request), hint) }
}

async function asDelegate(
  request: DelegateRequest,
  chain: string,
  cli: Invocation,
): Promise<Delegated> {
  const { agent, did } = await delegateOf(cli, chain)
  const hint = 'Ask the agent for a chain with a higher --depth, or use a lower --depth.'
  return { did, signed: await allowed(agent.delegate(request), hint) }
}

/** @throws Failure DELEGATION_NOT_ALLOWED with the next step */
async function allowed(
  signing: Promise<SignedDelegation>,
  hint: string,
): Promise<SignedDelegation> {
  try {
    return await signing
  } catch (cause) {
    if (codeOf(cause) !== 'DELEGATION_NOT_ALLOWED') throw cause
    const message = `${(cause as Error).message} ${hint}`
    throw new Failure('DELEGATION_NOT_ALLOWED', message, { cause })
  }
}

/** What was delegated, such as `GET to https://shop.example/orders/*`. */
function wordsOf(chain: string): string {
  const { limits } = readChain(chain).hops.at(-1) as DelegationHop
  const { origins, methods, paths, mcp } = limits
  const places = origins.flatMap((each) => (paths ?? ['/*']).map((path) => each + path))
  const calls = mcp === null ? '' : ` (MCP: ${mcp.join(', ')})`
  return `${methods?.join(', ') ?? 'any method'} to ${places.join(', ')}${calls}`
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }

/** @throws Failure USAGE */
function secondsIn(ttl: string): number {
  const [, count = '', unit = ''] = /^(\d{1,5})([smh])$/.exec(ttl) ?? []
  const seconds = Number(count) * (SECONDS[unit] ?? 0)
  if (seconds >= 1 && seconds <= 86_400) return seconds
  throw new Failure('USAGE', '--ttl must be a time such as 90s, 10m or 1h, at most 24h.')
}

/** @throws Failure USAGE */
function depthIn(text: string): number {
  if (/^[0-2]$/.test(text)) return Number(text)
  throw new Failure('USAGE', '--depth must be 0, 1 or 2.')
}

function append(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value]
}
