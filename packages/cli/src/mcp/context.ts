import { encodeBase64 } from '@countersign/protocol'
import { Failure, parseOrigin } from '@countersign/sdk/tool-support'
import { APPROVAL_WAIT_MS, IssuedChallenges, type ToolHost } from '@countersign/sdk/tools'
import { type Delegate, delegateOf } from '../chain-option.ts'
import { assertAgentId, parseToken, redeem } from '../claim-token.ts'
import type { Invocation } from '../invocation.ts'
import { ownAgent } from '../own-agent.ts'
import { rotateOwnKey } from '../rotation.ts'
import { USER_AGENT } from '../version.ts'
import { claimWithOwnOrNewKey } from './own-or-new-key.ts'

/** What the tools of the server work with. The operator sets all of it, the model nothing. */
export interface McpContext extends ToolHost {
  readonly cli: Invocation
  /** Settled when their response is ready. */
  readonly pendingCalls: Set<Promise<unknown>>
}

/** Hosts of models wait for some 10 seconds. */
const MAX_RETRY_AFTER_MS = 5_000

interface McpOptions {
  readonly audience: readonly string[]
  readonly allowPlainChallenges?: true
  readonly chain?: string
  readonly approvalWait?: string
}

/** Reads the options of `countersign mcp`. @throws Failure USAGE; with a chain also NO_KEY, CountersignError UNUSABLE_KEY */
export async function createContext(cli: Invocation, options: McpOptions): Promise<McpContext> {
  const { audience, allowPlainChallenges = false, chain } = options
  if (allowPlainChallenges && audience.length > 0) {
    throw new Failure(
      'USAGE',
      '--audience and --allow-plain-challenges cannot be combined: a plain challenge names no audience.',
    )
  }
  if (chain !== undefined && allowPlainChallenges) {
    throw new Failure(
      'USAGE',
      'A delegate signs no challenges. Leave out --allow-plain-challenges.',
    )
  }
  const named = audience.map((text) => parseOrigin(text, '--audience'))
  const delegate = chain === undefined ? null : await delegateIn(cli, chain, named)
  const { now } = cli.io
  return {
    cli,
    service: cli.service,
    audiences: named.length === 0 ? (delegate?.hop.limits.origins ?? []) : named,
    sessions: new Map(),
    allowPlainChallenges,
    issued: new IssuedChallenges(now),
    pendingCalls: new Set(),
    command: cli.command,
    userAgent: USER_AGENT,
    now,
    registry: (naming) => cli.registry(naming),
    signer: () => cli.ownKey(),
    delegation: delegate,
    approvalWaitMs: waitIn(options.approvalWait),
    agentFor: (origin) =>
      delegate === null
        ? ownAgent(cli, [origin], { maxRetryAfterMs: MAX_RETRY_AFTER_MS })
        : Promise.resolve(senderOf(delegate)),
    async claim(text, agentId) {
      const { naming, token } = parseToken(text)
      assertAgentId(agentId)
      const { result, key, isNew } = await claimWithOwnOrNewKey(cli, (each) =>
        redeem(cli.registry(naming), token, agentId, each),
      )
      const publicKey = encodeBase64(key.publicKey)
      return { did: result.did, publicKey, keyCreated: isNew }
    },
    rotateKey: (did) => rotateOwnKey(cli, did),
    log: (message) => cli.log(message),
  }
}

function waitIn(text: string | undefined): number {
  if (text === undefined) return APPROVAL_WAIT_MS
  if (/^\d{1,4}$/.test(text)) return Number(text) * 1000
  throw new Failure('USAGE', '--approval-wait must be a number of seconds, 0 to 9999.')
}

/** @param named the sites of the options; empty: those of the chain */
function delegateIn(cli: Invocation, chain: string, named: readonly string[]): Promise<Delegate> {
  const maxRetryAfterMs = MAX_RETRY_AFTER_MS
  return delegateOf(
    cli,
    chain,
    named.length === 0 ? { maxRetryAfterMs } : { audiences: named, maxRetryAfterMs },
  )
}

function senderOf({ agent, did }: Delegate) {
  const signIn = async () => {
    throw new Failure('FORBIDDEN', 'A delegated key cannot sign in. Ask the agent.')
  }
  const requestApproval = async () => {
    throw new Failure(
      'FORBIDDEN',
      'A delegated key cannot ask for an approval. Ask the agent for one, and pass its approvalId.',
    )
  }
  return { agent: { fetch: agent.fetch, signIn, requestApproval }, did }
}
