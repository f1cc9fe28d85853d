import { encodeBase64 } from '@countersign/protocol'
import type { AgentSession } from '@countersign/sdk'
import type { McpServer, ToolCallback } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { assertReference, parseOrigin } from '../challenge.ts'
import { describeError, Failure } from '../errors.ts'
import type { Invocation } from '../invocation.ts'
import { IssuedChallenges } from './issued-challenges.ts'
import { visible, visibleLines, visibleWithin } from './untrusted.ts'

/** What the tools work with. The operator sets all of it, the model nothing. */
export interface McpContext {
  readonly cli: Invocation
  readonly service: URL
  /** The origins that requests are signed for; empty: none. For challenges, empty means any. */
  readonly audiences: readonly string[]
  /** The sessions of `sign_in`, by the origin of the site. */
  readonly sessions: Map<string, AgentSession>
  /** Whether challenges without an audience are signed as well. */
  readonly allowPlainChallenges: boolean
  /** The unanswered challenges of `verify_agent`. */
  readonly issued: IssuedChallenges
  /** Settled when their response is ready. */
  readonly pendingCalls: Set<Promise<unknown>>
}

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
  return {
    cli,
    service: cli.service,
    audiences: audience.map((text) => parseOrigin(text, '--audience')),
    sessions: new Map(),
    allowPlainChallenges,
    issued: new IssuedChallenges(cli.io.now),
    pendingCalls: new Set(),
  }
}

/** The result of a tool: structured for programs, in the form of its output schema, and as text. */
interface ToolResult<T> {
  readonly data: T
  readonly text: string
}

interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string
  readonly title: string
  /** For the model: when to use it, what it returns, what it never does. */
  readonly description: string
  readonly annotations: ToolAnnotations
  readonly input: I
  readonly output: O
  run(
    args: z.output<I>,
    context: McpContext,
  ): ToolResult<z.output<O>> | Promise<ToolResult<z.output<O>>>
}

/** Registers a tool with a server. */
export type Tool = (server: McpServer, context: McpContext) => void

/** Defines a tool. Whatever it throws becomes an error result with a code and a message. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(
  tool: ToolDefinition<I, O>,
): Tool {
  const { name, title, description, annotations, input, output } = tool
  return (server, context) => {
    const execute = async (args: z.output<I>): Promise<CallToolResult> => {
      try {
        const { data, text } = await tool.run(args, context)
        return {
          content: [{ type: 'text', text: visibleLines(text) }],
          structuredContent: visibleWithin(data),
        }
      } catch (error) {
        return { content: [{ type: 'text', text: errorText(error, context) }], isError: true }
      }
    }
    const call = (args: z.output<I>): Promise<CallToolResult> => {
      const result = execute(args)
      context.pendingCalls.add(result)
      return result.finally(() => context.pendingCalls.delete(result))
    }
    server.registerTool(
      name,
      { title, description, annotations, inputSchema: input, outputSchema: output },
      call as ToolCallback<I>,
    )
  }
}

/** A schema for exactly these arguments. The error for others does not repeat them: a token could be among them. */
export function argumentsOf<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? `unknown arguments; known are: ${Object.keys(shape).join(', ') || 'none'}`
        : undefined,
  })
}

/** The argument that names an agent. */
export const agentReference = () =>
  z
    .string()
    .min(1)
    .max(200)
    .describe(
      'The agent: its full DID (a short name, :agent: and 24 base58 characters), those 24 characters alone, or its public key (32 bytes in padded standard base64).',
    )

/**
 * The agent that a tool is about: the named one, else the agent itself by its public key.
 * @throws Failure USAGE
 */
export async function agentOrSelf(agent: string | undefined, cli: Invocation): Promise<string> {
  if (agent === undefined) return encodeBase64((await cli.ownKey()).publicKey)
  assertReference(agent)
  return agent
}

/** @throws Failure WRONG_AUDIENCE if the operator does not let the agent sign requests for this site */
export function assertAudience(origin: string, { audiences }: McpContext): void {
  if (audiences.includes(origin)) return
  const allowed = audiences.length === 0 ? 'no site' : `${audiences.join(', ')} only`
  throw new Failure(
    'WRONG_AUDIENCE',
    `Nothing was sent: the operator of this server allows signed requests to ${allowed} (--audience).`,
  )
}

/** Annotations of tools that read from the service and change nothing. */
export const READS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
}

/** The next step after an error, if its message does not say it. */
const NEXT_STEP: Readonly<Record<string, string>> = {
  NO_KEY: 'The tool claim creates a key when it redeems a claim token from the owner.',
  KEY_ALREADY_CLAIMED:
    'Do not retry. This key cannot be claimed for the owner of the token: ask the person you work for.',
  TOKEN_EXPIRED: 'Ask the owner for a fresh token.',
  UNREACHABLE: 'Nothing was sent. Trying again later is safe.',
}

function errorText(error: unknown, { cli }: McpContext): string {
  const { code, message, requestId } = describeError(error)
  const request = requestId === undefined ? '' : ` (request ${visible(requestId)})`
  const hint = NEXT_STEP[code] === undefined ? '' : `\n${NEXT_STEP[code]}`
  if (code !== 'FAILURE') return `${code}: ${visible(message)}${request}${hint}`
  // The message of an unexpected error could contain anything, so only the operator gets it.
  cli.log(visible(message))
  return `${code}: An unexpected error occurred on this machine. See the log of countersign mcp (its standard error).`
}
