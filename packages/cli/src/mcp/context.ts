import { encodeBase64 } from '@countersign/protocol'
import { Failure, parseOrigin } from '@countersign/sdk/tool-support'
import { IssuedChallenges, type ToolHost } from '@countersign/sdk/tools'
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

/** Reads the options of `countersign mcp`. @throws Failure USAGE */
export function createContext(
  cli: Invocation,
  options: { readonly audience: readonly string[]; readonly allowPlainChallenges?: true },
): McpContext {
  const { audience, allowPlainChallenges = false } = options
  if (allowPlainChallenges && audience.length > 0) {
    throw new Failure(
      'USAGE',
      '--audience and --allow-plain-challenges cannot be combined: a plain challenge names no audience.',
    )
  }
  const { now } = cli.io
  return {
    cli,
    service: cli.service,
    audiences: audience.map((text) => parseOrigin(text, '--audience')),
    sessions: new Map(),
    allowPlainChallenges,
    issued: new IssuedChallenges(now),
    pendingCalls: new Set(),
    command: cli.command,
    userAgent: USER_AGENT,
    now,
    registry: (naming) => cli.registry(naming),
    signer: () => cli.ownKey(),
    agentFor: (origin) => ownAgent(cli, [origin], { maxRetryAfterMs: MAX_RETRY_AFTER_MS }),
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
