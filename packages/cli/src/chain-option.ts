import { readFileSync } from 'node:fs'
import { type ChainHop, readChain } from '@countersign/protocol'
import { type AudienceOptions, CountersignError, DelegatedAgent } from '@countersign/sdk'
import { Failure } from '@countersign/sdk/tool-support'
import { type Command, Option } from 'commander'
import type { Invocation } from './invocation.ts'

/** Adds the option `--chain` to a command that a delegate can run. */
export function takesChain(command: Command): Command {
  return command.option(
    '--chain <chain>',
    'act as a delegate: the chain that the agent signed for your key (countersign delegate); @file reads a file',
  )
}

/** Says why a delegate cannot run a command, in place of "unknown option". */
export function refusesChain(command: Command): Command {
  const option = new Option('--chain <chain>').hideHelp().argParser(() => {
    throw new Failure('FORBIDDEN', 'A delegated key cannot do this. Ask the agent.')
  })
  return command.addOption(option)
}

/** The holder of the key file as a delegate. */
export interface Delegate {
  readonly agent: DelegatedAgent
  /** Of the agent that delegates. */
  readonly did: string
  /** The last one, which is for the key of the delegate. */
  readonly hop: ChainHop
}

/**
 * The delegate of a chain, with the key of the key file. Asks the service for the names of the deployment.
 * @param given a chain, or `@` and the path of a file with one
 * @throws Failure USAGE, NO_KEY; CountersignError UNUSABLE_KEY if the chain is for another key
 */
export async function delegateOf(
  cli: Invocation,
  given: string,
  options: {
    readonly audiences?: readonly (string | AudienceOptions)[]
    readonly maxRetryAfterMs?: number
  } = {},
): Promise<Delegate> {
  const chain = chainIn(cli, given)
  const read = readChain(chain)
  const hop = 'fault' in read ? undefined : read.hops.at(-1)
  if ('fault' in read || hop === undefined) throw noChain()
  const signer = await cli.ownKey()
  const { naming } = await cli.registryWithNames()
  const now = cli.io.now
  try {
    const agent = new DelegatedAgent({ chain, signer, naming, now, ...options })
    return { agent, did: read.root.did, hop }
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'INVALID_ARGUMENT') throw noChain(error)
    throw error
  }
}

function chainIn(cli: Invocation, given: string): string {
  if (!given.startsWith('@')) return given.trim()
  try {
    return readFileSync(cli.path(given.slice(1)), 'utf8').trim()
  } catch (cause) {
    const message = `The file with the chain cannot be read: ${(cause as Error).message}`
    throw new Failure('USAGE', message, { cause })
  }
}

function noChain(cause?: Error): Failure {
  return new Failure(
    'USAGE',
    '--chain must be a chain of this service, as countersign delegate prints it.',
    { cause },
  )
}
